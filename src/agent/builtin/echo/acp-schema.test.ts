import { describe, expect, it } from "vitest";
import { paramsFaults, resultFaults } from "./acp-schema.fixture.ts";

const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a" } };
const update = (update: unknown) => paramsFaults("session/update", { sessionId: "s", update });

describe("the judge of what echo sends", () => {
  it("has nothing to say of what is right", () => {
    expect(update(chunk)).toEqual([]);
    expect(update({ ...chunk, _meta: { anything: [1] } })).toEqual([]);
    expect(resultFaults("session/prompt", { stopReason: "end_turn" })).toEqual([]);
    const call = { sessionUpdate: "tool_call", toolCallId: "c", title: "t", rawInput: { any: 1 } };
    expect(update(call)).toEqual([]);
  });

  it.each([
    ["a kind of update that ACP does not have", { ...chunk, sessionUpdate: "news" }],
    ["a field that is missing", { sessionUpdate: "agent_message_chunk" }],
    ["a field that ACP does not have", { ...chunk, massageId: "m" }],
    [
      "a field deep inside that ACP does not have",
      { ...chunk, content: { ...chunk.content, a: 1 } },
    ],
    ["a value of another type", { ...chunk, content: { type: "text", text: 1 } }],
    ["a word that is none of the choices", { ...call(), status: "done" }],
    ["a number below its minimum", { sessionUpdate: "usage_update", used: -1, size: 1 }],
  ])("sees %s", (_, wrong) => {
    expect(update(wrong)).not.toEqual([]);
  });

  it("sees an answer or a method that ACP does not have", () => {
    expect(resultFaults("session/prompt", { stopReason: "tired" })).not.toEqual([]);
    expect(resultFaults("session/dance", {})).not.toEqual([]);
    expect(paramsFaults("session/prompt", {})).not.toEqual([]);
  });
});

function call() {
  return { sessionUpdate: "tool_call", toolCallId: "c", title: "t" };
}
