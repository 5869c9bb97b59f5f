import type { UserId } from "../core/id.ts";
import type { Result } from "../core/result.ts";
import type { SessionKey } from "../store/store.ts";
import type { LiveSession } from "./live.ts";

/** A session that was asked for, and whether it had been there before. */
export interface Joined {
  readonly live: LiveSession;
  readonly attached: boolean;
}

/** A session in memory, or on its way in or out. */
export type Entry = Opening | Live | Leaving;

/** Being opened or made: a request for it waits. */
export interface Opening {
  readonly state: "opening";
  readonly key: SessionKey;
  readonly opened: Promise<Result<LiveSession>>;
  /** What it takes already; null before that is known. */
  spot: SessionSpot | null;
  /** Whether it is refused if there is no place for it; only until one request needs it anyway. */
  isCapped: boolean;
}

export interface Live {
  readonly state: "live";
  readonly live: LiveSession;
  /** It is being evicted, and does not count any more. */
  isEvicted: boolean;
  /**
   * Resolves when its maker can be answered; null after that. Until then it is an ordinary session
   * without an agent, but makes no room for others.
   */
  answered: Promise<void> | null;
}

/** On its way out: a request for it waits, and opens it anew if it is gone then. */
export interface Leaving {
  readonly state: "leaving";
  readonly key: SessionKey;
  /** Resolves with the session if it stays after all. */
  readonly left: PromiseWithResolvers<LiveSession | null>;
}

/** The place that a live session takes: in a workspace, for the user who made it. */
export interface SessionSpot {
  readonly workspaceCwd: string;
  /** Null is the operator, or the one person of a server without tokens. */
  readonly userId: UserId | null;
}

/** One that was closed is only stored, as far as clients can tell. */
export function conflictWith(known: Exclude<Entry, Leaving>) {
  if (known.state === "opening" || known.answered !== null) return { conflict: "pending" };
  const { closed, fixed } = known.live.session;
  if (closed) return { conflict: "persisted" };
  return { conflict: "live", liveWorkspaceCwd: fixed.workspaceCwd };
}

export function isClosing({ session: { closed, ending } }: LiveSession): boolean {
  return closed || ending?.reason === "client_close";
}

export function keyOf(entry: Entry): SessionKey {
  return entry.state === "live" ? entry.live.key : entry.key;
}

export async function settledEntry(entry: Entry): Promise<unknown> {
  if (entry.state === "live") return entry.answered;
  return entry.state === "opening" ? entry.opened : entry.left.promise;
}
