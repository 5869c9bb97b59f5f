import { describe, expect, it } from "vitest";
import { SessionBeside } from "./beside.fixture.ts";

const line = (update: object) => `update ${JSON.stringify(update)}`;

const text = (words: string) => ({ type: "text", text: words });

describe("P3: notices, compactions and plans of an agent", () => {
  it("come as the agent sent them, and again in kinds that every client knows", async () => {
    const beside = await SessionBeside.open();
    const notice = { sessionUpdate: "notice", severity: "warning", title: "Nearly full" };
    const begun = { sessionUpdate: "compaction_update", compactionId: "c", status: "in_progress" };
    const piece = { sessionUpdate: "compaction_summary_chunk", compactionId: "c" };
    const plan = { type: "markdown", planId: "p", content: "# First look" };
    const sent = [
      notice,
      begun,
      { ...piece, content: text("They spoke ") },
      { ...piece, content: text("of birds.") },
      { ...begun, status: "completed" },
      { sessionUpdate: "plan_update", plan },
    ];
    await beside.turn("say Well.", ...sent.map(line));
    const { events } = (await beside.get("/transcript")).body;
    const updates = (Array.isArray(events) ? events : []).flatMap(({ type, data }) =>
      type === "session_update" ? [data] : [],
    );
    const own = updates.filter(({ sessionUpdate }) => /notice|compact|plan_/.test(sessionUpdate));
    const summary = [text("They spoke of birds.")];
    expect(own).toEqual([
      { ...begun, status: "completed", summary },
      { sessionUpdate: "plan_update", plan },
    ]);
    const repeats = updates.filter(({ _meta }) => _meta?.repeats !== undefined);
    expect(repeats).toMatchObject([
      { sessionUpdate: "agent_message_chunk", content: text("\n\n**Nearly full**\n\n") },
      { sessionUpdate: "tool_call", toolCallId: "compaction-c", status: "completed" },
      { sessionUpdate: "agent_message_chunk", content: text("\n\n# First look\n\n") },
    ]);
    // The prompt, which is a script here, has the first two as well.
    const page = (await beside.get("/export?format=md")).text;
    const counts = ["Nearly full", "First look", "Compacting the conversation"].map(
      (words) => page.split(words).length - 1,
    );
    expect(counts).toEqual([2, 2, 1]);
  });
});
