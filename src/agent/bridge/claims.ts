import type { AgentUpdate } from "../../core/agent-update.ts";
import type { SessionId } from "../../core/id.ts";
import {
  AGENT_NAMES_KEPT_MAX,
  AGENT_QUEUE_CHARS_MAX,
  AGENT_SESSIONS_HELD_MAX,
} from "../../core/limits.ts";
import type { AgentOrder } from "../agent.ts";
import type { BridgeSession } from "./session.ts";

interface Early {
  readonly update: AgentUpdate;
  readonly chars: number;
}

/**
 * Whose words the agent's words are, by its names for sessions. A name belongs to one session at a
 * time, whatever the agent says, so that none hears what was meant for another (P8).
 */
export class Claims {
  readonly #sessions = new Map<string, BridgeSession>();
  /** Whom each name was given to, also after that one has left. */
  readonly #owners = new Map<string, SessionId | undefined>();
  /** Names of sessions that were let go of, and that the agent could not close. */
  readonly #forgotten = new Set<string>();
  /** An agent may speak of a session before it has answered with the session's name. */
  readonly #early = new Map<string, Early[]>();
  #earlyChars = 0;

  get(id: string): BridgeSession | undefined {
    return this.#sessions.get(id);
  }

  /** False if another session has it. */
  claim(id: string, session: BridgeSession): boolean {
    const holder = this.#sessions.get(id) ?? session;
    if (holder !== session) return false;
    this.#sessions.set(id, session);
    this.#forgotten.delete(id);
    return true;
  }

  /** Nobody listens to it any more, though the agent still has it: it may have a last word. */
  forget(id: string) {
    this.#forgotten.add(id);
  }

  isForgotten(id: string): boolean {
    return this.#forgotten.has(id);
  }

  get forgottenCount(): number {
    return this.#forgotten.size;
  }

  /** The agent made up this name, for this session. */
  gave(id: string, { owner }: AgentOrder) {
    this.#owners.delete(id);
    this.#owners.set(id, owner);
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > AGENT_NAMES_KEPT_MAX && oldest !== undefined) {
      this.#owners.delete(oldest);
    }
  }

  /**
   * Whether a session may come back under this name. Some agents count anew with each process, so
   * that one which this process gave to somebody else stands for another conversation.
   */
  mayComeBack(id: string, { owner }: AgentOrder): boolean {
    return !this.#owners.has(id) || (owner !== undefined && this.#owners.get(id) === owner);
  }

  release(session: BridgeSession) {
    for (const [id, holder] of this.#sessions) {
      if (holder === session) this.#sessions.delete(id);
    }
  }

  /** What was said under this name before it was anybody's. */
  takeEarly(id: string): readonly Early[] {
    const early = this.#early.get(id) ?? [];
    this.#early.delete(id);
    for (const { chars } of early) this.#earlyChars -= chars;
    return early;
  }

  /** False if there is no room. Nobody can be waited for: the name comes after these words. */
  keepEarly(id: string, update: AgentUpdate, chars: number): boolean {
    const kept = this.#early.get(id);
    const hasRoom =
      this.#earlyChars + chars <= AGENT_QUEUE_CHARS_MAX &&
      (kept !== undefined || this.#early.size < AGENT_SESSIONS_HELD_MAX);
    if (!hasRoom) return false;
    this.#earlyChars += chars;
    if (kept === undefined) this.#early.set(id, [{ update, chars }]);
    else kept.push({ update, chars });
    return true;
  }

  /** Nobody is on the way, so these words are nobody's. */
  forgetEarly() {
    this.#early.clear();
    this.#earlyChars = 0;
  }
}
