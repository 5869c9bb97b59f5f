import type { SessionEvent } from "../core/session/event.ts";
import type { TurnStatus } from "../wire/turn-status.ts";
import type { EventCursor, FollowedItem } from "./follow.ts";
import type { EventHub } from "./hub.ts";
import { type CallSettings, freshId, type Transport } from "./transport.ts";
import { TurnFold, type TurnPart, type VerdictValue } from "./turn-fold.ts";

/**
 * An admitted prompt and its turn. It is followed from the moment that it is iterated or its
 * verdict is wanted, from its admission on: nothing is missed by beginning late.
 */
export class TurnHandle implements AsyncIterable<TurnPart> {
  readonly sessionId: string;
  readonly promptId: string;
  readonly #transport: Transport;
  readonly #hub: EventHub;
  /** Where it goes on when it is followed (again). */
  #from: EventCursor;
  readonly #fold: TurnFold;
  readonly #readers = new Set<PartReader>();
  readonly #ending = Promise.withResolvers<VerdictValue>();
  #leave: (() => void) | null = null;
  #isVerdictWanted = false;
  #isOver = false;

  constructor(
    about: { readonly sessionId: string; readonly promptId: string; readonly from: EventCursor },
    transport: Transport,
    hub: EventHub,
  ) {
    this.sessionId = about.sessionId;
    this.promptId = about.promptId;
    this.#from = about.from;
    this.#transport = transport;
    this.#hub = hub;
    this.#fold = new TurnFold(transport);
    // A program that only iterates learns of a failure there.
    this.#ending.promise.catch(() => {});
  }

  /** How it ends, as a value; rejects only if that cannot be known. */
  get verdict(): Promise<VerdictValue> {
    this.#isVerdictWanted = true;
    this.#start();
    return this.#ending.promise;
  }

  /** All parts so far. */
  get parts(): readonly TurnPart[] {
    return this.#fold.parts;
  }

  /** Each part when it comes or changes; of texts what is new. Ends after the verdict. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TurnPart, void> {
    const reader = new PartReader(this.#fold.parts);
    this.#readers.add(reader);
    this.#start();
    try {
      for (;;) {
        yield* reader.take();
        if (this.#isOver) break;
        await reader.changed();
      }
      yield* reader.take();
      await this.#ending.promise;
    } finally {
      this.#readers.delete(reader);
      if (this.#readers.size === 0 && !this.#isVerdictWanted) this.#rest();
    }
  }

  /** Cancels it, whether it runs or waits. It still gets its verdict. */
  async cancel(options: CallSettings = {}): Promise<void> {
    await this.#transport.call("DELETE", `${this.#path}/pending-prompts/${this.promptId}`, options);
  }

  /** Says something to the agent at work; false if it is not at work any more. */
  async steer(message: string, options: CallSettings = {}): Promise<boolean> {
    const body = { message, messageId: freshId() };
    const path = `${this.#path}/mid-turn-message`;
    const { accepted } = await this.#transport.call("POST", path, { ...options, body });
    return accepted === true;
  }

  get #path(): string {
    return `/session/${encodeURIComponent(this.sessionId)}`;
  }

  #start() {
    if (this.#leave !== null || this.#isOver) return;
    this.#leave = () => {};
    const leave = this.#hub.join(this.#from, {
      told: (item) => this.#told(item),
      ended: (why) => this.#lost(why),
    });
    this.#leave = leave;
    if (this.#isOver) leave();
  }

  /** No stream stays open for a turn that is not read any more; it may be read on later. */
  #rest() {
    this.#leave?.();
    this.#leave = null;
  }

  #told(item: FollowedItem) {
    if (this.#isOver || item.kind === "connection") return;
    this.#from = item.cursor;
    if (item.kind === "resynced") return this.#resynced(item.events);
    if (!this.#isOwn(item.event)) return;
    const part = this.#fold.add(item.event);
    if (part !== null) for (const reader of this.#readers) reader.note(part);
    this.#endIfOver();
  }

  #isOwn(event: SessionEvent): boolean {
    const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
    return (isVerdict ? event.data.promptId : event.promptId) === this.promptId;
  }

  /** Its events are told anew; if none is there, the session may not know it any more. */
  #resynced(events: readonly SessionEvent[]) {
    const own = events.filter((event) => this.#isOwn(event));
    for (const part of this.#fold.addAgain(own)) {
      for (const reader of this.#readers) reader.note(part);
    }
    if (this.#fold.verdict === null) void this.#ask();
    this.#endIfOver();
  }

  /** Asks for the turn itself where its log was replaced. */
  async #ask(): Promise<void> {
    try {
      const path = `${this.#path}/turns/${this.promptId}`;
      const turn = await this.#transport.call<TurnStatus>("GET", path);
      const verdict = verdictOf(turn);
      if (verdict !== null) this.#fold.verdict ??= verdict;
      this.#endIfOver();
    } catch (error) {
      this.#lost(error);
    }
  }

  #endIfOver() {
    const { verdict } = this.#fold;
    if (verdict === null || this.#isOver) return;
    this.#ending.resolve(verdict);
    this.#end();
  }

  #lost(why: unknown) {
    if (this.#isOver) return;
    // A session that was closed has told all its verdicts before.
    if (why === null) return void this.#ask();
    this.#ending.reject(why);
    this.#end();
  }

  #end() {
    this.#isOver = true;
    this.#leave?.();
    for (const reader of this.#readers) reader.wake();
  }
}

function verdictOf(turn: TurnStatus): VerdictValue | null {
  const { state, stopReason, error, resultText: text = "", cost = null } = turn;
  if (state === "error" && error !== undefined) {
    return { kind: "error", code: error.code, message: error.message, text, cost };
  }
  if (state !== "completed" && state !== "cancelled") return null;
  return { kind: "complete", stopReason: stopReason ?? state, text, cost };
}

/** One reader of a turn. What it has not taken yet is one entry for each part, however long. */
class PartReader {
  readonly #changed = new Set<TurnPart>();
  readonly #taken = new Map<TurnPart, number>();
  #next = Promise.withResolvers<void>();

  constructor(parts: readonly TurnPart[]) {
    for (const part of parts) this.#changed.add(part);
  }

  note(part: TurnPart) {
    this.#changed.add(part);
    this.wake();
  }

  wake() {
    this.#next.resolve();
  }

  *take(): Generator<TurnPart> {
    for (const part of this.#changed) {
      this.#changed.delete(part);
      const fresh = this.#fresh(part);
      if (fresh !== null) yield fresh;
    }
  }

  async changed(): Promise<void> {
    await this.#next.promise;
    this.#next = Promise.withResolvers();
  }

  #fresh(part: TurnPart): TurnPart | null {
    if (part.type !== "text" && part.type !== "thought") return part;
    const { type, text } = part;
    const from = this.#taken.get(part) ?? 0;
    this.#taken.set(part, text.length);
    return text.length > from ? { type, text: text.slice(from) } : null;
  }
}
