import { describe, expect, it } from "vitest";
import {
  type AgentUpdate,
  chunkText,
  parentToolCallId,
  promptText,
  type ToolCallNews,
  toolCallNews,
} from "./agent-update.ts";

const chunk = (content: unknown): AgentUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content,
});
const toolCall = (fields: Record<string, unknown>): AgentUpdate => ({
  sessionUpdate: "tool_call_update",
  ...fields,
});

describe("the text of a chunk", () => {
  it("is its text, exactly", () => {
    const text = " two\r\nlines\u0000\ud83d ";
    expect(chunkText(chunk({ type: "text", text }))).toBe(text);
    expect(chunkText(chunk({ type: "text", text: "", annotations: {} }))).toBe("");
  });

  it.each([
    ["an image", { type: "image", data: "aGk=", mimeType: "image/png" }],
    ["a resource, even one with a text", { type: "resource", text: "hi" }],
    ["a text block without a text", { type: "text" }],
    ["a text that is no text", { type: "text", text: ["hi"] }],
    ["a block without a type", { text: "hi" }],
    ["a bare string", "hi"],
    ["a list of blocks", [{ type: "text", text: "hi" }]],
    ["null", null],
    ["nothing", undefined],
  ])("is none where the content is %s", (_what, content) => {
    expect(chunkText(chunk(content))).toBeNull();
  });
});

describe("the text of a prompt", () => {
  it("is its text blocks, one under the other", () => {
    const content = [
      { type: "text", text: "Look at this:" },
      { type: "image", data: "aGk=", mimeType: "image/png", text: "not me" },
      { type: "text", text: "What is it?" },
    ];
    expect(promptText(content)).toBe("Look at this:\nWhat is it?");
  });

  it("is empty for a prompt without text", () => {
    expect(promptText([])).toBe("");
    expect(promptText([{ type: "image" }])).toBe("");
    expect(promptText([{ type: "text", text: 7 }])).toBe("");
  });
});

describe("the news of a tool call", () => {
  it.each<[string, Record<string, unknown>, ToolCallNews | null]>([
    [
      "its title before its kind",
      { toolCallId: "c", title: "Read a.ts", kind: "read", status: "pending" },
      { toolCallId: "c", toolName: "Read a.ts", status: "open" },
    ],
    [
      "its kind where it has no title",
      { toolCallId: "c", kind: "read", status: "in_progress" },
      { toolCallId: "c", toolName: "read", status: "open" },
    ],
    [
      "no name where it has neither, and open where it does not say",
      { toolCallId: "c" },
      { toolCallId: "c", toolName: null, status: "open" },
    ],
    [
      "its completion",
      { toolCallId: "c", status: "completed" },
      { toolCallId: "c", toolName: null, status: "completed" },
    ],
    [
      "its failure",
      { toolCallId: "c", status: "failed" },
      { toolCallId: "c", toolName: null, status: "failed" },
    ],
    [
      "open where the status is a word of tomorrow",
      { toolCallId: "c", status: "paused" },
      { toolCallId: "c", toolName: null, status: "open" },
    ],
    [
      "open where the status is no word",
      { toolCallId: "c", title: 7, kind: null, status: ["completed"] },
      { toolCallId: "c", toolName: null, status: "open" },
    ],
    ["none where it does not name its call", { title: "Read", status: "completed" }, null],
    ["none where its name is no text", { toolCallId: 7, status: "completed" }, null],
  ])("are %s", (_what, fields, news) => {
    expect(toolCallNews(toolCall(fields))).toEqual(news);
  });
});

describe("the parent of an update", () => {
  it("is the call that its _meta names", () => {
    expect(parentToolCallId(toolCall({ _meta: { parentToolCallId: "p", other: 1 } }))).toBe("p");
  });

  it.each([
    ["no _meta", {}],
    ["a _meta of null", { _meta: null }],
    ["a _meta that is a list", { _meta: ["p"] }],
    ["a _meta without it", { _meta: { source: "x" } }],
    ["an empty parent", { _meta: { parentToolCallId: "" } }],
    ["a parent that is no text", { _meta: { parentToolCallId: 7 } }],
    ["a parent outside its _meta", { parentToolCallId: "p" }],
  ])("is none with %s", (_what, fields) => {
    expect(parentToolCallId(toolCall(fields))).toBeNull();
  });
});
