import type { ClientId, PromptId } from "../../core/id.ts";
import {
  VERDICT_ERROR_HELD_MS,
  VERDICT_HELD_MS_MAX,
  VERDICT_REPEAT_LATE_MS,
  VERDICT_REPEAT_SOON_MS,
  VERDICTS_UNCONFIRMED_MAX,
} from "../../core/limits.ts";
import { isVerdict } from "../../core/session/event.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import type { Written } from "../actor/written.ts";
import { repeatOf } from "./frame.ts";
import type { SessionBus } from "./session-bus.ts";

const REPEATS_MS = [VERDICT_REPEAT_SOON_MS, VERDICT_REPEAT_LATE_MS, VERDICT_HELD_MS_MAX];

/**
 * What is known of the answer to a prompt: its client has read it, or will never read it; or it
 * was merely sent.
 */
export type AnswerReceipt = "settled" | "sent";

/** A prompt whose client may not have read the answer yet. */
interface Unread {
  readonly promptId: PromptId;
  readonly clientId: ClientId;
  /** When the answer was sent, if nothing more will be known of it. */
  sentAtMs: number | null;
  verdict: Written | null;
  callOff: CallOff;
}

/**
 * Holds the verdict of a prompt back from the streams of its client until that has read the answer
 * to its prompt: a client that reads the verdict first would wait for it for ever. What follows the
 * verdict in these streams waits behind it. All other streams get it at once.
 *
 * Where it cannot be known whether the client has read the answer, a `turn_error` is held for a
 * moment, and a `turn_complete` is repeated without a number.
 */
export class HeldVerdicts {
  readonly #clock: Clock;
  readonly #bus: () => SessionBus | null;
  readonly #unread = new Map<PromptId, Unread>();

  constructor(clock: Clock, bus: () => SessionBus | null) {
    this.#clock = clock;
    this.#bus = bus;
  }

  /** How many prompts are remembered. */
  get size(): number {
    return this.#unread.size;
  }

  /** Before a prompt is admitted: its verdict may come before the answer is sent. */
  hold(promptId: PromptId, clientId: ClientId) {
    const callOff = () => {};
    this.#unread.set(promptId, { promptId, clientId, sentAtMs: null, verdict: null, callOff });
  }

  /** The prompt is admitted and is about to be answered: its client has so long to read that. */
  limit(promptId: PromptId) {
    const unread = this.#unread.get(promptId);
    if (unread !== undefined) this.#later(unread, VERDICT_HELD_MS_MAX, () => this.#forget(unread));
  }

  answered(promptId: PromptId, fate: AnswerReceipt) {
    const unread = this.#unread.get(promptId);
    if (unread === undefined || unread.sentAtMs !== null) return;
    if (fate === "settled") return this.#forget(unread);
    unread.sentAtMs = this.#clock.nowMs();
    const { verdict, sentAtMs } = unread;
    if (verdict !== null) this.#arrivedLater(unread, verdict, sentAtMs);
    else this.#later(unread, VERDICT_HELD_MS_MAX, () => this.#forget(unread));
    this.#holdStreams(unread.clientId);
    this.#makeSpace();
  }

  /** These are durable and about to be published. */
  arrived(written: readonly Written[]) {
    if (this.#unread.size === 0) return;
    for (const one of written) {
      const unread = isVerdict(one.event) ? this.#unread.get(one.event.data.promptId) : undefined;
      if (unread === undefined) continue;
      unread.verdict = one;
      if (unread.sentAtMs !== null) this.#arrivedLater(unread, one, unread.sentAtMs);
      this.#holdStreams(unread.clientId);
    }
  }

  /** The verdicts that the streams of this client may not have yet. */
  heldIds(clientId: ClientId | null): readonly number[] {
    const own = [...this.#unread.values()].filter((one) => one.clientId === clientId);
    return own.flatMap((one) => (this.#isHeld(one) ? (one.verdict?.id ?? []) : []));
  }

  /** The streams are about to end, and no client waits for a verdict after that. */
  end() {
    for (const unread of [...this.#unread.values()]) this.#forget(unread);
  }

  /** It is not known whether the client has read the answer that was sent at that time. */
  #arrivedLater(unread: Unread, verdict: Written, sentAtMs: number) {
    if (verdict.event.type === "turn_complete") return this.#repeatLater(unread, verdict, sentAtMs);
    const leftMs = sentAtMs + VERDICT_ERROR_HELD_MS - this.#clock.nowMs();
    this.#later(unread, Math.max(leftMs, 0), () => this.#forget(unread));
  }

  /**
   * The client may have read the verdict first and passed over it, or may be about to: it is
   * repeated at moments when the answer is more and more certain to have been read.
   */
  #repeatLater(unread: Unread, verdict: Written, sentAtMs: number) {
    const sinceMs = this.#clock.nowMs() - sentAtMs;
    const atMs = REPEATS_MS.find((ms) => ms > sinceMs);
    if (atMs === undefined) return this.#forget(unread);
    this.#later(unread, atMs - sinceMs, () => {
      this.#bus()?.remind(unread.clientId, verdict.id, repeatOf(verdict.text));
      this.#repeatLater(unread, verdict, sentAtMs);
    });
  }

  #isHeld({ verdict, sentAtMs }: Unread): boolean {
    return verdict !== null && (sentAtMs === null || verdict.event.type === "turn_error");
  }

  #holdStreams(clientId: ClientId) {
    this.#bus()?.holdClient(clientId, this.heldIds(clientId));
  }

  #later(unread: Unread, ms: number, act: () => void) {
    unread.callOff();
    unread.callOff = this.#clock.after(ms, act);
  }

  #forget(unread: Unread) {
    unread.callOff();
    if (!this.#unread.delete(unread.promptId)) return;
    if (this.#isHeld(unread)) this.#holdStreams(unread.clientId);
  }

  /** The oldest are the most certain to have been read. */
  #makeSpace() {
    const sent = [...this.#unread.values()].filter(({ sentAtMs }) => sentAtMs !== null);
    for (const oldest of sent.slice(0, -VERDICTS_UNCONFIRMED_MAX)) this.#forget(oldest);
  }
}
