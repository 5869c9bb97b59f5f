import { describe, expect, it } from "vitest";
import { clientId, promptId } from "../session/life.fixture.ts";
import { collapse, continues, join, joinableText, patch } from "./compact.ts";
import {
  echo,
  image,
  message,
  thought,
  toolCall,
  toolUpdate,
  under,
  updated,
} from "./log.fixture.ts";

const info = (id: number, more: Readonly<Record<string, unknown>>) =>
  updated(id, { sessionUpdate: "session_info_update", ...more });

const shell = (id: number, output: string) =>
  updated(id, { sessionUpdate: "shell_output", output, _meta: { source: "user-shell" } });

describe("joined text", () => {
  it("is one chunk with all texts in order and the id of its last source", () => {
    expect(join([message(3, "Hel"), message(4, "lo, "), message(7, "world")])).toEqual({
      id: 7,
      v: 1,
      type: "session_update",
      data: {
        sessionId: "s",
        update: {
          sessionUpdate: "agent_message_chunk",
          content: { type: "text", text: "Hello, world" },
        },
      },
      _meta: { serverTimestamp: 70 },
    });
  });

  it("has the latest prompt and originator, also if the last chunk names none", () => {
    const first = { promptId: promptId("p1"), originatorClientId: clientId("ann") };
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a" } };
    const joined = join([
      updated(1, update, first),
      updated(2, update, { promptId: promptId("p2") }),
      updated(3, update),
    ]);
    expect(joined.promptId).toBe("p2");
    expect(joined.originatorClientId).toBe("ann");
    expect(joined._meta).toEqual({ serverTimestamp: 30 });
  });

  it("merges what the chunks carry in their update's _meta, the later over the earlier", () => {
    const joined = join([
      message(1, "a", { _meta: { model: "m", usage: { totalTokens: 1 } } }),
      message(2, "b"),
      message(3, "", { _meta: { usage: { totalTokens: 9 } } }),
    ]);
    expect(joined.data.update._meta).toEqual({ model: "m", usage: { totalTokens: 9 } });
  });

  it("gets no _meta that none of its chunks had, which a client would take for the end", () => {
    expect(join([message(1, "a"), message(2, "b")]).data.update).not.toHaveProperty("_meta");
  });

  it("keeps the unknown fields of chunks and of their content as last said", () => {
    const content = { type: "text", text: "b", annotations: { priority: 2 } };
    const joined = join([
      message(1, "a", { messageId: "m", tone: "low", mood: "calm" }),
      message(2, "b", { messageId: "m", content, tone: "high", mood: null }),
    ]);
    expect(joined.data.update).toEqual({
      sessionUpdate: "agent_message_chunk",
      messageId: "m",
      content: { type: "text", text: "ab", annotations: { priority: 2 } },
      tone: "high",
      mood: "calm",
    });
  });

  it("keeps a field that is called __proto__ a field", () => {
    const odd = (id: number) =>
      updated(id, JSON.parse('{"sessionUpdate":"shell_output","output":"a","__proto__":{"x":1}}'));
    const { update } = join([odd(1), odd(2)]).data;
    expect(JSON.stringify(update)).toContain('"__proto__":{"x":1}');
    expect("x" in update).toBe(false);
  });

  it("is the output of a shell too, in its own field", () => {
    expect(join([shell(1, "one\n"), shell(2, "two\n")]).data.update).toEqual({
      sessionUpdate: "shell_output",
      output: "one\ntwo\n",
      _meta: { source: "user-shell" },
    });
  });
});

