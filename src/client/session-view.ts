import { chunkText } from "../core/agent-update.ts";
import { isObject } from "../core/json.ts";
import type { SessionEvent } from "../core/session/event.ts";
import type { SessionState } from "../core/status.ts";
import type { AskHandle } from "./ask-handle.ts";
import { FermataError } from "./fault.ts";
import { type EventCursor, type FollowedItem, type FollowState, load } from "./follow.ts";
import type { EventHub } from "./hub.ts";
import type { Transport } from "./transport.ts";
import { TurnFold, type TurnPart, type VerdictValue } from "./turn-fold.ts";

export interface ViewOptions {
  /** How many turns of the past are shown; 50 by default. */
  readonly turns?: number;
}

/** A turn in a view. Another object whenever it has changed. */
export interface TurnInView {
  readonly promptId: string;
  /** The words of the prompt. */
  readonly prompt: string;
  readonly parts: readonly TurnPart[];
  /** Null while it waits or runs. */
  readonly verdict: VerdictValue | null;
}

/** A session as a user interface shows it. Another object whenever it has changed. */
export interface ViewState {
  readonly connection: FollowState;
  /** Null until the session is loaded. */
  readonly status: SessionState | null;
  readonly displayName: string | null;
  /** Oldest first, those that wait included. */
  readonly turns: readonly TurnInView[];
  /** What waits for a person. */
  readonly asks: readonly AskHandle[];
  /** Up to where this is so; it can be kept, and followed from. */
  readonly cursor: EventCursor | null;
  /** Why the view is not kept up to date any more. */
  readonly error: unknown;
}

/** Turns that a view shows at most; the oldest go for new ones. */
const TURNS_SHOWN_MAX = 500;

const FROM_THE_START = { events: [], cursor: { epoch: null, id: 0 } };

const CLOSED = new FermataError(
  "session_not_found",
  "The session is closed, or not viewed any more.",
);

interface KeptTurn {
  readonly promptId: string;
  readonly fold: TurnFold;
  prompt: string;
  shown: TurnInView | null;
}

/** A store of one session's state, for user interfaces to subscribe to. */
export class LiveView {
  readonly #transport: Transport;
  readonly #hub: EventHub;
  readonly #sessionId: string;
  readonly #listeners = new Set<(state: ViewState) => void>();
  readonly #ending = new AbortController();
  readonly #turns = new Map<string, KeptTurn>();
  #leave: () => void = () => {};
  #connection: FollowState = "connecting";
  #status: SessionState | null = null;
  #displayName: string | null = null;
  #cursor: EventCursor | null = null;
  #error: unknown = null;
  #state: ViewState | null = null;
  #isTelling = false;

  constructor(transport: Transport, hub: EventHub, sessionId: string, options: ViewOptions) {
    this.#transport = transport;
    this.#hub = hub;
    this.#sessionId = sessionId;
    void this.#open(options.turns ?? 50);
  }

  get(): ViewState {
    this.#state ??= {
      connection: this.#connection,
      status: this.#status,
      displayName: this.#displayName,
      turns: [...this.#turns.values()].map(shownOf),
      asks: [...this.#turns.values()].flatMap(({ fold }) => fold.openAsks),
      cursor: this.#cursor,
      error: this.#error,
    };
    return this.#state;
  }

  /** Calls back after changes, once for many that come together, until it is called off. */
  subscribe(listener: (state: ViewState) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Resolves when it is so; rejects when the view is kept no more. */
  async until(isSo: (state: ViewState) => boolean): Promise<ViewState> {
    const { promise, resolve, reject } = Promise.withResolvers<ViewState>();
    const look = (state: ViewState) => {
      if (isSo(state)) resolve(state);
      else if (state.connection === "closed") reject(state.error ?? CLOSED);
    };
    const callOff = this.subscribe(look);
    look(this.get());
    return promise.finally(callOff);
  }

  /** Lets go of the session; the last state stays. */
  dispose() {
    this.#ending.abort();
    this.#leave();
    this.#connection = "closed";
    this.#changed();
  }

  async #open(turns: number): Promise<void> {
    const { signal } = this.#ending;
    const loaded = await load(this.#transport, this.#sessionId, signal, turns).catch((error) => {
      // Who may only read sees what the stream still has.
      if (error instanceof FermataError && error.code === "role_required") return FROM_THE_START;
      this.#close(error);
      return null;
    });
    if (loaded === null || signal.aborted) return;
    this.#reset(loaded.events, loaded.cursor);
    this.#leave = this.#hub.join(loaded.cursor, {
      told: (item) => this.#told(item),
      ended: (why) => this.#close(why),
    });
  }

  #close(why: unknown) {
    if (this.#ending.signal.aborted) return;
    this.#connection = "closed";
    this.#error = why;
    this.#changed();
  }

  #told(item: FollowedItem) {
    if (item.kind === "connection") this.#connection = item.state;
    else if (item.kind === "resynced") this.#reset(item.events, item.cursor);
    else {
      this.#cursor = item.cursor;
      this.#add(item.event);
    }
    this.#changed();
  }

  #reset(events: readonly SessionEvent[], cursor: EventCursor) {
    this.#turns.clear();
    this.#cursor = cursor;
    for (const event of events) this.#add(event);
    this.#changed();
  }

  #add(event: SessionEvent) {
    if (event.type === "session_status") this.#status = event.data.to;
    if (event.type === "session_metadata_updated") {
      this.#displayName = event.data.displayName ?? null;
    }
    const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
    const promptId = isVerdict ? event.data.promptId : event.promptId;
    if (promptId === undefined) return;
    const turn = this.#turns.get(promptId) ?? this.#newTurn(promptId);
    turn.shown = null;
    turn.prompt = promptOf(event) ?? turn.prompt;
    if (isEcho(event)) turn.prompt ||= wordsOf(event);
    turn.fold.add(event);
  }

  #newTurn(promptId: string): KeptTurn {
    const fold = new TurnFold(this.#transport);
    const turn = { promptId, fold, prompt: "", shown: null };
    this.#turns.set(promptId, turn);
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > TURNS_SHOWN_MAX && oldest !== undefined) this.#turns.delete(oldest);
    return turn;
  }

  #changed() {
    this.#state = null;
    if (this.#isTelling) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      const state = this.get();
      for (const listener of [...this.#listeners]) listener(state);
    });
  }
}

function shownOf(turn: KeptTurn): TurnInView {
  const { promptId, prompt, fold } = turn;
  turn.shown ??= { promptId, prompt, parts: [...fold.parts], verdict: fold.verdict };
  return turn.shown;
}

function promptOf(event: SessionEvent): string | null {
  return event.type === "prompt_admitted" || event.type === "pending_prompt_added"
    ? event.data.text
    : null;
}

/** What other clients are shown of a prompt; of one that is folded it is all there is. */
function isEcho(event: SessionEvent): event is SessionEvent<"session_update"> {
  if (event.type !== "session_update") return false;
  const { sessionUpdate, _meta } = event.data.update;
  const isOurs = isObject(_meta) && _meta.source === "bridge-echo";
  return sessionUpdate === "user_message_chunk" && isOurs;
}

function wordsOf({ data }: SessionEvent<"session_update">): string {
  return chunkText(data.update) ?? "";
}
