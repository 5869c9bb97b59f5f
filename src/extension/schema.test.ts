import { describe, expect, it } from "vitest";
import { schemaFault, valueFault } from "./schema.ts";

describe("a schema", () => {
  it.each<[unknown, string, string]>([
    [[], "", "a schema must be an object"],
    [{ pattern: "(a+)+" }, "pattern", "there is no such keyword here"],
    [{ $ref: "#" }, "$ref", "there is no such keyword here"],
    [{ type: "text" }, "type", "the keyword does not take this value"],
    [{ type: [] }, "type", "the keyword does not take this value"],
    [{ type: ["string", 1] }, "type", "the keyword does not take this value"],
    [{ enum: [{}] }, "enum", "the keyword does not take this value"],
    [{ required: "a" }, "required", "the keyword does not take this value"],
    [{ minimum: "1" }, "minimum", "the keyword does not take this value"],
    [{ items: { maxItems: null } }, "items.maxItems", "the keyword does not take this value"],
    [{ properties: [] }, "properties", "it must be an object"],
    [{ properties: { a: 1 } }, "properties.a", "a schema must be an object"],
    [{ additionalProperties: { x: 1 } }, "additionalProperties.x", "there is no such keyword here"],
  ])("%j says at %s: %s", (schema, path, reason) => {
    expect(schemaFault(schema)).toEqual({ path, reason });
  });

  it("P10: is not followed without end", () => {
    const deep = Array.from({ length: 100 }).reduce<object>((items) => ({ items }), {});
    expect(schemaFault(deep)?.reason).toBe("it is nested too deep");
  });
});

const TASKS = {
  title: "What is to be done",
  type: "object",
  additionalProperties: false,
  required: ["items"],
  properties: {
    items: {
      type: "array",
      maxItems: 2,
      items: {
        type: "object",
        properties: { text: { type: "string", minLength: 1, maxLength: 3 } },
        additionalProperties: { type: ["integer", "null"], minimum: 1, maximum: 9 },
      },
    },
    state: { enum: ["open", "done", null] },
    version: { const: 1 },
  },
};

describe("a value of a schema", () => {
  it("is what the schema says", () => {
    expect(schemaFault(TASKS)).toBeNull();
    const items = [{ text: "😀😀😀", rank: 9 }, { rank: null }];
    expect(valueFault(TASKS, { items, state: null, version: 1 })).toBeNull();
    expect(valueFault({}, { any: ["thing"] })).toBeNull();
    expect(valueFault({ minimum: 3 }, "two")).toBeNull();
  });

  it.each<[unknown, string, string]>([
    [[], "", "it must be of the type object"],
    [{}, "", 'it must have "items"'],
    [{ items: {} }, "items", "it must be of the type array"],
    [{ items: [{}, {}, {}] }, "items", "it must be at most 2 items"],
    [{ items: [{ text: "" }] }, "items.0.text", "it must be at least 1 characters"],
    [{ items: [{}, { text: "four" }] }, "items.1.text", "it must be at most 3 characters"],
    [{ items: [{ rank: 0.5 }] }, "items.0.rank", "it must be of the type integer or null"],
    [{ items: [{ rank: 10 }] }, "items.0.rank", "it must be at most 9"],
    [{ items: [], state: "lost" }, "state", 'it must be one of ["open","done",null]'],
    [{ items: [], version: "1" }, "version", "it must be 1"],
    [{ items: [], more: 1 }, "more", "there is no such option"],
    [{ items: [], constructor: 1 }, "constructor", "there is no such option"],
  ])("is not %j", (value, path, reason) => {
    expect(valueFault(TASKS, value)).toEqual({ path, reason });
  });
});
