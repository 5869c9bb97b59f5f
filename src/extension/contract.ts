import type { Awaitable, ExtensionHooks } from "./hook.ts";
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
  /** Stops; all that depends on it has stopped, and the last snapshot is written. */
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
