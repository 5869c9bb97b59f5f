import type { AgentUpdate } from "../../core/agent-update.ts";
import { type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import {
  AGENT_NAME_CHARS_MAX,
  COMPACTIONS_REPEATED_MAX,
  PLAN_REPEATED_CHARS_MAX,
  PLANS_REPEATED_MAX,
} from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";

/** A plan that an agent has under an id: the text to repeat, or entries, which were repeated. */
type KnownPlan = { readonly text: string } | { readonly hasEntries: true };

/**
 * Repeats updates of newer kinds in kinds that every client shows, as agents do for clients that
 * do not announce them: a notice as text, a compaction as a tool call, a plan as `plan` or, since
 * agents send it again with each word, as text at the end of the turn. `_meta.repeats` names the
 * repeated kind, for clients that show that one. The agent's own update stays as it came.
 */
export class PlainUpdates {
  readonly #send: (update: AgentUpdate) => void;
  readonly #plans = new BoundedMap<string, KnownPlan>(PLANS_REPEATED_MAX);
  /** The ids of those that have not ended. */
  readonly #compactions = new BoundedMap<string, true>(COMPACTIONS_REPEATED_MAX);
  #texts = 0;

  constructor(send: (update: AgentUpdate) => void) {
    this.#send = send;
  }

  /** Called when the update is in the inbox: sends what has to follow it. */
  after(update: AgentUpdate) {
    switch (update.sessionUpdate) {
      case "notice":
        return this.#notice(update);
      case "compaction_update":
      case "compaction_summary_chunk":
        return this.#compaction(update);
      case "plan_update":
        return this.#plan(objectAt(update, "plan") ?? {});
      case "plan_removed":
        return this.#removePlan(stringAt(update, "planId") ?? "");
    }
  }

  /** Sends what is left before the verdict. */
  turnEnds() {
    for (const plan of this.#plans.values()) {
      if ("text" in plan) this.#text("plan_update", plan.text);
    }
    this.#plans.clear();
    this.#compactions.clear();
  }

  #notice(update: AgentUpdate) {
    const title = stringAt(update, "title")?.trim();
    if (!title) return;
    const description = stringAt(update, "description")?.trim();
    this.#text("notice", description ? `**${title}:** ${description}` : `**${title}**`);
  }

  #compaction(update: AgentUpdate) {
    const id = idAt(update, "compactionId");
    if (id === null) return;
    const status = COMPACTION_ENDS.get(stringAt(update, "status") ?? "") ?? "in_progress";
    const isKnown = this.#compactions.has(id);
    if (isKnown && status === "in_progress") return;
    const error = stringAt(update, "error");
    const content = error === null ? [] : [{ type: "content", content: textBlock(error) }];
    if (status === "in_progress") this.#compactions.set(id, true);
    else this.#compactions.delete(id);
    this.#send({
      sessionUpdate: isKnown ? "tool_call_update" : "tool_call",
      toolCallId: `compaction-${id}`,
      ...(!isKnown && { title: "Compacting the conversation", kind: "other" }),
      status,
      ...(content.length > 0 && { content }),
      _meta: { repeats: "compaction_update" },
    });
  }

  #plan(plan: JsonObject) {
    const planId = idAt(plan, "planId");
    if (planId === null) return;
    if (Array.isArray(plan.entries)) {
      this.#plans.set(planId, { hasEntries: true });
      return this.#entries(plan.entries);
    }
    const uri = stringAt(plan, "uri");
    const text = stringAt(plan, "content") ?? (uri === null ? "" : `Plan: ${uri}`);
    if (text.trim() === "") this.#plans.delete(planId);
    else this.#plans.set(planId, { text: shortened(text) });
  }

  #removePlan(planId: string) {
    const known = this.#plans.get(planId);
    this.#plans.delete(planId);
    if (known !== undefined && "hasEntries" in known) this.#entries([]);
  }

  #entries(entries: readonly unknown[]) {
    this.#send({ sessionUpdate: "plan", entries, _meta: { repeats: "plan_update" } });
  }

  /** As a message of its own, so that it does not join the answer. */
  #text(repeats: string, text: string) {
    this.#texts += 1;
    this.#send({
      sessionUpdate: "agent_message_chunk",
      messageId: `${repeats}-${this.#texts}`,
      content: textBlock(`\n\n${text}\n\n`),
      _meta: { repeats },
    });
  }
}

const COMPACTION_ENDS: ReadonlyMap<string, string> = new Map([
  ["completed", "completed"],
  ["failed", "failed"],
  ["cancelled", "failed"],
]);

/** An id of usual length: no other is kept. */
function idAt(said: JsonObject, key: string): string | null {
  const id = stringAt(said, key);
  return id !== null && id.length <= AGENT_NAME_CHARS_MAX ? id : null;
}

function textBlock(text: string): JsonObject {
  return { type: "text", text };
}

function shortened(text: string): string {
  if (text.length <= PLAN_REPEATED_CHARS_MAX) return text;
  return `${cutText(text, PLAN_REPEATED_CHARS_MAX)} […]`;
}
