import { describe, expect, it } from "vitest";
import { seedOf } from "../../agent/bridge/session-opening.ts";
import { PAST_PAGE_ROWS_MAX, PAST_TOOL_LINES_MAX } from "../../core/limits.ts";
import { fail, ok } from "../../core/result.ts";
import { promptId, turnId } from "../../core/session/life.fixture.ts";
import type { Range, StoredText } from "../../store/store.ts";
import { type ConversationMessage, messageText } from "./message.ts";
import { pastOf, type StoredConversation } from "./past.ts";

const OF_TURN = { turnId: turnId("t1"), atMs: 5 };
const text = (said: string) => [{ type: "text", text: said }];

const user = (said: string): ConversationMessage => ({
  role: "user",
  ...OF_TURN,
  promptId: promptId("p1"),
  content: text(said),
});
const agent = (said: string, more: { under?: string } = {}): ConversationMessage => ({
  role: "assistant",
  ...OF_TURN,
  content: text(said),
  ...more,
});
const tool = (title: string, more: { under?: string } = {}): ConversationMessage => ({
  role: "tool",
  ...OF_TURN,
  toolCallId: "c",
  status: "completed",
  call: { title },
  result: {},
  ...more,
});

/** Messages in pages of at most so many characters, but always of one row, as stores give them. */
function stored(texts: readonly string[], charsMax = Number.POSITIVE_INFINITY) {
  const ranges: Range[] = [];
  const missed: string[] = [];
  const conversation: StoredConversation = {
    messageCount: texts.length,
    missed: (reason) => missed.push(reason),
    read: async (range) => {
      ranges.push(range);
      const rows: StoredText[] = [];
      let chars = 0;
      for (const [index, one] of texts.entries()) {
        chars += index < range.after ? 0 : one.length;
        if (index < range.after) continue;
        if (rows.length === range.limit || (rows.length > 0 && chars > charsMax)) break;
        rows.push({ id: index + 1, text: one });
      }
      return ok({ rows, more: range.after + rows.length < texts.length });
    },
  };
  return { conversation, ranges, missed };
}

async function said(conversation: StoredConversation) {
  const lines: string[] = [];
  for await (const { role, text } of pastOf(conversation)) lines.push(`${role}: ${text}`);
  return lines;
}

const past = (...messages: readonly ConversationMessage[]) =>
  said(stored(messages.map(messageText)).conversation);

describe("the past that a fresh agent is told", () => {
  it("is the conversation, newest first", async () => {
    expect(await past(user("a"), agent("b"), user("c"), agent("d"))).toEqual([
      "agent: d",
      "user: c",
      "agent: b",
      "user: a",
    ]);
  });

  it("tells tool calls in a row in one message, in their order", async () => {
    expect(await past(user("a"), tool("Read"), tool("Edit"), agent("done"))).toEqual([
      "agent: done",
      "agent: [tool: Read: completed]\n[tool: Edit: completed]",
      "user: a",
    ]);
  });

  it("P10: counts those of a long row that it does not name", async () => {
    const many = Array.from({ length: PAST_TOOL_LINES_MAX + 2 }, (_, n) => tool(`call ${n}`));
    const [told = ""] = await past(...many);
    expect(told.split("\n")).toHaveLength(PAST_TOOL_LINES_MAX + 1);
    expect(told).toMatch(/^agent: \[2 tool calls before\]\n\[tool: call 2: completed\]/);
  });

  it("leaves out what sub-agents said and did", async () => {
    const inner = { under: "task" };
    expect(await past(user("a"), agent("i", inner), tool("x", inner), agent("b"))).toEqual([
      "agent: b",
      "user: a",
    ]);
  });

  it("names what is no text, and has what the agent was told beside a prompt", async () => {
    const content = [
      { type: "image", data: "x" },
      { type: "resource_link", uri: "file:///a.ts" },
      { type: "resource", resource: { uri: "file:///b.ts", text: "long" } },
      ...text("Look"),
    ];
    const context = ["$ ls\na.ts"];
    const asked: ConversationMessage = {
      ...OF_TURN,
      role: "user",
      promptId: promptId("p"),
      content,
      context,
    };
    expect(await past(asked)).toEqual([
      "user: $ ls\na.ts\n\n[image]\n\n[resource_link: file:///a.ts]\n\n" +
        "[resource: file:///b.ts]\n\nLook",
    ]);
  });

  it("is what agents are seeded with", async () => {
    const { conversation } = stored([user("Hi"), agent("Hello")].map(messageText));
    const seed = await seedOf(pastOf(conversation));
    expect(seed?.text).toContain("User: Hi\n\nYou: Hello");
  });
});

describe("reading backwards", () => {
  const long = Array.from({ length: PAST_PAGE_ROWS_MAX * 3 + 5 }, (_, n) =>
    messageText(agent(`${n}`)),
  );
  const expected = long.map((_, n) => `agent: ${n}`).toReversed();

  it("reads page by page, and each message once", async () => {
    const { conversation, ranges } = stored(long);
    expect(await said(conversation)).toEqual(expected);
    expect(ranges).toHaveLength(4);
  });

  it("P10: makes do with pages that are cut for their bytes, down to one message", async () => {
    for (const charsMax of [1, 200, 1_000]) {
      expect(await said(stored(long, charsMax).conversation)).toEqual(expected);
    }
  });

  it("reads no further than somebody listens", async () => {
    const { conversation, ranges } = stored(long);
    for await (const _ of pastOf(conversation)) break;
    expect(ranges).toHaveLength(1);
  });

  it("P6: says what it could not read, and goes on without it", async () => {
    const { conversation, missed } = stored([messageText(user("a")), "{", messageText(agent("b"))]);
    expect(await said(conversation)).toEqual(["agent: b", "user: a"]);
    expect(missed).toEqual(["message 2 cannot be read"]);
    const broken = { ...conversation, read: async () => fail("store_unavailable") };
    expect(await said(broken)).toEqual([]);
    expect(missed).toEqual(["message 2 cannot be read", "store_unavailable"]);
  });
});
