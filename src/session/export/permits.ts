import type { TenantId, UserId } from "../../core/id.ts";
import {
  EXPORT_PROCESSES_KEPT_MIN,
  EXPORT_PROCESSES_MAX,
  EXPORT_WAIT_MS_MAX,
  EXPORTS_WAITING_KEPT_MIN,
  EXPORTS_WAITING_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { shareExceeded } from "../../core/share.ts";
import type { Clock } from "../../platform/clock.ts";

/** Who reads an export. */
export interface ExportReader {
  readonly tenantId: TenantId;
  /** Null is the operator, or the one person of a server without tokens: no share binds them. */
  readonly userId: UserId | null;
  /** The reader has left. */
  readonly signal: AbortSignal;
}

/** For one process. */
export interface ExportPermit {
  /** Gives it back; calling it again does nothing. */
  release(): void;
  /**
   * Whether its reader, who is slow, has to make room for one that waits. If so, its process is
   * ended and the permit released.
   */
  mustYield(): boolean;
}

type PermitAnswer = Result<ExportPermit>;

interface WaitingReader {
  readonly reader: ExportReader;
  /** Ends the wait, once. The permit is made only if it is still wanted. */
  settle(permit: () => PermitAnswer): void;
}

/**
 * Permits for the processes of exports. They are few, so a tenant and a user have a share of them
 * and of the places in the queue, and no reader waits for longer than a limit (P10). A reader that
 * leaves the queue is passed over, and one that is slow makes room for one that waits.
 */
export class ExportPermits {
  readonly #clock: Clock;
  readonly #held = new Set<ExportReader>();
  /** Those of them that have made room and will be released. */
  readonly #yielding = new Set<ExportReader>();
  readonly #waiting = new Set<WaitingReader>();
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many readers wait. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** A permit, or why there is none. A reader that may have one passes those who may not. */
  async acquire(reader: ExportReader): Promise<PermitAnswer> {
    if (this.#isOver) return STOPPING;
    if (reader.signal.aborted) return LEFT;
    if (this.#mayHold(reader)) return this.#given(reader);
    const others = [...this.#waiting].map((one) => one.reader);
    const isTooMany = isBeyond(others, reader, EXPORTS_WAITING_MAX, EXPORTS_WAITING_KEPT_MIN);
    return isTooMany ? BUSY : this.#queued(reader);
  }

  /** From now on there are no permits. */
  end() {
    this.#isOver = true;
    for (const { settle } of this.#waiting) settle(() => STOPPING);
  }

  async #queued(reader: ExportReader): Promise<PermitAnswer> {
    const { promise, resolve } = Promise.withResolvers<PermitAnswer>();
    const waiting: WaitingReader = {
      reader,
      settle: (permit) => {
        if (this.#waiting.delete(waiting)) resolve(permit());
      },
    };
    this.#waiting.add(waiting);
    const leave = () => waiting.settle(() => LEFT);
    reader.signal.addEventListener("abort", leave);
    const callOff = this.#clock.after(EXPORT_WAIT_MS_MAX, () => waiting.settle(() => BUSY));
    const permit = await promise;
    callOff();
    reader.signal.removeEventListener("abort", leave);
    return permit;
  }

  #mayHold(reader: ExportReader, held = [...this.#held]): boolean {
    return !isBeyond(held, reader, EXPORT_PROCESSES_MAX, EXPORT_PROCESSES_KEPT_MIN);
  }

  /** Whether a reader waits for just this one. Others, who are slow as well, may keep theirs. */
  #isWanted(held: ExportReader): boolean {
    const staying = [...this.#held].filter((one) => !this.#yielding.has(one));
    const others = staying.filter((one) => one !== held);
    return [...this.#waiting].some(({ reader }) => {
      return !this.#mayHold(reader, staying) && this.#mayHold(reader, others);
    });
  }

  #given(reader: ExportReader): PermitAnswer {
    // A copy, because one reader may hold several.
    const held = { ...reader };
    this.#held.add(held);
    return ok({
      release: () => {
        this.#yielding.delete(held);
        if (!this.#held.delete(held)) return;
        // One whose share is used up holds none of those behind it.
        for (const { reader: next, settle } of this.#waiting) {
          if (this.#mayHold(next)) settle(() => this.#given(next));
        }
      },
      mustYield: () => {
        const isWanted = this.#isWanted(held);
        if (isWanted) this.#yielding.add(held);
        return isWanted;
      },
    });
  }
}

/** Whether another one is too many beside these, for all or for the share of this reader. */
function isBeyond(
  others: readonly ExportReader[],
  { tenantId, userId }: ExportReader,
  limit: number,
  kept: number,
): boolean {
  const free = limit - others.length;
  const ofTenant = others.filter((one) => one.tenantId === tenantId);
  const ofUser = ofTenant.filter((one) => one.userId === userId);
  const holders = [
    { scope: "tenant", held: ofTenant.length },
    { scope: "user", held: ofUser.length },
  ] as const;
  const exceeded = shareExceeded({
    amount: 1,
    free,
    open: userId === null ? free : free - kept,
    little: 1,
    ceiling: { kind: "times_free" },
    holders: userId === null ? [] : holders,
  });
  return exceeded !== null;
}

const BUSY = fail("export_busy", { limit: EXPORT_PROCESSES_MAX });
const STOPPING = fail("server_stopping");
/** No client reads this. */
const LEFT = fail("export_given_up", { reason: "its reader has left, or its tenant is deleted" });
