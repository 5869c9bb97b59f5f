import type { AgentUpdate, ContentBlock } from "../core/agent-update.ts";
import type { TenantId, TurnId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { AskKind, AskOption, AskOutcome } from "../core/policy/ask.ts";
import type { Result } from "../core/result.ts";
import type { AgentStatusReport } from "../core/session/command.ts";
import type { AgentContext, AgentExit } from "../core/session/event.ts";
import type { ContextUsage } from "../core/turn.ts";

/**
 * What the session runtime knows of agents. It asks for one by its profile's name, tells it what
 * to do, and hears what it says; processes, pools and the protocol are behind this file.
 */
export interface Agents {
  /**
   * Connects a session to an agent: from the pool where one has room, else by a fresh process.
   * It answers when the agent can take a prompt; `listener` hears `created` before and `connected`
   * with it. The session's earlier context comes back by the best way this agent offers.
   */
  connect(order: AgentOrder, listener: AgentListener): Promise<Result<AgentSession>>;
  /** Starts a process before anybody needs it. Failing is no harm: the next order says why. */
  preheat(tenantId: TenantId, profile: string, workspace: string): Promise<void>;
  /** Ends every process, politely and then not. Nothing is left when it answers. */
  shutdown(): Promise<void>;
}

/** What a session wants of its agent. */
export interface AgentOrder {
  readonly tenantId: TenantId;
  readonly profile: string;
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

/** One session's hold on an agent. After its end every call is refused with `agent_gone`. */
export interface AgentSession {
  readonly agentSessionId: string;
  /** How the earlier context came back. */
  readonly context: AgentContext;
  /** Modes, options and the like, as the agent offered them with the session. */
  readonly offer: AgentOffer;

  /**
   * Gives it a prompt. The listener hears `turn_started`, what the agent says, and then exactly
   * one `turn_complete` or `turn_error`, unless the agent exits first.
   */
  prompt(turn: AgentTurn): void;
  /** Adds to the turn at work, where the agent can take that. */
  steer(content: readonly ContentBlock[]): Result<void>;
  /** Asks it to stop the turn; the verdict still comes from the agent, if it comes. */
  cancel(): void;
  setModel(modelId: string): Promise<Result<void>>;
  setMode(modeId: string): Promise<Result<void>>;
  setConfigOption(configId: string, value: string | boolean): Promise<Result<void>>;
  /** The agent's own list of its sessions in this directory, as it came. */
  listSessions(): Promise<Result<readonly JsonObject[]>>;
  /** The agent's name for a copy of this session; refused where it cannot make one. */
  fork(): Promise<Result<string>>;
  /** Lets go of it. The process stays if others use it or may want it. */
  close(): Promise<void>;
  /** Ends its process at once: for an agent that does not stop when it is told to. */
  kill(): Promise<void>;
}

export interface AgentTurn {
  readonly turnId: TurnId;
  readonly content: readonly ContentBlock[];
  /** What else goes into the request, such as `_meta`. */
  readonly params: JsonObject | null;
}

export interface AgentOffer {
  readonly agentName: string | null;
  readonly agentVersion: string | null;
  readonly capabilities: JsonObject;
  readonly modes: JsonObject | null;
  readonly configOptions: readonly JsonObject[];
  /** Whether a further prompt may be sent while one is at work. */
  readonly canSteer: boolean;
  /** What was asked for and this agent cannot take, with the reason: said, and not passed over. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[];
}

/** What a session hears of its agent. Calls come in the order in which the agent spoke. */
export interface AgentListener {
  status(report: AgentStatusReport): void;
  /** While the promise is open nothing more is read from this agent: that is the backpressure. */
  update(update: AgentUpdate): Promise<void> | undefined;
  usage(turnId: TurnId, usage: ContextUsage): void;
  /**
   * A permission or a question: seed 003's `question_requested`, and its answer is
   * `approval_resolved`. It answers when the ask has ended, however it did, and never rejects. The
   * signal fires if the agent does not want an answer any more, or is gone.
   */
  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer>;
  /** The agent's process is gone, and this session with it. */
  exit(exit: AgentExit & { readonly message: string }): void;
  /** A file or terminal is about to be touched; the act waits until this is durable. */
  audit(act: string, details: JsonObject): Promise<void>;
}

export interface AgentAsk {
  readonly kind: AskKind;
  readonly toolCall: JsonObject;
  /** What the agent said of the call before: an ask may name it and say no more. */
  readonly known: JsonObject;
  readonly options: readonly AskOption[];
}

export interface AskAnswer {
  readonly outcome: AskOutcome;
  /** A question's fields, as a person filled them in. */
  readonly answers?: Readonly<Record<string, string>>;
}
