import { type AgentUpdate, chunkText, parentToolCallId } from "../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../core/json.ts";
import type { TurnCost } from "../core/session/credit-event.ts";
import type { EventType, SessionEvent } from "../core/session/event.ts";
import type { ExecutionOutcome } from "../core/session/workflow.ts";
import type { ChildState } from "../core/turn.ts";
import type { TurnErrorCode } from "../core/turn-error.ts";
import { AskHandle, choicesOf } from "./ask-handle.ts";
import type { Transport } from "./transport.ts";

/** A tool call of the agent. The same object in all its states. */
export interface ToolCallPart {
  readonly toolCallId: string;
  title: string;
  kind: string;
  status: string;
  /** What its commands have written so far. */
  output: string;
  /** All that the agent says of it: `content`, `locations`, `rawInput`, `rawOutput`, … */
  details: JsonObject;
}

/** A child session: a task that the agent has delegated. The same object as long as it works. */
export interface ChildSessionPart {
  readonly childId: string;
  readonly title: string;
  readonly agent: string;
  readonly task: string;
  /** Null while it is at work. */
  state: ChildState | null;
  /** What it came to; empty while it is at work. */
  text: string;
  /** All that it said, did and asked; texts whole. */
  readonly parts: readonly TurnPart[];
  /** What it waits for an answer to. */
  readonly asks: readonly AskHandle[];
}

/** The stage of a workflow that the turn is an execution of. The same object in all its states. */
export interface StagePart {
  /** One; or two and more that run together, each of which is a child of the turn. */
  readonly stages: readonly string[];
  readonly attempt: number;
  /** What the agent is told; empty until then, and where children are told theirs. */
  prompt: string;
  /** Null while it is at work. */
  outcome: ExecutionOutcome | null;
  /** Why it ended so, for people; empty where the workflow gives none. */
  reason: string;
}

/** What a turn consists of, in order. */
export type TurnPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "tool"; readonly call: ToolCallPart }
  | { readonly type: "ask"; readonly ask: AskHandle }
  | { readonly type: "child"; readonly child: ChildSessionPart }
  | { readonly type: "stage"; readonly stage: StagePart }
  | { readonly type: "plan"; readonly entries: readonly unknown[] }
  | { readonly type: "usage"; readonly usage: JsonObject }
  /** All else that belongs to the turn, also of types that this client does not know. */
  | { readonly type: "event"; readonly event: SessionEvent };

/** How a turn ended. */
export type VerdictValue =
  | {
      readonly kind: "complete";
      /** `end_turn`, `cancelled`, `max_tokens`, …: the agent's word. */
      readonly stopReason: string;
      /** What the agent said after its last tool call. */
      readonly text: string;
      /** What it has cost; null if it had no price. */
      readonly cost: TurnCost | null;
    }
  | {
      readonly kind: "error";
      /** A row of "Turn errors" in docs/errors.md, or the agent's own code. */
      readonly code: TurnErrorCode | (string & {});
      readonly message: string;
      /** What it said before. */
      readonly text: string;
      readonly cost: TurnCost | null;
    };

/** A part as the fold keeps it: texts grow, and objects change in place. */
type KeptPart =
  | { type: "text" | "thought"; text: string }
  | Exclude<TurnPart, { readonly type: "text" | "thought" }>;

interface KeptChild {
  readonly fold: TurnFold;
  readonly part: Extract<KeptPart, { type: "child" }>;
}

/** The events of one turn, or of one child in it, put together as clients show it. */
export class TurnFold {
  readonly #transport: Transport;
  /** Null for the turn itself. */
  readonly #childId: string | null;
  readonly #children = new Map<string, KeptChild>();
  readonly #parts: KeptPart[] = [];
  readonly #calls = new Map<string, Extract<KeptPart, { type: "tool" }>>();
  readonly #asks = new Map<string, Extract<KeptPart, { type: "ask" }>>();
  readonly #latest = new Map<string, KeptPart>();
  #stage: Extract<KeptPart, { type: "stage" }> | null = null;
  verdict: VerdictValue | null = null;

  constructor(transport: Transport, childId: string | null = null) {
    this.#transport = transport;
    this.#childId = childId;
  }

  /** Texts whole, in order. */
  get parts(): readonly TurnPart[] {
    return this.#parts;
  }

