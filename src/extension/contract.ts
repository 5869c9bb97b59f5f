import type { PlainData } from "./plain-data.ts";
import type { StoredSlot } from "./slot.ts";

/**
 * What the module of an extension exports by default. It is called once for each session, in a
 * thread that this extension has for this session alone, so what it keeps in memory is of that
 * session only.
 */
export type MakeExtension = (host: ExtensionHost) => Extension | Promise<Extension>;

/**
 * An extension of one session. It works when it is asked to, and only for as long as it may take;
 * each function may be left out. One that throws or takes too long while it comes up is left out
 * of the session; the session goes on.
 */
export interface Extension {
  /** Gets ready: its configuration and its slot are there. */
  init?(): Awaitable<void>;
  /** Goes to work; all that it depends on is at work already. */
  activate?(): Awaitable<void>;
  /** Stops; all that depends on it has stopped. What it keeps now is still stored. */
  deactivate?(): Awaitable<void>;
  /** Gives back what it holds. It comes even if an earlier step failed. */
  dispose?(): Awaitable<void>;
  /** Brings its slot from an older version to the one that the manifest declares. */
  migrate?(stored: StoredSlot): Awaitable<StoredSlot>;
  /** What it decides with, by the names that its manifest has in `hooks`. */
  readonly hooks?: ExtensionHooks;
  /** Is told of events that its manifest has in `events`; nothing depends on its answer. */
  event?(event: PlainData): Awaitable<void>;
}

type Awaitable<Value> = Value | Promise<Value>;

/**
 * A hook says nothing, or refuses, or wants people to be asked. None allows what the gates of the
 * session do not.
 */
export interface ExtensionHooks {
  /** A prompt goes to work. Denied, it gets its verdict without one. People are not asked. */
  before_turn?(turn: TurnFacts): Awaitable<HookVerdict | undefined>;
  /** The turn has ended; what is kept by now is stored with it. */
  after_turn?(turn: TurnFacts & { readonly outcome: string }): Awaitable<void>;
  /** The agent wants to do something that goes by the server. */
  before_tool_call?(call: ToolCallFacts): Awaitable<HookVerdict | undefined>;
  after_tool_call?(call: ToolCallFacts & { readonly status: string }): Awaitable<void>;
  /** The gates would put it to people. */
  before_ask?(call: ToolCallFacts): Awaitable<HookVerdict | undefined>;
  after_ask?(call: ToolCallFacts & { readonly answer: string }): Awaitable<void>;
}

/** The reason is shown to people, and to the agent as far as its protocol has a place for it. */
export interface HookVerdict {
  readonly verdict: "pass" | "deny" | "ask";
  readonly reason?: string;
}

export interface TurnFacts {
  readonly turnId: string;
  readonly promptId: string;
  /** The texts of the prompt. */
  readonly text: string;
}

export interface ToolCallFacts {
  readonly toolCallId: string;
  readonly title: string;
  /** ACP's word for what it does, such as `edit` or `execute`. */
  readonly kind: string;
  /** The files that it names. */
  readonly paths: readonly string[];
  /** The call as the agent described it. */
  readonly rawInput: PlainData;
}

/** All that an extension is given. */
export interface ExtensionHost {
  readonly id: string;
  /** What it is configured with; its schema has taken it. */
  readonly config: { readonly [key: string]: PlainData };
  readonly session: SessionFacts;
  readonly slots: SlotHandle;
  /** A line for the operator's log. */
  log(message: string): void;
}

export interface SessionFacts {
  readonly sessionId: string;
  readonly workspaceCwd: string;
  /** Whether the session goes on from what was stored, and does not begin. */
  readonly isResumed: boolean;
}

/** The state of an extension that is stored with the session. */
export interface SlotHandle {
  /** What was last kept; null if nothing is. Another owner's slot is refused and audited. */
  get(owner?: string): PlainData;
  /**
   * Keeps a value from now on; null keeps none. Throws if it is no plain data, too large, or not of
   * the schema in the manifest. It is stored with the snapshot of the turn, and if the turn comes
   * to nothing it is again what it was before.
   */
  set(value: PlainData, owner?: string): void;
}
