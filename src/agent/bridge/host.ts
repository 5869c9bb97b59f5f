import type { AgentUpdate } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { AGENT_SESSIONS_HELD_MAX, AGENT_UPDATES_HELD_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import { CLIENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { AgentListener, AgentOrder, AgentSession } from "../agent.ts";
import type { AgentConnection, Peer, Served } from "../connection.ts";
import type { FaultLog } from "../fault.ts";
import type { AgentProcess } from "../process/process.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { arrive } from "./arrive.ts";
import type { AgentAbilities } from "./capability.ts";
import { isServed, notFound, serve } from "./serve.ts";
import { BridgeSession, type SessionHost } from "./session.ts";

/** What an agent sends again while it loads a session, of which our own log is the truth. */
const STATE_KINDS: ReadonlySet<string> = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
]);

interface Claimed {
  readonly session: BridgeSession;
  readonly isReplaying: boolean;
}

/** One agent process that has been initialised, and the sessions that it serves. */
export class AgentHost implements SessionHost {
  readonly profile: AgentProfile;
  readonly process: AgentProcess;
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  readonly terminals: SessionHost["terminals"];
  /** Resolves when the process is gone and its last words have been heard. */
  readonly gone: Promise<AgentExit & { readonly message: string }>;
  readonly #faults: FaultLog;
  readonly #sessions = new Set<BridgeSession>();
  readonly #claimed = new Map<string, Claimed>();
  /** Updates for sessions whose id the agent has not told us yet. */
  readonly #early = new Map<string, AgentUpdate[]>();
  /** Told whenever a session lets go of this process. */
  onRelease: () => void = () => {};
  #arriving = 0;

  constructor(started: {
    readonly profile: AgentProfile;
    readonly process: AgentProcess;
    readonly connection: AgentConnection;
    readonly abilities: AgentAbilities;
    readonly terminals: SessionHost["terminals"];
    readonly faults: FaultLog;
  }) {
    this.profile = started.profile;
    this.process = started.process;
    this.connection = started.connection;
    this.abilities = started.abilities;
    this.terminals = started.terminals;
    this.#faults = started.faults;
    this.gone = this.#watch();
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  async connect(order: AgentOrder, listener: AgentListener): Promise<Result<AgentSession>> {
    const session = new BridgeSession(this, order, listener);
    this.#sessions.add(session);
    this.#arriving += 1;
    const { connection, abilities, profile } = this;
    const claim = (id: string, isReplaying: boolean) => this.#claim(id, session, isReplaying);
    const unclaim = (id: string) => this.#claimed.delete(id);
    const arrived = await arrive({ connection, abilities, profile, order, claim, unclaim });
    this.#arriving -= 1;
    if (this.#arriving === 0) this.#early.clear();
    if (!arrived.ok) {
      this.#sessions.delete(session);
      return arrived;
    }
    session.arrive(arrived.value);
    return ok(session);
  }

  release(session: BridgeSession) {
    this.#sessions.delete(session);
    this.#claimed.delete(session.agentSessionId);
    this.onRelease();
  }

  async kill(): Promise<void> {
    await this.process.kill();
    await this.gone;
  }

  async end(): Promise<void> {
    await this.process.end();
    await this.gone;
  }

  /** The agent's words: this is what its connection calls. */
  readonly peer: Peer = {
    notified: (method, params) => this.#notified(method, params),
    requested: (method, params, signal) => this.#requested(method, params, signal),
  };

  #notified(method: string, params: JsonObject): Promise<void> | undefined {
    if (method === CLIENT_METHODS.completeElicitation) return undefined;
    if (method !== CLIENT_METHODS.update) {
      this.#faults.add("unknown_method", method);
      return undefined;
    }
    const id = stringAt(params, "sessionId") ?? "";
    const update = objectAt(params, "update");
    if (update === null || !isUpdate(update)) {
      this.#faults.add("invalid_update", JSON.stringify(params));
      return undefined;
    }
    const claimed = this.#claimed.get(id);
    if (claimed === undefined) {
      this.#keepEarly(id, update);
      return undefined;
    }
    const isReplay = claimed.isReplaying && !STATE_KINDS.has(update.sessionUpdate);
    return isReplay ? undefined : claimed.session.heard(update);
  }

  async #requested(method: string, params: JsonObject, signal: AbortSignal): Promise<Served> {
    if (!isServed(method)) {
      this.#faults.add("unknown_method", method);
      return { error: notFound(method) };
    }
    const id = stringAt(params, "sessionId") ?? "";
    const claimed = this.#claimed.get(id);
    if (claimed !== undefined) return serve(claimed.session, method, params, signal);
    this.#faults.add("unknown_session", id);
    return { error: { code: RPC_ERRORS.invalidParams, message: `No session "${id}" here` } };
  }

  #claim(id: string, session: BridgeSession, isReplaying: boolean) {
    this.#claimed.set(id, { session, isReplaying });
    for (const update of this.#early.get(id) ?? []) void session.heard(update);
    this.#early.delete(id);
  }

  /** An agent may speak of a session before it has answered with the session's id. */
  #keepEarly(id: string, update: AgentUpdate) {
    const kept = this.#early.get(id) ?? [];
    const hasRoom =
      kept.length < AGENT_UPDATES_HELD_MAX && this.#early.size < AGENT_SESSIONS_HELD_MAX;
    if (this.#arriving === 0 || !hasRoom) {
      this.#faults.add("unknown_session", id);
      return;
    }
    kept.push(update);
    this.#early.set(id, kept);
  }

  async #watch(): Promise<AgentExit & { readonly message: string }> {
    // An agent that has closed its output can say nothing any more, so it is of no use.
    await this.connection.ended;
    const exit = await this.process.end();
    const gone = { ...exit, message: this.process.said };
    for (const session of [...this.#sessions]) {
      await session.lost();
      session.listener.exit(gone);
    }
    return gone;
  }
}

function isUpdate(update: JsonObject): update is AgentUpdate {
  return isObject(update) && typeof update.sessionUpdate === "string";
}
