import { describe, expect, it } from "vitest";
import type { AgentUpdate } from "../../core/agent-update.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  COMPACTIONS_REPEATED_MAX,
  PLAN_REPEATED_CHARS_MAX,
  PLANS_REPEATED_MAX,
} from "../../core/limits.ts";
import { PlainUpdates } from "./plain-updates.ts";

/** What the server sends after updates of these kinds. */
function scene() {
  const sent: AgentUpdate[] = [];
  const plain = new PlainUpdates((update) => sent.push(update));
  const says = (sessionUpdate: string, more: JsonObject = {}) => {
    plain.after({ sessionUpdate, ...more });
  };
  const plan = (planId: unknown, more: JsonObject) =>
    says("plan_update", { plan: { planId, ...more } });
  const texts = () => sent.map(({ content }) => Object(content).text);
  return { sent, plain, says, plan, texts };
}

describe("an update that older clients do not know", () => {
  it("is repeated as text, if it is a notice", () => {
    const { sent, says, texts } = scene();
    says("notice", { severity: "warning", title: "Slow down", description: "Rate limited" });
    says("notice", { severity: "info", title: "Done", description: null });
    expect(texts()).toEqual(["\n\n**Slow down:** Rate limited\n\n", "\n\n**Done**\n\n"]);
    expect(sent.map(({ messageId, _meta }) => ({ messageId, _meta }))).toEqual([
      { messageId: "notice-1", _meta: { repeats: "notice" } },
      { messageId: "notice-2", _meta: { repeats: "notice" } },
    ]);
  });

  it("is repeated as a tool call from its begin to its end, if it is a compaction", () => {
    const { sent, says } = scene();
    const compaction = (status: string, more: JsonObject = {}) =>
      says("compaction_update", { compactionId: "c", status, ...more });
    compaction("in_progress");
    for (let n = 0; n < 100; n += 1) {
      says("compaction_summary_chunk", { compactionId: "c", content: { type: "text", text: "x" } });
    }
    compaction("_unheard_of");
    compaction("failed", { error: "too long" });
    const _meta = { repeats: "compaction_update" };
    const said = { type: "content", content: { type: "text", text: "too long" } };
    expect(sent).toEqual([
      {
        sessionUpdate: "tool_call",
        toolCallId: "compaction-c",
        title: "Compacting the conversation",
        kind: "other",
        status: "in_progress",
        _meta,
      },
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "compaction-c",
        status: "failed",
        content: [said],
        _meta,
      },
    ]);
  });

  it("is repeated as a plan, if it is one with entries", () => {
    const { sent, says, plan } = scene();
    const entries = [{ content: "Look", priority: "high", status: "pending" }];
    plan("p", { type: "items", entries });
    says("plan_removed", { planId: "p" });
    says("plan_removed", { planId: "p" });
    const _meta = { repeats: "plan_update" };
    expect(sent).toEqual([
      { sessionUpdate: "plan", entries, _meta },
      { sessionUpdate: "plan", entries: [], _meta },
    ]);
  });

  it("P10: is repeated once at the end of the turn, if it is a plan that grows", () => {
    const { plain, says, plan, texts } = scene();
    for (let n = 1; n <= 100; n += 1) {
      plan("p", { type: "markdown", content: "#".repeat(n) });
    }
    plan("f", { type: "file", uri: "file:///plan.md" });
    plan("gone", { type: "markdown", content: "Never mind" });
    says("plan_removed", { planId: "gone" });
    expect(texts()).toEqual([]);
    plain.turnEnds();
    plain.turnEnds();
    expect(texts()).toEqual([`\n\n${"#".repeat(100)}\n\n`, "\n\nPlan: file:///plan.md\n\n"]);
  });

  it("P10: is kept within limits", () => {
    const { sent, plain, says, plan, texts } = scene();
    for (let n = 0; n < 2 * PLANS_REPEATED_MAX; n += 1) {
      plan(`p${n}`, { content: "x".repeat(2 * PLAN_REPEATED_CHARS_MAX) });
    }
    plain.turnEnds();
    expect(sent.length).toBe(PLANS_REPEATED_MAX);
    for (const text of texts()) expect(text.length).toBeLessThan(PLAN_REPEATED_CHARS_MAX + 20);
    const open = { status: "in_progress" };
    const count = 2 * COMPACTIONS_REPEATED_MAX;
    for (let n = 0; n < count; n += 1) says("compaction_update", { compactionId: `${n}`, ...open });
    expect(sent.length).toBe(PLANS_REPEATED_MAX + count);
  });

  it.each<[string, JsonObject]>([
    ["notice", {}],
    ["notice", { title: "  ", description: 3 }],
    ["compaction_update", { status: "completed" }],
    ["compaction_summary_chunk", { compactionId: "c".repeat(10_000) }],
    ["plan_update", {}],
    ["plan_update", { plan: "x" }],
    ["plan_update", { plan: { planId: 1, content: "x" } }],
    ["plan_update", { plan: { planId: "p", content: " " } }],
    ["plan_removed", {}],
    ["of_a_later_version", { title: "x", planId: "p" }],
  ])("is left alone if there is nothing to repeat: %s %j", (kind, more) => {
    const { sent, plain, says } = scene();
    says(kind, more);
    plain.turnEnds();
    expect(sent).toEqual([]);
  });
});
