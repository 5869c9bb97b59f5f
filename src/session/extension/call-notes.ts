import { type AgentUpdate, toolCallNews } from "../../core/agent-update.ts";
import { type JsonObject, stringAt, withoutNulls } from "../../core/json.ts";
import { EXTENSION_CALLS_FOLLOWED_MAX } from "../../core/limits.ts";
import { allows } from "../../core/policy/access.ts";
import type { AskOption, AskOutcome } from "../../core/policy/ask.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import type { HookName, ToolCallFacts } from "../../extension/hook.ts";
import { callFacts } from "./judged-calls.ts";

interface CallObserver {
  has(hook: HookName): boolean;
  note(hook: HookName, facts: object): void;
}

interface NotedAsk {
  readonly facts: ToolCallFacts;
  readonly options: readonly AskOption[];
}

/** Tells extensions how tool calls and asks of the turn at work have ended. */
export class CallNotes {
  readonly #observer: CallObserver;
  /** What the agent has said of its open calls; of too many at once, not the first ones. */
  readonly #calls = new Map<string, JsonObject>();
  readonly #asks = new Map<string, NotedAsk>();

  constructor(observer: CallObserver) {
    this.#observer = observer;
  }

  /** An event that is durable; `cwd` is where the agent works by then. */
  durable(event: SessionEvent, cwd: string) {
    if (event.type === "session_update") this.#update(event.data.update, cwd);
    else if (event.type === "permission_request") this.#asked(event, cwd);
    else if (event.type === "permission_resolved") this.#answered(event.data);
    else if (event.type === "turn_complete" || event.type === "turn_error") this.#calls.clear();
  }

  get #isFollowed(): boolean {
    return this.#observer.has("after_tool_call") || this.#observer.has("after_ask");
  }

  #update(update: AgentUpdate, cwd: string) {
    const { sessionUpdate: kind, ...said } = update;
    if (kind !== "tool_call" && kind !== "tool_call_update") return;
    const news = toolCallNews(update);
    if (news === null || !this.#isFollowed) return;
    const { toolCallId, status } = news;
    const call = { ...this.#calls.get(toolCallId), ...withoutNulls(said) };
    this.#calls.delete(toolCallId);
    if (status !== "open") {
      this.#observer.note("after_tool_call", { ...callFacts(call, cwd), status });
      return;
    }
    this.#calls.set(toolCallId, call);
    const [oldest] = this.#calls.keys();
    const isFull = this.#calls.size > EXTENSION_CALLS_FOLLOWED_MAX;
    if (isFull && oldest !== undefined) this.#calls.delete(oldest);
  }

  #asked({ data }: SessionEvent<"permission_request">, cwd: string) {
    const { requestId, kind, toolCall, options } = data;
    if (kind !== "permission" || !this.#observer.has("after_ask")) return;
    const known = this.#calls.get(stringAt(toolCall, "toolCallId") ?? "");
    const facts = callFacts({ ...known, ...withoutNulls(toolCall) }, cwd);
    this.#asks.set(requestId, { facts, options });
  }

  #answered({ requestId, outcome }: { readonly requestId: string; readonly outcome: AskOutcome }) {
    const ask = this.#asks.get(requestId);
    this.#asks.delete(requestId);
    if (ask === undefined) return;
    const isSelected = outcome.outcome === "selected";
    const chosen = allows(ask.options, outcome) ? "allowed" : "refused";
    this.#observer.note("after_ask", { ...ask.facts, answer: isSelected ? chosen : "cancelled" });
  }
}