  /** Those of its children included. */
  get openAsks(): readonly AskHandle[] {
    const own = [...this.#asks.values()].flatMap(({ ask }) => (ask.outcome === null ? [ask] : []));
    return [...own, ...[...this.#children.values()].flatMap(({ fold }) => fold.openAsks)];
  }

  /** Adds one more event of the turn; returns the part that it changed, if it did. */
  add(event: SessionEvent): TurnPart | null {
    const { childId = null } = event;
    if (childId !== null && childId !== this.#childId) return this.#ofChild(event, childId);
    switch (event.type) {
      case "session_update":
        return this.#update(event, event.data.update);
      case "permission_request":
        return this.#ask(event.data);
      case "permission_resolved":
        return this.#resolved(event.data);
      case "stage_started":
        return this.#stageStarted(event.data);
      case "stage_ended":
        return this.#stageEnded(event.data);
      case "turn_complete":
      case "turn_error":
        this.verdict ??= this.#verdictOf(event);
        return null;
      default:
        return BOOKKEEPING.has(event.type) ? null : this.#push({ type: "event", event });
    }
  }

  /**
   * Goes on with a turn that was told anew, in fewer and larger pieces: what is known already is
   * not added again.
   */
  addAgain(all: readonly SessionEvent[]): readonly TurnPart[] {
    const events = all.filter(({ childId = null }) => childId === this.#childId);
    const whole = new TurnFold(this.#transport, this.#childId);
    for (const event of events) whole.add(event);
    const changed: (TurnPart | null)[] = [];
    for (const type of ["thought", "text"] as const) {
      const known = this.#textOf(type);
      const all = whole.#textOf(type);
      if (all.length > known.length && all.startsWith(known)) {
        changed.push(this.#text(type, all.slice(known.length)));
      }
    }
    for (const event of events) {
      const isText = event.type === "session_update" && TEXTS.has(event.data.update.sessionUpdate);
      const isKnown = event.type !== "session_update" && !AGAIN.has(event.type);
      if (!isText && !isKnown) changed.push(this.add(event));
    }
    if (this.#childId === null) changed.push(...this.#childrenAgain(all));
    this.verdict ??= whole.verdict;
    return [...new Set(changed)].filter((part) => part !== null);
  }

  #ofChild(event: SessionEvent, childId: string): TurnPart | null {
    const known = this.#children.get(childId);
    if (event.type === "child_session_started") {
      return known?.part ?? this.#newChild(event.data);
    }
    // Of one that began before all that is told here there is nothing to add to.
    if (known === undefined) return this.#push({ type: "event", event });
    const { fold, part } = known;
    if (event.type !== "child_session_ended") return fold.add(event) === null ? null : part;
    part.child.state = event.data.state;
    part.child.text = event.data.text;
    return part;
  }

  #newChild({ childId, title, agent, task }: SessionEvent<"child_session_started">["data"]) {
    const fold = new TurnFold(this.#transport, childId);
    const child: ChildSessionPart = {
      ...{ childId, title, agent, task, state: null, text: "", parts: fold.parts },
      get asks() {
        return fold.openAsks;
      },
    };
    const part = { type: "child" as const, child };
    this.#children.set(childId, { fold, part });
    return this.#push(part);
  }

  #childrenAgain(all: readonly SessionEvent[]): readonly (TurnPart | null)[] {
    const ids = new Set(all.flatMap(({ childId }) => childId ?? []));
    return [...ids].flatMap((id) => {
      const events = all.filter(({ childId }) => childId === id);
      const known = this.#children.get(id);
      if (known === undefined) return events.map((event) => this.add(event));
      known.fold.addAgain(events);
      const ends = events.filter(({ type }) => type === "child_session_ended");
      return [known.part, ...ends.map((event) => this.add(event))];
    });
  }

  #textOf(type: "text" | "thought"): string {
    return this.#parts.map((part) => (part.type === type ? part.text : "")).join("");
  }

  #update(event: SessionEvent, update: AgentUpdate): TurnPart | null {
    // What a sub-agent of the agent's own says is not said by the agent.
    const isOwn = parentToolCallId(update) === this.#childId;
    if (!isOwn && TEXTS.has(update.sessionUpdate)) return this.#push({ type: "event", event });
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#text("text", chunkText(update) ?? "");
      case "agent_thought_chunk":
        return this.#text("thought", chunkText(update) ?? "");
      case "user_message_chunk":
        return this.#stagePrompted(chunkText(update) ?? "");
      case "tool_call":
      case "tool_call_update":
        return this.#tool(update);
      case "plan": {
        const { entries } = update;
        return this.#replace("plan", {
          type: "plan",
          entries: Array.isArray(entries) ? entries : [],
        });
      }
      case "usage_update":
        return this.#replace("usage", { type: "usage", usage: update });
      default:
        return this.#push({ type: "event", event });
    }
  }

  #text(type: "text" | "thought", text: string): TurnPart | null {
    if (text === "") return null;
    const last = this.#parts.at(-1);
    if (last?.type !== type) return this.#push({ type, text });
    last.text += text;
    return last;
  }

