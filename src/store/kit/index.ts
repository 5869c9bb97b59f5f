import { ATOMICITY } from "./atomicity.ts";
import { BLOB } from "./blob.ts";
import { BOUND } from "./bound.ts";
import { CAPABILITY } from "./capability.ts";
import type { Check } from "./check.ts";
import { CONDUCT } from "./conduct.ts";
import { COPY } from "./copy.ts";
import { CUT } from "./cut.ts";
import { DAMAGE } from "./damage.ts";
import { DOCUMENT } from "./document.ts";
import { DOCUMENT_ENTRIES } from "./document-entries.ts";
import { FILTER } from "./filter.ts";
import type { Runner, StoreHarness } from "./harness.ts";
import { HOSTILE_IDS } from "./hostile-id.ts";
import { IDENTITY } from "./identity.ts";
import { ISOLATION } from "./isolation.ts";
import { JOURNAL } from "./journal.ts";
import { LIFECYCLE } from "./lifecycle.ts";
import { LISTING } from "./listing.ts";
import { LOG } from "./log.ts";
import { OWNERSHIP } from "./ownership.ts";
import { PAGE } from "./page.ts";
import { REMOVAL } from "./removal.ts";
import { REOPENING } from "./reopening.ts";
import { ROUND_TRIP } from "./round-trip.ts";
import { SHAPE } from "./shape.ts";
import { Stage } from "./stage.ts";
import { TENANT } from "./tenant.ts";
import { TENANT_REMOVAL } from "./tenant-removal.ts";
import { TEXT } from "./text.ts";

export { BROKEN_STORES, type BrokenStore } from "./broken/index.ts";
export { CRASH_CHECKS } from "./crash-checks.ts";
export type { ConfigSamples, Forge, Runner, StoreHarness, Undo, World } from "./harness.ts";
export { type Outcome, RecordingRunner } from "./recording-runner.ts";

const CHECKS: readonly Check[] = [
  ...SHAPE,
  ...LIFECYCLE,
  ...ROUND_TRIP,
  ...TEXT,
  ...COPY,
  ...IDENTITY,
  ...HOSTILE_IDS,
  ...ATOMICITY,
  ...DAMAGE,
  ...ISOLATION,
  ...CAPABILITY,
  ...LISTING,
  ...FILTER,
  ...CONDUCT,
  ...OWNERSHIP,
  ...LOG,
  ...TENANT,
  ...JOURNAL,
  ...DOCUMENT,
  ...DOCUMENT_ENTRIES,
  ...BLOB,
  ...REOPENING,
  ...REMOVAL,
  ...CUT,
  ...PAGE,
  ...BOUND,
  ...TENANT_REMOVAL,
];

/**
 * Holds a store to everything that the contract promises, one test for each promise. What a
 * store cannot do, or the harness cannot try, is reported with the reason, never left out.
 */
export function storePromises(runner: Runner, harness: StoreHarness): void {
  const { contract } = harness.store();
  for (const { title, run, unless, timeoutMs } of CHECKS) {
    const reason = unless({ harness, contract });
    if (reason === null) runner.test(title, () => onStage(harness, run), timeoutMs);
    else if (runner.notApplicable) runner.notApplicable(title, reason);
    else runner.test(`${title}: n/a (${reason})`, async () => {});
  }
}

/** Each check has a place of its own, and leaves nothing behind. */
async function onStage(harness: StoreHarness, run: Check["run"]): Promise<void> {
  const stage = new Stage(harness, await harness.makePlace());
  try {
    await run(stage);
  } finally {
    await stage.clear();
  }
}
