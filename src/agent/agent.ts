import type { AgentUpdate, ContentBlock } from "../core/agent-update.ts";
import type { Refusal } from "../core/error.ts";
import type { SessionId, TenantId, TurnId, UserId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { Access } from "../core/policy/access.ts";
import type { AskKind, AskOption, AskOutcome } from "../core/policy/ask.ts";
import type { Result } from "../core/result.ts";
import type { AgentStatusReport } from "../core/session/command.ts";
import type { UsageSuspicion } from "../core/session/credit-event.ts";
import type { AgentContext, AgentExit } from "../core/session/event.ts";
import type { AskEnd } from "../core/session/reason.ts";
import type { ModelPart, ModelSetting } from "../core/session/state.ts";
import type { ContextUsage } from "../core/turn.ts";

/**
 * All that the session layer knows of agents. It connects to one by its profile's name, sends it
 * prompts and listens to it; processes, pools and the protocol are behind this file.
 */
export interface Agents {
  /**
   * Connects a session to an agent: in a running process with capacity, else in a new one. It
   * resolves when the agent can take a prompt; `listener` gets `created` before that, and
   * `connected` just before. The agent restores the session's earlier context by the best way it
   * has. If it dies of that, the pool tries once more and sends the context as text.
   *
   * The signal ends the attempt: the call resolves with `agent_connect_aborted` at once, and the
   * listener is not called again. A process that is starting goes on, and is kept like an unused
   * one. After `connected` the signal has no effect; use `close`.
   */
  connect(
    request: ConnectRequest,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>>;
  /** Starts a process in advance. A failure is ignored: the next `connect` reports it. */
  preheat(tenantId: TenantId, profile: string, workspace: string): Promise<void>;
  /**
   * Ends every process of a tenant, also starting ones, and forgets their failures. Listeners of
   * connected sessions get `exit`.
   */
  dismiss(tenantId: TenantId): Promise<void>;
  /** Removes the homes of a deleted tenant's users. False if something of them is left. */
  forget(tenantId: TenantId): Promise<boolean>;
  /**
   * Ends every process, first by request and then by force; starting ones at once. None is left
   * when it resolves, and none is started any more.
   */
  shutdown(): Promise<void>;
}

/** For whom an agent is called outside of any session. */
export type AgentCaller = Pick<
  ConnectRequest,
  "tenantId" | "userId" | "profile" | "workspace" | "asks"
>;

/** Calls to agents that belong to no session of the server. */
export interface OwnAgentCalls {
  /**
   * The agent's own list of its sessions in this workspace, as it gave it. Only the operator gets
   * that of a home that users share.
   */
  list(caller: AgentCaller, isOperator: boolean): Promise<Result<readonly JsonObject[]>>;
  /** Signs the agent out. Only the operator may do so in a home that users share. */
  logout(caller: AgentCaller, isOperator: boolean): Promise<Result<void>>;
  /** Has the agent delete its copy of a session. Never rejects. */
  delete(caller: AgentCaller, agentSessionId: string): Promise<CopyDeletion>;
}

/** Later is when the agent runs again; dropped, because too many wait or the tenant is deleted. */
export type CopyDeletion = "deleted" | "later" | "failed" | "dropped";

/** What a session needs of its agent. */
export interface ConnectRequest {
  readonly tenantId: TenantId;
  /** Whose keys and home the agent gets: the user who made the session; null is the tenant. */
  readonly userId: UserId | null;
  /** The session, where it may be restored later by the agent's id for it. */
  readonly owner?: SessionId;
  readonly profile: string;
  /** Whether the agent is started so that it asks before it acts, where its profile says how. */
  readonly asks: boolean;
  /** The directory that the agent may read and write in. */
  readonly workspace: string;
  /** The agent's working directory inside the workspace. */
  readonly cwd: string;
  /** In ACP's format. */
  readonly mcpServers: readonly JsonObject[];
  /**
   * The MCP server with the tools of this one session, in the same format; null for none. A copy
   * of the session does not get it.
   */
  readonly toolbox?: JsonObject | null;
  readonly systemPrompt: string | null;
  /** The conversation so far; null for a new session. */
  readonly past: AgentPast | null;
}

export interface AgentPast {
  /** The agent's own id for the session; null if this agent never had one. */
  readonly agentSessionId: string | null;
  /** The messages, newest first; read only if the agent cannot restore them itself. */
  messages(): AsyncIterable<PastMessage>;
}

export interface PastMessage {
  readonly role: "user" | "agent";
  readonly text: string;
}

/**
 * One session at an agent. It is over when it was closed, when its process has ended, or when its
 * listener failed; then every call is refused with `agent_gone`, and `cancel`, `close` and `kill`
 * do nothing.
 */
export interface AgentSession {
  readonly agentSessionId: string;
  /** How the agent restored the earlier context. */
  readonly context: AgentContext;
  /** Modes, options and the like, as the agent offered them with the session. */
  readonly offer: AgentOffer;

  /**
   * Sends a prompt. The listener gets `turn_started`, the agent's updates, and then exactly one
   * `turn_complete` or `turn_error`, unless the session is over first: after `exit` or `close` no
   * verdict comes. A refused prompt starts no turn: `session_busy` while another turn runs,
   * `agent_busy` while the agent does not read.
   */
  prompt(turn: AgentTurn): Result<void>;
  /**
   * Adds to the running turn, where the agent can take that; the agent decides whether it does so
   * now or afterwards. The turn's verdict comes when the agent has answered all of it. Without a
   * turn it is refused with `no_turn_running`.
   */
  steer(content: readonly ContentBlock[]): Result<void>;
  /**
   * Asks the agent to stop the turn, if there is one; the verdict still comes from the agent. The
   * caller has to answer the open asks as cancelled: agents wait for that.
   */
  cancel(): void;
  /**
   * Sets these one after the other, by the agent's options for them: all or none. If the agent
   * refuses one, the earlier ones are restored.
   */
  setModelConfig(parts: readonly ModelPart[]): Promise<ModelRefusal | null>;
  setMode(modeId: string): Promise<Result<void>>;
  setConfigOption(configId: string, value: string | boolean): Promise<Result<void>>;
  /** The setting of the model that this option is; null for any other. */
  modelSettingOf(configId: string): ModelSetting | null;
  /** The agent's id for a copy of this session; refused where it cannot make one. */
  fork(): Promise<Result<string>>;
  /**
   * Releases the agent: the listener gets `terminating`, perhaps further updates, and
   * `terminated`, even if the process ends meanwhile. A running turn is cancelled and may get no
   * verdict. The process stays for other sessions. It gets no further ones, and ends with its
   * last, if the turn has not settled or if the agent could not close
   * `AGENT_SESSIONS_FORGOTTEN_MAX` sessions; a turn that goes on for `AGENT_STRAY_TURN_MS_MAX`
   * ends it sooner.
   */
  close(): Promise<void>;
  /**
   * Ends the process at once, for an agent that does not stop when asked. All sessions of that
   * process are lost, and their listeners get `exit`.
   */
  kill(): Promise<void>;
}

/** Which part of a model's configuration the agent refused, and why. */
export interface ModelRefusal {
  readonly part: ModelPart;
  readonly refusal: Refusal;
  /** What could not be restored. */
  readonly unrestored: readonly UnrestoredSetting[];
}

/** A setting that could not be restored to its earlier value. */
export interface UnrestoredSetting {
  readonly setting: ModelSetting;
  /** The earlier value; null if the agent never reported it. */
  readonly value: string | boolean | null;
  readonly refusal: Refusal;
}

export interface AgentTurn {
  readonly turnId: TurnId;
  readonly content: readonly ContentBlock[];
  /** Further parameters of the request, such as `_meta`. */
  readonly params: JsonObject | null;
  /** A slash command of the agent: no text may stand in front of it. */
  readonly isCommand?: boolean;
}

export interface AgentOffer {
  readonly agentName: string | null;
  readonly agentVersion: string | null;
  readonly capabilities: JsonObject;
  readonly modes: JsonObject | null;
  readonly configOptions: readonly JsonObject[];
  /** Models as ACP listed them before there were options; null for an agent without that list. */
  readonly models?: JsonObject | null;
  /** The model that the agent reports, as an option or in the older way; null if none. */
  readonly model?: string | null;
  /** Whether the agent takes a system prompt apart from the conversation. */
  readonly takesSystemPrompt: boolean;
  /** Whether the agent takes a further prompt while one is running. */
  readonly canSteer: boolean;
  /** What the session needs and this agent cannot take, with the reason. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[];
}

/**
 * Receives what an agent does in one session. Calls come in the agent's order, and none after the
 * session is over. If a call throws or its promise rejects, the session is over: the agent is told
 * to stop and close it, `exit` is the last call, and the failure is reported as a fault. The
 * process and its other sessions go on.
 */
export interface AgentListener {
  /** The session can be used from now on. */
  connected(session: AgentSession): void;
  status(report: Exclude<AgentStatusReport, { readonly status: "connected" }>): void;
  /**
   * While the promise is open nothing more of this session is delivered. Updates wait, up to
   * `AGENT_QUEUE_CHARS_MAX`; beyond that nothing is read from the whole process, and the timeouts
   * of control calls stand still. So resolve it when the update is durable or when the session's
   * actor is dropped, and never wait in it for something that this agent has to do first, be it a
   * verdict, a close, a control call, or another session of its process.
   */
  update(update: AgentUpdate): Promise<void> | undefined;
  usage(turnId: TurnId, usage: ContextUsage): void;
  /** Figures that the agent reported cannot be right, in a turn or outside of any. */
  usageSuspect(suspicion: UsageSuspicion): void;
  /**
   * The agent asks for a permission or has a question. It resolves when the ask has ended, however
   * it did, and never rejects. The signal fires if the agent withdraws the ask (`WITHDRAWN`), if
   * its process ends, or when the session is over.
   */
  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer>;
  /**
   * The agent wants to run a command, or to write or read a file. The server does nothing before
   * this allows it. It resolves as soon as it is decided, or known that people have to decide;
   * later updates of the agent wait for that, and not for people. The signal is that of an ask,
   * and it never rejects. An agent may need a file to restore a session, so this may come before
   * `connected`.
   */
  access(access: Access, signal: AbortSignal): Promise<AccessDecision>;
  /**
   * The agent fetches what was said into its turn. It resolves when that is durable, so that no
   * message is given twice, and never rejects.
   */
  takeMessages(): Promise<readonly TakenMessage[]>;
  /** Whether something waits for the end of the turn. */
  hasQueuedPrompt(): boolean;
  /**
   * The agent's process has ended, or the session was given up because this listener failed. The
   * pool knows already: the session may connect again from here.
   */
  exit(gone: AgentGone): void;
  /**
   * The server is about to use a file or terminal for the agent; it waits until this is durable,
   * and so do later updates. This too may come before `connected`.
   */
  audit(act: string, details: JsonObject): Promise<void>;
}

/** How an agent's process ended, with the end of its error output. */
export type AgentGone = AgentExit & { readonly message: string };

export interface TakenMessage {
  readonly messageId: string;
  readonly content: readonly ContentBlock[];
}

export interface AgentAsk {
  readonly kind: AskKind;
  readonly toolCall: JsonObject;
  /** What the agent said of the tool call before: an ask may only name it. */
  readonly known: JsonObject;
  readonly options: readonly AskOption[];
  /** Where the call wants the server to write, outside of what is open to agents. */
  readonly outside?: string;
}

export interface AccessAnswer {
  readonly allowed: boolean;
  /** Why not, for the agent to read. */
  readonly reason: string;
}

export type AccessDecision = AccessAnswer | { readonly people: Promise<AccessAnswer> };

export interface AskAnswer {
  readonly outcome: AskOutcome;
  /** The fields of a question, as a person filled them in. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Why a guard has refused it, for the agent to read. */
  readonly reason?: string;
  /** How it ended; absent if it was never put to people. */
  readonly ended?: AskEnd;
}