  #tool(update: AgentUpdate): TurnPart | null {
    const toolCallId = stringAt(update, "toolCallId");
    if (toolCallId === null) return null;
    const known = this.#calls.get(toolCallId);
    const start = { title: "", kind: "other", status: "pending", output: "", details: {} };
    const part = known ?? { type: "tool" as const, call: { toolCallId, ...start } };
    const { call } = part;
    call.title = stringAt(update, "title") ?? call.title;
    call.kind = stringAt(update, "kind") ?? call.kind;
    call.status = stringAt(update, "status") ?? call.status;
    call.output += pieceOf(update);
    const { sessionUpdate: _, _meta: __, ...details } = update;
    call.details = { ...call.details, ...details };
    if (known !== undefined) return known;
    this.#calls.set(toolCallId, part);
    return this.#push(part);
  }

  #ask({ sessionId, requestId, kind, toolCall, options }: AskEventData): TurnPart | null {
    if (this.#asks.has(requestId)) return null;
    const title = stringAt(toolCall, "title") ?? "";
    const facts = { sessionId, requestId, kind, title, details: toolCall };
    const ask = new AskHandle(this.#transport, { ...facts, options: choicesOf(options) });
    const part = { type: "ask" as const, ask };
    this.#asks.set(requestId, part);
    return this.#push(part);
  }

  #resolved({ requestId, outcome }: SessionEvent<"permission_resolved">["data"]): TurnPart | null {
    const asked = this.#asks.get(requestId);
    if (asked === undefined || asked.ask.outcome !== null) return null;
    asked.ask.resolved(outcome);
    return asked;
  }

  #stageStarted({ stages, attempt }: SessionEvent<"stage_started">["data"]): TurnPart | null {
    if (this.#stage !== null) return null;
    const stage = { stages, attempt, prompt: "", outcome: null, reason: "" };
    this.#stage = { type: "stage", stage };
    return this.#push(this.#stage);
  }

  /** A turn that is told anew has only the words that people are shown. */
  #stagePrompted(text: string): TurnPart | null {
    if (this.#stage === null || this.#stage.stage.prompt !== "") return null;
    this.#stage.stage.prompt = text;
    return this.#stage;
  }

  #stageEnded({ outcome, reason = "" }: SessionEvent<"stage_ended">["data"]): TurnPart | null {
    if (this.#stage === null || this.#stage.stage.outcome !== null) return null;
    Object.assign(this.#stage.stage, { outcome, reason });
    return this.#stage;
  }

  #replace(name: string, part: Extract<KeptPart, { type: "plan" | "usage" }>): TurnPart {
    const known = this.#latest.get(name);
    this.#latest.set(name, part);
    const at = known === undefined ? -1 : this.#parts.indexOf(known);
    if (at < 0) return this.#push(part);
    this.#parts[at] = part;
    return part;
  }

  #push(part: KeptPart): TurnPart {
    this.#parts.push(part);
    return part;
  }

  #verdictOf(event: SessionEvent<"turn_complete" | "turn_error">): VerdictValue {
    const { cost = null } = event.data;
    const said = { text: this.#finalWords(), cost };
    if (event.type === "turn_complete") {
      return { kind: "complete", stopReason: event.data.stopReason, ...said };
    }
    const { code, message } = event.data;
    return { kind: "error", code, message, ...said };
  }

  #finalWords(): string {
    const lastCall = this.#parts.findLastIndex(({ type }) => type === "tool");
    const after = this.#parts.slice(lastCall + 1);
    return after.map((part) => (part.type === "text" ? part.text : "")).join("");
  }
}

type AskEventData = SessionEvent<"permission_request">["data"];

const TEXTS: ReadonlySet<string> = new Set(["agent_message_chunk", "agent_thought_chunk"]);

/** What may be told again: what is known of it is told by its id, and a turn has one stage. */
const AGAIN: ReadonlySet<string> = new Set<EventType>([
  "permission_request",
  "permission_resolved",
  "stage_started",
  "stage_ended",
]);

/** What belongs to a turn and is none of what people look at. */
const BOOKKEEPING: ReadonlySet<string> = new Set<EventType>([
  "prompt_admitted",
  "session_named",
  "pending_prompt_added",
  "pending_prompt_started",
  "pending_prompt_completed",
  "session_status",
  "session_lifecycle",
  "session_drift",
  "agent_connected",
  "agent_offer",
  "instructions_sent",
  "credits_reserved",
  "credits_settled",
  "child_usage_reported",
  "stage_prompted",
]);

/** One more piece of a command's output; agents have two names for it. */
function pieceOf(update: AgentUpdate): string {
  const meta = objectAt(update, "_meta");
  const piece = meta?.terminal_output ?? meta?.terminal_output_delta;
  return (isObject(piece) ? stringAt(piece, "data") : null) ?? "";
}
