import { describe, expect, it } from "vitest";
import { promptId, turnId } from "../../core/session/life.fixture.ts";
import { type ConversationMessage, messageText, readMessage } from "./message.ts";

const OF_TURN = { turnId: turnId("t1"), atMs: 5 };

const MESSAGES: readonly ConversationMessage[] = [
  {
    role: "user",
    ...OF_TURN,
    promptId: promptId("p1"),
    messageId: "m",
    content: [
      { type: "text", text: "half \ud83d, whole 🎼" },
      { type: "image", data: "x" },
    ],
    context: ["$ ls"],
  },
  { role: "assistant", ...OF_TURN, content: [{ type: "text", text: "" }], under: "c" },
  {
    role: "tool",
    ...OF_TURN,
    toolCallId: "c",
    status: "cancelled",
    call: { title: "Edit", rawInput: { deep: [null, 1] } },
    result: {},
  },
];

describe("a stored message", () => {
  it.each(MESSAGES)("of $role comes back as it was", (message) => {
    expect(readMessage(messageText(message))).toEqual(message);
  });

  it("is text that every store can take, whatever was said", () => {
    expect(MESSAGES.map(messageText).every((text) => text.isWellFormed())).toBe(true);
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["of a later version", '{"v":2,"role":"assistant","turnId":"t","atMs":1,"content":[]}'],
    ["of no turn", '{"v":1,"role":"assistant","atMs":1,"content":[]}'],
    ["of a role unheard of", '{"v":1,"role":"critic","turnId":"t","atMs":1,"content":[]}'],
    ["without blocks", '{"v":1,"role":"assistant","turnId":"t","atMs":1,"content":["text"]}'],
    ["without its prompt", '{"v":1,"role":"user","turnId":"t","atMs":1,"content":[]}'],
    [
      "in a state unheard of",
      '{"v":1,"role":"tool","turnId":"t","atMs":1,"toolCallId":"c","status":"?"' +
        ',"call":{},"result":{}}',
    ],
  ])("is not believed if it is %s", (_what, text) => {
    expect(readMessage(text)).toBeNull();
  });
});
