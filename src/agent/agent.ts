import type { AgentUpdate, ContentBlock } from "../core/agent-update.ts";
import type { Refusal } from "../core/error.ts";
import type { SessionId, TenantId, TurnId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { Access } from "../core/policy/access.ts";
import type { AskKind, AskOption, AskOutcome } from "../core/policy/ask.ts";
import type { Result } from "../core/result.ts";
import type { AgentStatusReport } from "../core/session/command.ts";
import type { AgentContext, AgentExit } from "../core/session/event.ts";
import type { ModelPart, ModelSetting } from "../core/session/state.ts";
import type { ContextUsage } from "../core/turn.ts";

/**
 * What the session runtime knows of agents. It asks for one by its profile's name, tells it what
 * to do, and hears what it says; processes, pools and the protocol are behind this file.
 */
export interface Agents {
  /**
   * Connects a session to an agent: from the pool where one has room, else by a fresh process.
   * It answers when the agent can take a prompt; `listener` hears `created` before, and
   * `connected` just before the answer. The session's earlier context comes back by the best way
   * this agent offers. One that dies of remembering is replaced once, by one that is told.
   *
   * The signal ends the attempt: it answers `agent_connect_aborted` at once, and the listener
   * hears no more. A process that was being started goes on, and waits for the next order as one
   * that nobody uses does. After `connected` the signal does nothing; then there is `close`.
   */
  connect(
    order: AgentOrder,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>>;
  /** Starts a process before anybody needs it. Failing is no harm: the next order says why. */
  preheat(tenantId: TenantId, profile: string, workspace: string): Promise<void>;
  /**
   * Ends every process of a tenant, those on their way too, and forgets what it had to put up with
   * from them. Sessions that are connected hear `exit`.
   */
  dismiss(tenantId: TenantId): Promise<void>;
  /**
   * Ends every process, politely and then not, and those on their way at once. Nothing is left
   * when it answers, and nothing is started any more.
   */
  shutdown(): Promise<void>;
}

/** What a session wants of its agent. */
export interface AgentOrder {
  readonly tenantId: TenantId;
  /** The session that it is for, where that may come back under the name the agent gives it. */
  readonly owner?: SessionId;
  readonly profile: string;
  /** Whether it is started so that it asks before it acts, where its profile says how. */
  readonly asks: boolean;
  /** The directory that the agent may read and write in. */
  readonly workspace: string;
  /** Where inside it the agent begins. */
  readonly cwd: string;
  /** As ACP has them. */
  readonly mcpServers: readonly JsonObject[];
  readonly systemPrompt: string | null;
  /** What the agent was told and said before, if this is not its first time. */
  readonly past: AgentPast | null;
}

export interface AgentPast {
  /** Its own name for the session; null if it never had one, or another agent did. */
  readonly agentSessionId: string | null;
  /** The conversation's messages, newest first, read only if the agent cannot remember itself. */
  messages(): AsyncIterable<PastMessage>;
}

export interface PastMessage {
  readonly role: "user" | "agent";
  readonly text: string;
}

/**
 * One session's hold on an agent. It is over when it was closed, when its process is gone, or when
 * its listener failed; then every call is refused with `agent_gone`, and `cancel`, `close` and
 * `kill` do nothing.
 */
export interface AgentSession {
  readonly agentSessionId: string;
  /** How the earlier context came back. */
  readonly context: AgentContext;
  /** Modes, options and the like, as the agent offered them with the session. */
  readonly offer: AgentOffer;

  /**
   * Gives it a prompt. The listener hears `turn_started`, what the agent says, and then exactly
   * one `turn_complete` or `turn_error`, unless the session is over first: after `exit`, or
   * `close`, no verdict comes. If it is refused there is no turn and nothing is heard:
   * `session_busy` while another turn is at work, `agent_busy` while the agent does not read.
   */
  prompt(turn: AgentTurn): Result<void>;
  /**
   * Adds to the turn at work, where the agent can take that: into what it does now or after it,
   * as it likes. The turn's verdict comes when the agent has answered all of it. Without a turn it
   * is refused with `no_turn_running`.
   */
  steer(content: readonly ContentBlock[]): Result<void>;
  /**
   * Asks it to stop the turn, if there is one; the verdict still comes from the agent, if it
   * comes. Whoever calls this answers the asks that are open as cancelled: agents wait for it.
   */
  cancel(): void;
  /**
   * Sets these one after the other, by the options that the agent has for them: all of them, or
   * none. If it refuses one, what it has taken before is set back to what it was.
   */
  setModelConfig(parts: readonly ModelPart[]): Promise<ModelRefusal | null>;
  setMode(modeId: string): Promise<Result<void>>;
  setConfigOption(configId: string, value: string | boolean): Promise<Result<void>>;
  /** The agent's own list of its sessions in this directory, as it came. */
  listSessions(): Promise<Result<readonly JsonObject[]>>;
  /** The agent's name for a copy of this session; refused where it cannot make one. */
  fork(): Promise<Result<string>>;
  /**
   * Lets go of it: the listener hears `terminating`, perhaps what the agent still says, and
   * `terminated`, even if the process goes meanwhile. A turn at work is cancelled and may get no
   * verdict any more. The process stays if others use it or may want it. If the turn has not
   * settled, or the agent could not close up to `AGENT_SESSIONS_FORGOTTEN_MAX` sessions before, it
   * gets no further ones and ends with its last; or sooner, if the turn goes on for longer than
   * `AGENT_STRAY_TURN_MS_MAX`.
   */
  close(): Promise<void>;
  /**
   * Ends its process at once: for an agent that does not stop when it is told to. Every other
   * session of that process is lost with it, and hears `exit` as this one does.
   */
  kill(): Promise<void>;
}

/** Which part of a model's configuration an agent did not take, and why. */
export interface ModelRefusal {
  readonly part: ModelPart;
  readonly refusal: Refusal;
  /** What could not be set back. */
  readonly adrift: readonly Adrift[];
}

/** A setting that is not what it was before, though it should be. */
export interface Adrift {
  readonly setting: ModelSetting;
  /** What it was; null if the agent never said. */
  readonly value: string | boolean | null;
  readonly refusal: Refusal;
}

export interface AgentTurn {
  readonly turnId: TurnId;
  readonly content: readonly ContentBlock[];
  /** What else goes into the request, such as `_meta`. */
  readonly params: JsonObject | null;
  /** A command of the agent's own: nothing stands in front of it, or it would be none. */
  readonly isCommand?: boolean;
}

export interface AgentOffer {
  readonly agentName: string | null;
  readonly agentVersion: string | null;
  readonly capabilities: JsonObject;
  readonly modes: JsonObject | null;
  readonly configOptions: readonly JsonObject[];
  /** Whether it has a place of its own for what it is told beside the conversation. */
  readonly takesSystemPrompt: boolean;
  /** Whether a further prompt may be sent while one is at work. */
  readonly canSteer: boolean;
  /** What was asked for and this agent cannot take, with the reason: said, and not passed over. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[];
}

/**
 * What a session hears of its agent. Calls come in the order in which the agent spoke, and none
 * after the session is over. If a call throws or its promise is broken, the session is over: the
 * agent is told to stop and close it, `exit` is heard and nothing after it, and the failure is
 * reported as a fault. Neither the process nor its other sessions are touched.
 */
export interface AgentListener {
  /** The session is there. Nothing was heard of it before, and from now on it can be called. */
  connected(session: AgentSession): void;
  status(report: Exclude<AgentStatusReport, { readonly status: "connected" }>): void;
  /**
   * While the promise is open nothing more of this session is told. Its words wait, up to
   * `AGENT_QUEUE_CHARS_MAX`; beyond that nothing is read from the whole process, and the time of
   * control calls stands still. So it is kept when the update is durable or when the session's
   * actor is dropped, and for nothing else: never wait in it for something that this agent has to
   * do first, be it a verdict, a close, a control call, or another session of its process.
   */
  update(update: AgentUpdate): Promise<void> | undefined;
  usage(turnId: TurnId, usage: ContextUsage): void;
  /**
   * A permission or a question: seed 003's `question_requested`, and its answer is
   * `approval_resolved`. It answers when the ask has ended, however it did, and never rejects. The
   * signal fires if the agent does not want an answer any more (`WITHDRAWN`), is gone, or the
   * session is over.
   */
  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer>;
  /**
   * The agent wants a command run, or a file written or read. Nothing is done before this allows
   * it. It answers as soon as it is decided, or known that people have to; what else the agent
   * says waits for that, and not for people. The signal is that of an ask, and it never rejects.
   * An agent may need a file to remember a session, so this may come before `connected`.
   */
  access(access: Access, signal: AbortSignal): Promise<AccessDecision>;
  /**
   * The agent's process is gone, and this session with it; or the session was given up because
   * this listener failed. The pool knows already: a session may be connected anew from here.
   */
  exit(exit: AgentExit & { readonly message: string }): void;
  /**
   * A file or terminal is about to be touched; the act waits until this is durable, and so does
   * what else the agent says. This too may come before `connected`.
   */
  audit(act: string, details: JsonObject): Promise<void>;
}

export interface AgentAsk {
  readonly kind: AskKind;
  readonly toolCall: JsonObject;
  /** What the agent said of the call before: an ask may name it and say no more. */
  readonly known: JsonObject;
  readonly options: readonly AskOption[];
}

export interface AccessAnswer {
  readonly allowed: boolean;
  /** Why not, in words for the agent. */
  readonly reason: string;
}

export type AccessDecision = AccessAnswer | { readonly people: Promise<AccessAnswer> };

export interface AskAnswer {
  readonly outcome: AskOutcome;
  /** A question's fields, as a person filled them in. */
  readonly answers?: Readonly<Record<string, string>>;
}