describe("a text continues another", () => {
  const a = message(1, "a").data.update;
  const ofMessage = (messageId: unknown) => message(2, "b", { messageId }).data.update;
  const ofRecords = (...sourceRecordIds: readonly string[]) =>
    message(2, "b", { _meta: { qwenTranscript: { sourceRecordIds } } }).data.update;

  it("if kind, message, sub-agent and source records are the same", () => {
    expect(continues(a, message(2, "b").data.update)).toBe(true);
    expect(continues(ofMessage("m"), ofMessage("m"))).toBe(true);
    expect(continues(ofRecords("r1", "r2"), ofRecords("r1", "r2"))).toBe(true);
    const sub = message(1, "a", under("call")).data.update;
    expect(continues(sub, message(2, "b", under("call", { usage: {} })).data.update)).toBe(true);
  });

  it("if one has no message id and the other a null one, which says as little", () => {
    expect(continues(a, ofMessage(null))).toBe(true);
  });

  it("but a thought does not continue a message", () => {
    expect(continues(a, thought(2, "b").data.update)).toBe(false);
  });

  it("but another message does not, nor a message one without an id", () => {
    expect(continues(ofMessage("m1"), ofMessage("m2"))).toBe(false);
    expect(continues(a, ofMessage("m2"))).toBe(false);
  });

  it("but text from other source records does not", () => {
    expect(continues(ofRecords("r1"), ofRecords("r2"))).toBe(false);
    expect(continues(ofRecords("r1"), ofRecords("r1", "r2"))).toBe(false);
    expect(continues(a, ofRecords("r1"))).toBe(false);
    expect(continues(a, ofRecords())).toBe(true);
  });

  it("but a sub-agent's does not continue the agent's, nor another sub-agent's", () => {
    const sub = message(2, "b", under("call")).data.update;
    expect(continues(a, sub)).toBe(false);
    expect(continues(sub, message(2, "b", under("other")).data.update)).toBe(false);
  });

  it("but a message that its agent marked as discrete neither continues nor is continued", () => {
    const discrete = message(2, "b", { _meta: { qwenDiscreteMessage: true } }).data.update;
    expect(continues(a, discrete)).toBe(false);
    expect(continues(discrete, a)).toBe(false);
    expect(continues(discrete, discrete)).toBe(false);
  });

  it("but an image neither continues nor is continued", () => {
    const picture = image(2, "png").data.update;
    expect(continues(a, picture)).toBe(false);
    expect(continues(picture, a)).toBe(false);
    expect(continues(picture, picture)).toBe(false);
  });
});

describe("the text of an update that can be joined", () => {
  it("is null where the content is no text, or not what it says it is", () => {
    const odd = [null, "text", [], {}, { type: "text" }, { type: "text", text: 1 }];
    expect(odd.map((content) => joinableText(message(1, "", { content }).data.update))).toEqual(
      odd.map(() => null),
    );
    expect(joinableText(updated(1, { sessionUpdate: "shell_output", output: 1 }).data.update)).toBe(
      null,
    );
  });

  it("is the text itself otherwise, also if empty", () => {
    expect(joinableText(message(1, "").data.update)).toBe("");
    expect(joinableText(echo(1, "hi").data.update)).toBe("hi");
    expect(joinableText(shell(1, "out").data.update)).toBe("out");
  });
});

describe("a collapsed tool call", () => {
  it("is a tool_call with the id of its last source, whatever it was first called", () => {
    const started = toolUpdate(4, "t", { title: "Read" });
    const collapsed = collapse([started, toolUpdate(9, "t", { status: "completed" })]);
    expect(collapsed.id).toBe(9);
    expect(collapsed._meta).toEqual({ serverTimestamp: 90 });
    expect(collapsed.data.update).toEqual({
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "Read",
      status: "completed",
    });
  });

  it("takes a later field if it says something, and does not let null undo what was said", () => {
    const collapsed = collapse([
      toolCall(1, "t", { title: "Read", kind: "read", locations: null, content: ["a"] }),
      toolUpdate(2, "t", { title: null, kind: "other", content: ["b", "c"] }),
      toolUpdate(3, "t", { title: "Read a.ts", locations: [{ path: "/a.ts" }], rawOutput: 0 }),
      toolUpdate(4, "t", { rawOutput: null, rawInput: null }),
    ]);
    expect(collapsed.data.update).toEqual({
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "Read a.ts",
      kind: "other",
      locations: [{ path: "/a.ts" }],
      content: ["b", "c"],
      rawOutput: 0,
      rawInput: null,
    });
  });

  it("merges _meta and stays under the call that it began under", () => {
    const collapsed = collapse([
      toolCall(1, "t", under("outer", { toolName: "read" })),
      toolUpdate(2, "t", { _meta: { parentToolCallId: null, durationMs: 5 } }),
    ]);
    expect(collapsed.data.update._meta).toEqual({
      parentToolCallId: "outer",
      toolName: "read",
      durationMs: 5,
    });
  });

  it("alone is the same call, by its final name", () => {
    expect(collapse([toolUpdate(1, "t", { status: "failed" })])).toEqual(
      toolCall(1, "t", { status: "failed" }),
    );
  });
});

describe("patched session info", () => {
  it("has each field as it was last said, and null clears a field", () => {
    const patched = patch([
      info(1, { title: "Title", updatedAt: "monday", color: "red" }),
      info(2, { updatedAt: "tuesday" }),
      info(5, { color: null }),
    ]);
    expect(patched).toEqual(info(5, { title: "Title", updatedAt: "tuesday", color: null }));
  });
});
