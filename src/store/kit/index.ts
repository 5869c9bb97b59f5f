import { ATOMICITY } from "./atomicity.ts";
import { CAPABILITY } from "./capability.ts";
import { BOUND, CONDUCT } from "./conduct.ts";
import { BRANCH } from "./conversation/branch.ts";
import { SEARCH } from "./conversation/search.ts";
import { DAMAGE } from "./damage.ts";
import { DOCUMENT, DOCUMENT_ENTRIES } from "./document.ts";
import type { Runner, StoreCheck, StoreHarness } from "./harness.ts";
import { HOSTILE_IDS } from "./hostile-id.ts";
import { IDENTITY } from "./identity.ts";
import { ISOLATION } from "./isolation.ts";
import { LIFECYCLE, SHAPE } from "./lifecycle.ts";
import { LISTING } from "./listing.ts";
import { LOG, TEXT } from "./log.ts";
import { OWNERSHIP } from "./ownership.ts";
import { FILTER, PAGE } from "./page.ts";
import { RECORD } from "./record.ts";
import { REMOVAL, TENANT_REMOVAL } from "./removal.ts";
import { CUT, REOPENING } from "./reopening.ts";
import { COPY, ROUND_TRIP } from "./round-trip.ts";
import { CheckStage } from "./stage.ts";
import { BLOB, JOURNAL, TENANT } from "./tenant.ts";

export { BROKEN_STORES, type BrokenStore } from "./broken/index.ts";
export type { ConfigSamples, Forge, Runner, StoreHarness, Undo, World } from "./harness.ts";
export {
  type CheckOutcome,
  CRASH_CHECKS,
  folderHarness,
  RecordingRunner,
  volatileHarness,
} from "./harness.ts";

const CHECKS: readonly StoreCheck[] = [
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
  ...RECORD,
  ...BRANCH,
  ...SEARCH,
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
async function onStage(harness: StoreHarness, run: StoreCheck["run"]): Promise<void> {
  const stage = new CheckStage(harness, await harness.makePlace());
  try {
    await run(stage);
  } finally {
    await stage.clear();
  }
}
