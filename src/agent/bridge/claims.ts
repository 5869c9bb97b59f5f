import type { AgentUpdate } from "../../core/agent-update.ts";
import type { SessionId } from "../../core/id.ts";
import {
  AGENT_NAMES_KEPT_MAX,
  AGENT_QUEUE_CHARS_MAX,
  AGENT_SESSIONS_HELD_MAX,
} from "../../core/limits.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { ConnectRequest } from "../agent.ts";
import type { BridgeSession } from "./session.ts";

interface EarlyUpdate {
  readonly update: AgentUpdate;
  readonly chars: number;
}

/**
 * Which session an agent's message belongs to, by the agent's session id. An id belongs to one
 * session at a time, so that no session receives another's messages (P8).
 */
export class Claims {
  readonly #sessions = new Map<string, BridgeSession>();
  /** The session that the agent made each id for, also after that one has left. */
  readonly #owners = new BoundedMap<string, SessionId | undefined>(AGENT_NAMES_KEPT_MAX);
  /** Ids of released sessions that the agent could not close. */
  readonly #forgotten = new Set<string>();
  /** Updates that came before the answer that has their session id. */
  readonly #early = new Map<string, EarlyUpdate[]>();
  #earlyChars = 0;

  get(id: string): BridgeSession | undefined {
    return this.#sessions.get(id);
  }

  /** False if another session has the id. */
  claim(id: string, session: BridgeSession): boolean {
    const holder = this.#sessions.get(id) ?? session;
    if (holder !== session) return false;
    this.#sessions.set(id, session);
    this.#forgotten.delete(id);
    return true;
  }

  /** The agent still has the session, and may send updates that are to be ignored. */
  forget(id: string) {
    this.#forgotten.add(id);
  }

  isForgotten(id: string): boolean {
    return this.#forgotten.has(id);
  }

  get forgottenCount(): number {
    return this.#forgotten.size;
  }

  /** The agent has made this id, for this session. */
  created(id: string, { owner }: ConnectRequest) {
    this.#owners.set(id, owner);
  }

  /**
   * Whether a session may be restored by this id. Some agents number sessions per process, so an
   * id that this process has made for another session stands for another conversation.
   */
  mayRestore(id: string, { owner }: ConnectRequest): boolean {
    return !this.#owners.has(id) || (owner !== undefined && this.#owners.get(id) === owner);
  }

  release(session: BridgeSession) {
    for (const [id, holder] of this.#sessions) {
      if (holder === session) this.#sessions.delete(id);
    }
  }

  /** Removes and returns the updates that came before the id was claimed. */
  takeEarly(id: string): readonly EarlyUpdate[] {
    const early = this.#early.get(id) ?? [];
    this.#early.delete(id);
    for (const { chars } of early) this.#earlyChars -= chars;
    return early;
  }

  /** False if there is no capacity. Reading cannot pause: the id comes after these updates. */
  keepEarly(id: string, update: AgentUpdate, chars: number): boolean {
    const kept = this.#early.get(id);
    const hasCapacity =
      this.#earlyChars + chars <= AGENT_QUEUE_CHARS_MAX &&
      (kept !== undefined || this.#early.size < AGENT_SESSIONS_HELD_MAX);
    if (!hasCapacity) return false;
    this.#earlyChars += chars;
    if (kept === undefined) this.#early.set(id, [{ update, chars }]);
    else kept.push({ update, chars });
    return true;
  }

  /** No session is being opened, so these updates belong to none. */
  forgetEarly() {
    this.#early.clear();
    this.#earlyChars = 0;
  }
}
