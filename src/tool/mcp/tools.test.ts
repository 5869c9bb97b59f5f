import { describe, expect, it } from "vitest";
import { TOOL_DESCRIPTION_CHARS_MAX } from "../../core/limits.ts";
import { inputFrom, readTool } from "./tools.ts";

function toolWith(inputSchema: unknown) {
  return readTool({ name: "t", inputSchema }) ?? expect.fail("it is no tool");
}

const ONE_TEXT = toolWith({
  type: "object",
  properties: { text: { type: "string" }, times: { type: ["integer", "null"] } },
  required: ["text"],
});

describe("a tool that a server offers", () => {
  it("changes something, unless it says otherwise", () => {
    expect(readTool({ name: "t" })).toMatchObject({ isReadOnly: false });
    const annotated = { name: "t", annotations: { readOnlyHint: true } };
    expect(readTool(annotated)).toMatchObject({ isReadOnly: true });
    const doubtful = { name: "t", annotations: { readOnlyHint: "yes" } };
    expect(readTool(doubtful)).toMatchObject({ isReadOnly: false });
  });

  it("is described at bearable length", () => {
    const tool = readTool({ name: "t", description: "x".repeat(99_999) });
    expect(tool?.description).toHaveLength(TOOL_DESCRIPTION_CHARS_MAX);
  });

  it.each([null, 7, "t", {}, { name: 7 }, { name: "" }, { name: "a b" }, { name: "a\u0000" }])(
    "is none as %j",
    (value) => {
      expect(readTool(value)).toBeNull();
    },
  );
});

describe("words for a tool", () => {
  it("are an object, or the one text that it wants", () => {
    expect(inputFrom('{"text": "a", "times": 2}', ONE_TEXT)).toEqual({ text: "a", times: 2 });
    expect(inputFrom("a b", ONE_TEXT)).toEqual({ text: "a b" });
    expect(inputFrom("{ broken", ONE_TEXT)).toEqual({ text: "{ broken" });
  });

  it("may be none, if nothing is wanted", () => {
    expect(inputFrom(" ", toolWith({ type: "object" }))).toEqual({});
    expect(inputFrom("", toolWith("nonsense"))).toEqual({});
  });

  it.each([
    ["", ONE_TEXT, '"text" is missing'],
    ["{}", ONE_TEXT, '"text" is missing'],
    ['{"text": 7}', ONE_TEXT, '"text" must be of type string'],
    ['{"text": "a", "times": 1.5}', ONE_TEXT, '"times" must be of type integer or null'],
    ["a", toolWith({ properties: { a: { type: "number" } }, required: ["a"] }), /JSON object/],
    ["a", toolWith({ properties: { a: { type: "string" } } }), /JSON object/],
    ["a", toolWith({ required: ["a", "b"] }), /JSON object/],
    ["[1]", toolWith({}), /JSON object/],
    ["{".repeat(5_000), toolWith({}), /JSON object/],
  ])("are refused as %j where they do not fit", (words, tool, reason) => {
    expect(inputFrom(words, tool)).toMatch(reason);
  });

  it("are left to the server where its schema is not so simple", () => {
    const odd = { properties: { a: { anyOf: [] }, b: { type: "date" } }, required: "a" };
    expect(inputFrom('{"a": 1, "b": 2, "toString": 3}', toolWith(odd))).toMatchObject({ a: 1 });
  });
});
