import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json.ts";
import { compactSegment } from "./compact.ts";
import { frozen, message, updated, verdict } from "./log.fixture.ts";

const compaction = (id: number, more: JsonObject, compactionId = "c") =>
  updated(id, { sessionUpdate: "compaction_update", compactionId, status: "in_progress", ...more });

const piece = (id: number, text: string, compactionId = "c") =>
  updated(id, {
    sessionUpdate: "compaction_summary_chunk",
    compactionId,
    content: { type: "text", text },
  });

const text = (words: string) => ({ type: "text", text: words });

function folded(...events: Parameters<typeof compactSegment>[0]) {
  const once = compactSegment(frozen(events));
  expect(compactSegment(once)).toEqual(once);
  return once.flatMap((event) => (event.type === "session_update" ? [event.data.update] : []));
}

describe("a compaction of the agent's context, in a finished turn", () => {
  it("P10: is one update with its whole summary, whatever number of pieces came", () => {
    const pieces = Array.from({ length: 1_000 }, (_, n) => piece(n + 2, `${n},`));
    const end = compaction(2_000, { status: "completed" });
    const [only, ...more] = folded(compaction(1, {}), ...pieces, end, verdict(2_001));
    expect(more).toEqual([]);
    const words = pieces.map((_, n) => `${n},`).join("");
    expect(only).toEqual({
      sessionUpdate: "compaction_update",
      compactionId: "c",
      status: "completed",
      summary: [text(words)],
    });
  });

  it("has the place of its first update, and is not mixed with another", () => {
    const said = folded(
      compaction(1, {}, "a"),
      message(2, "Meanwhile."),
      piece(3, "of b", "b"),
      compaction(4, { status: "failed", error: "no" }, "a"),
    );
    expect(said).toMatchObject([
      { compactionId: "a", status: "failed", error: "no" },
      { sessionUpdate: "agent_message_chunk" },
      { compactionId: "b", status: "in_progress", summary: [text("of b")] },
    ]);
  });

  it("has a summary replaced or cleared as ACP says, and keeps what is no text", () => {
    const image = { type: "image", mimeType: "image/png", data: "" };
    const whole = compaction(2, { summary: [text("new "), image] });
    expect(folded(piece(1, "old"), whole, piece(3, "end"))).toMatchObject([
      { summary: [text("new "), image, text("end")] },
    ]);
    const cleared = compaction(2, { summary: null, error: null });
    expect(folded(piece(1, "old"), cleared)).toMatchObject([{ summary: [], error: null }]);
  });
});

describe("plans and notices, in a finished turn", () => {
  const plan = (id: number, planId: string, content: string) =>
    updated(id, { sessionUpdate: "plan_update", plan: { type: "markdown", planId, content } });

  it("P10: of each plan there is the latest, and of one that was removed its removal", () => {
    const said = folded(
      plan(1, "a", "# A"),
      plan(2, "b", "# B"),
      plan(3, "a", "# A, longer"),
      updated(4, { sessionUpdate: "plan_removed", planId: "b" }),
    );
    expect(said).toEqual([
      plan(3, "a", "# A, longer").data.update,
      { sessionUpdate: "plan_removed", planId: "b" },
    ]);
  });

  it("P10: a notice is of the moment; one without an id of its plan stays as it came", () => {
    const odd = { sessionUpdate: "plan_update", plan: "none" };
    const notice = { sessionUpdate: "notice", severity: "info", title: "Retrying" };
    expect(folded(updated(1, notice), updated(2, odd), updated(3, notice))).toEqual([odd]);
  });
});
