import { describe, expect, it } from "vitest";
import { STAGE_RESULT_BYTES_MAX } from "../../core/limits.ts";
import { completionHint, completionInMessage, readCompletion } from "./completion.ts";

const VERDICT = {
  description: "The verdict",
  schema: {
    type: "object",
    required: ["verdict"],
    properties: { verdict: { type: "string", enum: ["pass", "revise"] } },
  },
};

const fence = (json: string, word = "json") => `\`\`\`${word}\n${json}\n\`\`\``;

describe("what completes a stage", () => {
  it("is an object of its schema", () => {
    expect(readCompletion(VERDICT, { verdict: "pass" })).toEqual({ result: { verdict: "pass" } });
    expect(readCompletion(VERDICT, "pass").fault).toEqual({
      path: "",
      reason: "it must be an object",
    });
    expect(readCompletion(VERDICT, {}).fault?.reason).toBe('it must have "verdict"');
    expect(readCompletion(VERDICT, { verdict: "good" }).fault?.path).toBe("verdict");
  });

  it("P10: has its limit", () => {
    const said = { verdict: "pass", more: "x".repeat(STAGE_RESULT_BYTES_MAX) };
    expect(readCompletion(VERDICT, said).fault?.reason).toBe("it is too large");
  });
});

describe("a last message that completes a stage", () => {
  const PASS = '{"verdict": "pass"}';

  it.each([
    ["is the object alone", PASS],
    ["has it in a fence", `I looked at it.\n\n${fence(PASS)}\nThat is all.`],
    ["has it in a fence of no language", fence(PASS, "")],
    ["has another before it", `${fence('{"verdict": "revise"}')}\n${fence(PASS)}`],
    ["has something else behind it", `${fence(PASS)}\n${fence("npm test", "sh")}`],
    ["writes down the call", fence(`{"result": ${PASS}}`)],
  ])("%s", (_, text) => {
    expect(completionInMessage(VERDICT, text)).toEqual({ verdict: "pass" });
  });

  it.each([
    ["only talks", "It passes."],
    ["has another object", fence('{"verdict": "good"}')],
    ["has a fence that is never closed", `\`\`\`json\n${PASS}`],
    ["is empty", ""],
  ])("does not if it %s", (_, text) => {
    expect(completionInMessage(VERDICT, text)).toBeNull();
  });
});

describe("what an agent is told", () => {
  it("names the tool, or the block, and the schema", () => {
    expect(completionHint(VERDICT, "tool")).toMatch(/"complete_stage".*"result".*The verdict/s);
    expect(completionHint(VERDICT, "message")).toMatch(/fenced block of JSON.*"enum"/s);
  });
});
