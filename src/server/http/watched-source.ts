import type { TenantId } from "../../core/id.ts";
import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import { streamError } from "../../session/bus/notice.ts";
import type { CallOff, Clock } from "../../session/world.ts";
import type { EventSource } from "./event-stream.ts";

/**
 * A source whose reader is asked now and then who they are. A stream outlives the request that
 * opened it, so without this a token that is revoked would go on to show what happens.
 */
export class WatchedSource implements EventSource {
  readonly ending?: Promise<void>;
  readonly #source: EventSource;
  readonly #mayGoOn: () => Promise<boolean>;
  readonly #clock: Clock;
  readonly #over: () => void;
  #callOff: CallOff = () => {};
  #isLooking = false;
  /** What is being looked at may be from before something changed. */
  #isStale = false;
  #isOver = false;

  constructor(
    source: EventSource,
    mayGoOn: () => Promise<boolean>,
    clock: Clock,
    over: () => void = () => {},
  ) {
    this.#source = source;
    this.#mayGoOn = mayGoOn;
    this.#clock = clock;
    this.#over = over;
    if (source.ending !== undefined) this.ending = source.ending;
    this.#lookLater();
  }

  next() {
    return this.#source.next();
  }

  cancel() {
    this.#stopLooking();
    this.#source.cancel();
  }

  end(last: Parameters<EventSource["end"]>[0]) {
    this.#stopLooking();
    this.#source.end(last);
  }

  /** Asks at once, and not when it is time. */
  look() {
    this.#callOff();
    if (this.#isLooking) this.#isStale = true;
    else void this.#ask();
  }

  #lookLater() {
    this.#callOff = this.#clock.after(STREAM_RECHECK_MS, () => this.look());
  }

  async #ask(): Promise<void> {
    this.#isLooking = true;
    this.#isStale = false;
    const mayGoOn = await this.#mayGoOn();
    this.#isLooking = false;
    if (this.#isOver) return;
    if (!mayGoOn) this.end(streamError("Unauthorized", "unauthorized"));
    else if (this.#isStale) this.look();
    else this.#lookLater();
  }

  #stopLooking() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#callOff();
    this.#over();
  }
}

/** Who reads streams of which tenant. */
export class Readers {
  readonly #clock: Clock;
  readonly #open = new Map<TenantId, Set<WatchedSource>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same source, for as long as its reader may read it. */
  watch(tenantId: TenantId, source: EventSource, mayGoOn: () => Promise<boolean>): EventSource {
    const watched = new WatchedSource(source, mayGoOn, this.#clock, () => {
      const open = this.#open.get(tenantId);
      open?.delete(watched);
      if (open?.size === 0) this.#open.delete(tenantId);
    });
    this.#open.set(tenantId, (this.#open.get(tenantId) ?? new Set()).add(watched));
    return watched;
  }

  countOf(tenantId: TenantId): number {
    return this.#open.get(tenantId)?.size ?? 0;
  }

  /** Something has changed about who may do what: nobody reads on until the next look is due. */
  recheck(tenantId: TenantId) {
    for (const reader of this.#open.get(tenantId) ?? []) reader.look();
  }
}
