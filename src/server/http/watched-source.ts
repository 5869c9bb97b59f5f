import { refusal } from "../../core/error.ts";
import type { TenantId, UserId } from "../../core/id.ts";
import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import { type StreamEnd, streamError } from "../../session/index.ts";
import { type ReadyAnswer, refused, type WaitingAnswer } from "./answer.ts";
import type { EventSource } from "./event-stream.ts";
import type { Caller } from "./route.ts";

/**
 * Rechecks the reader of a source at intervals. A stream outlives its request, so without this a
 * revoked token would go on reading.
 */
export class WatchedSource implements EventSource {
  readonly ending?: Promise<StreamEnd>;
  readonly #source: EventSource;
  readonly #mayRead: () => Promise<boolean>;
  readonly #clock: Clock;
  readonly #over: () => void;
  #callOff: CallOff = () => {};
  #isChecking = false;
  /** The running check may have read old data. */
  #isStale = false;
  #isOver = false;

  constructor(
    source: EventSource,
    mayRead: () => Promise<boolean>,
    clock: Clock,
    over: () => void = () => {},
  ) {
    this.#source = source;
    this.#mayRead = mayRead;
    this.#clock = clock;
    this.#over = over;
    if (source.ending !== undefined) this.ending = source.ending;
    this.#checkLater();
  }

  next() {
    return this.#source.next();
  }

  cancel() {
    this.#stop();
    this.#source.cancel();
  }

  end(last: Parameters<EventSource["end"]>[0]) {
    this.#stop();
    this.#source.end(last);
  }

  /** Checks now instead of at the next interval. */
  check() {
    this.#callOff();
    if (this.#isChecking) this.#isStale = true;
    else void this.#recheck();
  }

  #checkLater() {
    this.#callOff = this.#clock.after(STREAM_RECHECK_MS, () => this.check());
  }

  async #recheck(): Promise<void> {
    this.#isChecking = true;
    this.#isStale = false;
    const mayRead = await this.#mayRead();
    this.#isChecking = false;
    if (this.#isOver) return;
    if (!mayRead) this.end(streamError("Unauthorized", "unauthorized"));
    else if (this.#isStale) this.check();
    else this.#checkLater();
  }

  #stop() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#callOff();
    this.#over();
  }
}

/** The open streams by tenant. */
export class OpenStreams {
  readonly #clock: Clock;
  readonly #open = new Map<TenantId, Map<WatchedSource, UserId | null>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps a source so that it ends when its reader loses access. */
  watch(
    { tenantId, userId }: Pick<Caller, "tenantId" | "userId">,
    source: EventSource,
    mayRead: () => Promise<boolean>,
  ): EventSource {
    const watched = new WatchedSource(source, mayRead, this.#clock, () => {
      const open = this.#open.get(tenantId);
      open?.delete(watched);
      if (open?.size === 0) this.#open.delete(tenantId);
    });
    const open = this.#open.get(tenantId) ?? new Map<WatchedSource, UserId | null>();
    this.#open.set(tenantId, open.set(watched, userId));
    return watched;
  }

  /** Those of the tenant, or of one of its users. */
  countOf(tenantId: TenantId, userId: UserId | null = null): number {
    const readers = [...(this.#open.get(tenantId)?.values() ?? [])];
    return readers.filter((reader) => userId === null || reader === userId).length;
  }

  /** Rechecks every open stream of the tenant now instead of at the next interval. */
  recheck(tenantId: TenantId) {
    for (const reader of this.#open.get(tenantId)?.keys() ?? []) reader.check();
  }
}

/** A source without events, of which only `end` is used. */
export function endedBy(end: () => void): EventSource {
  return { next: async () => ({ done: true, value: undefined }), cancel: () => {}, end };
}

interface WaitPermit {
  /** Ends the source when its reader may read no more. */
  watch(source: EventSource): EventSource;
  /** The tenant is being deleted. */
  readonly ending: AbortSignal;
  /** What a caller is answered who may not have the answer any more. */
  readonly gone: ReadyAnswer;
}

/** Ends a wait when its caller loses access or its tenant is deleted; neither is told more. */
export function allowedWait(
  { settle }: WaitingAnswer,
  { watch, ending, gone }: WaitPermit,
): WaitingAnswer {
  return {
    kind: "waiting",
    async settle(signal) {
      const forbidden = new AbortController();
      const watched = watch(endedBy(() => forbidden.abort()));
      try {
        const answer = await settle(AbortSignal.any([signal, ending, forbidden.signal]));
        if (forbidden.signal.aborted) return gone;
        return ending.aborted ? refused(refusal("tenant_deleting")) : answer;
      } finally {
        watched.cancel();
      }
    },
  };
}
