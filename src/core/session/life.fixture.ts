import { type ConnectionState, connectionStateOf } from "../connection-state.ts";
import {
  type ClientId,
  parseAskId,
  parseChildId,
  parseClientId,
  parsePromptId,
  parseSessionId,
  parseShellId,
  parseTurnId,
  parseUserId,
} from "../id.ts";
import type { Actor, Command, CommandData, CommandType, NewAsk, NewPrompt } from "./command.ts";
import { decide } from "./decide.ts";
import type { Decision } from "./draft.ts";
import type { EventType, SessionEvent } from "./event.ts";
import { parseSessionName } from "./name.ts";
import type { Creation, Session } from "./state.ts";

/** Ids for tests, checked like all others. */
const checked =
  <Id>(parse: (text: string) => Id | null) =>
  (text: string): Id => {
    const id = parse(text);
    if (id === null) throw new Error(`"${text}" is no id`);
    return id;
  };
export const sessionId = checked(parseSessionId);
export const promptId = checked(parsePromptId);
export const turnId = checked(parseTurnId);
export const askId = checked(parseAskId);
export const clientId = checked(parseClientId);
export const shellId = checked(parseShellId);
export const childId = checked(parseChildId);
export const userId = checked(parseUserId);
export const sessionName = checked(parseSessionName);

export const SERVER: Actor = { kind: "server" };
/** Stands for the session's present agent, whichever that is when the command is given. */
export const AGENT: Actor = { kind: "agent", activation: -1 };

export function client(id: ClientId | string | null): Actor {
  const named = id === null ? null : clientId(id);
  return { kind: "client", clientId: named, userId: null, loopback: true };
}

export const CREATION: Creation = {
  workspaceCwd: "/workspace",
  scope: "single",
  securityMode: "ask",
  allowlist: [],
  storeId: "memory",
  source: null,
  parentSessionId: null,
  activeAgent: "echo",
  modelConfig: { modelId: null },
  skills: { version: 1, hash: "skills" },
  persona: { version: 1, hash: "persona" },
  approvalMode: "default",
  displayName: null,
  autonomyProfile: null,
  budgetMicro: null,
};

export function newPrompt(id: string, more: Partial<NewPrompt> = {}): NewPrompt {
  return {
    promptId: promptId(id),
    content: [{ type: "text", text: `say ${id}` }],
    deadlineAtMs: null,
    idempotency: null,
    lastEventId: 0,
    params: null,
    echo: true,
    ...more,
  };
}

export function newAsk(id: string, more: Partial<NewAsk> = {}): NewAsk {
  return {
    requestId: askId(id),
    kind: "permission",
    toolCall: { toolCallId: "call", kind: "edit", title: "Edit", locations: [{ path: "/a.ts" }] },
    known: {},
    options: [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "always", name: "Always allow", kind: "allow_always" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ],
    workflow: null,
    policy: "first-responder",
    quorum: null,
    present: [],
    deadlineAtMs: null,
    ...more,
  };
}

export const noCredit = (id: string) => ({ turnId: turnId(id), reservedMicro: 0, price: null });

/** A session that lives through commands, one after the other, and remembers what they came to. */
export class Life {
  session: Session | null = null;
  nowMs = 1_000;
  readonly log: SessionEvent[] = [];

  /** Gives a command and returns what it came to; the session has it behind it then. */
  give<Type extends CommandType>(
    type: Type,
    data: Readonly<CommandData[Type]>,
    actor: Actor = SERVER,
  ): Decision {
    this.nowMs += 1;
    const activation = this.session?.activation ?? 0;
    const present: Actor = actor === AGENT ? { kind: "agent", activation } : actor;
    return this.submit({ type, atMs: this.nowMs, actor: present, ...data } as Command);
  }

  submit(command: Command): Decision {
    const decision = decide(this.session, command);
    this.session = decision.session;
    this.log.push(...decision.events);
    return decision;
  }

  created(more: Partial<Creation> = {}): this {
    this.give("create", { sessionId: sessionId("s"), creation: { ...CREATION, ...more } });
    return this;
  }

  activating(more: Partial<Creation> = {}): this {
    this.created(more).give("activate", {});
    return this;
  }

  ready(more: Partial<Creation> = {}): this {
    this.activating(more);
    const report = { status: "connected", agentSessionId: "agent-1", context: "new" } as const;
    this.give("agent_status", report, AGENT);
    return this;
  }

  /** With prompt `p1` at work in turn `t1`. */
  running(more: Partial<Creation> = {}): this {
    this.ready(more).give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, client(null));
    return this;
  }

  /** With ask `a1` open. */
  waiting(more: Partial<Creation> = {}): this {
    this.running(more).give("ask", newAsk("a1"), AGENT);
    return this;
  }

  deactivating(): this {
    this.ready().give("agent_status", { status: "terminating" }, AGENT);
    return this;
  }

  error(): this {
    this.ready().give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    return this;
  }

  attached(...ids: readonly string[]): this {
    for (const id of ids) this.give("attach", { clientId: clientId(id), idle: [] }, client(null));
    return this;
  }

  prompt(id: string, more: Partial<NewPrompt> = {}): Decision {
    return this.give("prompt", newPrompt(id, more), client(null));
  }

  begin(prompt: string, turn: string): Decision {
    return this.give("begin_turn", { promptId: promptId(prompt), start: noCredit(turn) });
  }

  complete(turn: string, stopReason = "end_turn"): Decision {
    const report = { status: "turn_complete", turnId: turnId(turn), stopReason } as const;
    return this.give("agent_status", report, AGENT);
  }

  says(text: string, more: Readonly<Record<string, unknown>> = {}): Decision {
    const content = { type: "text", text };
    const update = { sessionUpdate: "agent_message_chunk", content, ...more };
    return this.give("agent_update", { update }, AGENT);
  }

  /** The session, which must exist. */
  get now(): Session {
    if (this.session === null) throw new Error("there is no session yet");
    return this.session;
  }

  get state() {
    return this.now.connection.sessionState;
  }

  get turn() {
    return this.now.connection.turn;
  }

  /** The published view of the session. */
  get view(): ConnectionState {
    return connectionStateOf(this.now, this.log);
  }
}

export const types = ({ events }: Decision) => events.map((event) => event.type);

/** The code of a refusal, or the word for acceptance. */
export const verdictOn = (decision: Decision) =>
  decision.kind === "refused" ? decision.refusal.code : decision.kind;

/** The status changes among some events, as `from > to`. */
export function steps(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === "session_status" ? [`${event.data.from} > ${event.data.to}`] : [],
  );
}

/** The data of the events of one type. */
export function dataOf<Type extends EventType>(events: readonly SessionEvent[], type: Type) {
  const isOfType = (event: SessionEvent): event is SessionEvent<Type> & SessionEvent =>
    event.type === type;
  return events.filter(isOfType).map(({ data }): SessionEvent<Type>["data"] => data);
}
