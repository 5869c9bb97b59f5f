import type { ErrorCode } from "../../../core/error.ts";
import type { Result } from "../../../core/result.ts";
import { refused, value } from "../../kit/expect.ts";
import * as sample from "../../kit/sample.ts";
import { StoreWorld, withStore } from "../damage.fixture.ts";
import type { BackupContents } from "./contents.ts";
import { restoreBackup } from "./restore.ts";
import { takeBackup } from "./take.ts";

const { entry } = sample;
export const CAPITALS = sample.tenantId("MyTeam");
const NOW_MS = Date.parse("2026-05-01T12:00:00.000Z");

/** Generous: each of these fills a store first, which takes a busy machine a while. */
export const PATIENT = { timeout: 60_000 };

export const backupOf = (world: StoreWorld) => `${world.path}.backup`;
const elsewhere = (world: StoreWorld) => new StoreWorld(`${world.path}.restored`);

export function take(root: string, target: string): Promise<Result<BackupContents>> {
  return takeBackup({ root, target, version: "1.2.3", nowMs: NOW_MS, onTenant: () => {} });
}

export function restore(source: string, root: string): Promise<Result<BackupContents>> {
  const entryOf = ({ takenAt }: BackupContents) => entry(`restored ${takenAt}`);
  return restoreBackup({ root, source, entryOf, onTenant: () => {} });
}

/** A store at work, with a backup of it and a place to restore that to. */
export async function withBackup(run: (world: StoreWorld, next: StoreWorld) => Promise<void>) {
  await withStore(async (world) => {
    const next = elsewhere(world);
    await value(world.start());
    await world.fill();
    await value(world.store.appendJournal(CAPITALS, [entry("theirs")]));
    await value(take(world.path, backupOf(world)));
    try {
      await run(world, next);
    } finally {
      await next.stop();
    }
  });
}

export async function reasonOf(
  pending: Promise<Result<unknown>>,
  code: ErrorCode,
): Promise<string> {
  return String((await refused(pending, code)).details.reason);
}
