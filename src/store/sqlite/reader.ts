import { parentPort, workerData } from "node:worker_threads";
import type { TenantId } from "../../core/id.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { StoreFault } from "../store.ts";
import {
  type Offered,
  type ThreadAnswer,
  type ThreadCall,
  tenantNameOf,
  tenantOf,
} from "./calls.ts";
import { StoreCondition } from "./condition.ts";
import { explain } from "./fault.ts";
import { isRead, type READS } from "./read.ts";
import { Reading } from "./reading.ts";
import { serve } from "./thread.ts";

/**
 * The thread that reads, for all tenants, once there is work for two. It never waits for the one
 * that writes.
 */
export interface ReaderData {
  readonly root: string;
}

/** What the other side calls. */
export type ReaderOps = Offered<typeof READS> & {
  /** The databases that reads have found to be damaged or gone. */
  readonly check: () => Result<readonly StoreFault[]>;
  /** The tenant was removed: what was seen of it is not missed. */
  readonly forget: (tenantId: TenantId) => Result<void>;
};

const { root }: ReaderData = workerData;

const condition = new StoreCondition(root);

const reading = new Reading(root, condition);

if (parentPort) serve(parentPort, work, () => reading.end());

/** Each answer travels alone: pages are large, and a caller need not wait for all of them. */
function* work(calls: readonly ThreadCall[]): Generator<readonly ThreadAnswer[]> {
  for (const call of calls) yield [{ n: call.n, value: answer(call) }];
}

function answer(call: ThreadCall): unknown {
  if (isRead(call.op)) return reading.answer(call);
  try {
    return call.op === "check" ? check() : forget(call);
  } catch (thrown) {
    return explain(thrown);
  }
}

function check(): Result<readonly StoreFault[]> {
  return ok(condition.knownFaults(reading.lost));
}

function forget(call: ThreadCall): Result<void> {
  const tenantId = tenantOf(tenantNameOf(call));
  if (tenantId !== null) reading.forget(tenantId);
  return DONE;
}
