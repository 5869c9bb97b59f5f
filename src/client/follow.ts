import type { Numbered, SessionEvent } from "../core/session/event.ts";
import { Backoff, pause } from "./backoff.ts";
import { asErrorCode, FermataError, mayComeBack } from "./fault.ts";
import { framesOf, type WireFrame } from "./stream.ts";
import type { Transport } from "./transport.ts";

/**
 * An event of a session's log. A newer server may send types that are not among these; a `switch`
 * needs a `default`.
 */
export type ReceivedEvent = Numbered<SessionEvent>;

/** A position in a log that can be kept, as JSON. A null epoch is that of the log as it is now. */
export interface EventCursor {
  readonly epoch: string | null;
  readonly id: number;
}

/** How a session is followed just now. */
export type FollowState =
  | "connecting"
  | "replaying"
  | "live"
  | "reconnecting"
  | "resyncing"
  | "closed";

/** What a client that follows a session is told, in order. */
export type FollowedItem =
  | { readonly kind: "event"; readonly event: ReceivedEvent; readonly cursor: EventCursor }
  /** The log could not be continued: this is the session now, in the place of all before. */
  | {
      readonly kind: "resynced";
      readonly events: readonly SessionEvent[];
      readonly cursor: EventCursor;
    }
  | { readonly kind: "connection"; readonly state: FollowState };

interface LoadAnswer {
  readonly compactedReplay: readonly SessionEvent[];
  readonly liveJournal: readonly SessionEvent[];
  readonly lastEventId: number;
  readonly eventEpoch?: string;
}

/** What a client that has lost its place is shown. */
export async function load(
  transport: Transport,
  sessionId: string,
  signal: AbortSignal,
  historyPageSize?: number,
) {
  const body = { ...(historyPageSize !== undefined && { historyPageSize }) };
  const path = `/session/${encodeURIComponent(sessionId)}/load`;
  const loaded = await transport.call<LoadAnswer>("POST", path, { body, named: true, signal });
  const { compactedReplay, liveJournal, lastEventId: id, eventEpoch: epoch = null } = loaded;
  return { events: [...compactedReplay, ...liveJournal], cursor: { epoch, id } };
}

/**
 * Every event of a session after the cursor, once and in order, over as many connections as that
 * takes (P3). It ends with the session, rejects if the caller may not read it (any more), and goes
 * on for as long as the signal lets it.
 */
export async function* follow(
  transport: Transport,
  sessionId: string,
  from: EventCursor,
  signal: AbortSignal,
): AsyncGenerator<FollowedItem> {
  const backoff = new Backoff();
  let cursor = from;
  let state: FollowState = "connecting";
  for (;;) {
    let laterMs: number | null = null;
    yield { kind: "connection", state };
    const connection = new LogConnection(transport, sessionId, cursor, signal);
    try {
      for await (const item of connection.items()) {
        if (item.kind === "event" || (item.kind === "connection" && item.state === "live")) {
          backoff.reset();
        }
        yield item;
      }
      if (connection.isOver) return;
    } catch (error) {
      if (signal.aborted || !mayComeBack(error)) throw error;
      laterMs = error.retryAfterMs;
    }
    cursor = connection.cursor;
    state = "reconnecting";
    if (!connection.goesOnAtOnce) {
      yield { kind: "connection", state };
      await pause(backoff.nextMs(laterMs), signal);
    }
  }
}

/** Ends of a stream after which another attempt comes to the same. */
const FINAL: ReadonlySet<unknown> = new Set([
  "unauthorized",
  "session_not_found",
  "tenant_deleted",
  "tenant_deleting",
]);

/** One connection of a client that follows a session. */
class LogConnection {
  readonly #transport: Transport;
  readonly #sessionId: string;
  readonly #signal: AbortSignal;
  cursor: EventCursor;
  /** The session is closed: nothing more comes. */
  isOver = false;
  /** It ended because something else is to be done, and not for a failure. */
  goesOnAtOnce = false;

  constructor(transport: Transport, sessionId: string, cursor: EventCursor, signal: AbortSignal) {
    this.#transport = transport;
    this.#sessionId = sessionId;
    this.#signal = signal;
    this.cursor = cursor;
  }

  async *items(): AsyncGenerator<FollowedItem> {
    const path = `/session/${encodeURIComponent(this.#sessionId)}/events`;
    const { epoch, id } = this.cursor;
    const headers = {
      "Last-Event-ID": `${id}`,
      ...(epoch !== null && { "X-Qwen-Event-Epoch": epoch }),
    };
    const opened = (head: Headers) => {
      this.cursor = { id, epoch: epoch ?? head.get("x-qwen-event-epoch") };
    };
    let isFirst = true;
    for await (const frame of framesOf(this.#transport, path, headers, this.#signal, opened)) {
      if (isFirst) yield { kind: "connection", state: "replaying" };
      isFirst = false;
      yield* frame.id === undefined ? this.#notice(frame) : this.#event(frame, frame.id);
      if (this.isOver || this.goesOnAtOnce) return;
    }
  }

  async *#event(frame: WireFrame, id: number): AsyncGenerator<FollowedItem> {
    if (id <= this.cursor.id) return;
    // A server that leaves something out is not believed the rest.
    if (id !== this.cursor.id + 1) return yield* this.#resync(frame);
    this.cursor = { ...this.cursor, id };
    yield { kind: "event", event: asEvent(frame), cursor: this.cursor };
    this.isOver = frame.type === "session_closed";
  }

  async *#notice(frame: WireFrame): AsyncGenerator<FollowedItem> {
    const { type, data } = frame;
    if (type === "replay_complete") yield { kind: "connection", state: "live" };
    if (type === "state_resync_required") yield* this.#resync(frame);
    if (type === "stream_error" && FINAL.has(data.errorKind)) {
      throw new FermataError(asErrorCode(String(data.errorKind)), String(data.error));
    }
  }

  async *#resync({ data }: WireFrame): AsyncGenerator<FollowedItem> {
    yield { kind: "connection", state: "resyncing" };
    try {
      const loaded = await load(this.#transport, this.#sessionId, this.#signal);
      this.cursor = loaded.cursor;
      this.goesOnAtOnce = true;
      yield { kind: "resynced", ...loaded };
    } catch (error) {
      const mayNotLoad = error instanceof FermataError && error.code === "role_required";
      if (!mayNotLoad) throw error;
      // Who may only read goes on with what the stream still has.
      const next = Number(data.earliestAvailableId);
      this.cursor = { epoch: null, id: Number.isSafeInteger(next) ? next - 1 : this.cursor.id };
      yield { kind: "resynced", events: [], cursor: this.cursor };
    }
  }
}

/** What the server sends is what it has stored, and is not looked through again. */
function asEvent(frame: WireFrame): ReceivedEvent {
  return frame as unknown as ReceivedEvent;
}
