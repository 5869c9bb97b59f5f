import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonBody } from "./json.ts";
import { faultOf } from "./json-fault.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const LIMITS = { depthMax: 10, valuesMax: 100 };
const read = (text: string) => readJsonBody(bytesOf(text), LIMITS);
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("a JSON body", () => {
  it("is the object that it says", () => {
    expect(read('{"a":[1,{"b":null}]}')).toEqual({
      kind: "object",
      object: { a: [1, { b: null }] },
    });
  });

  it.each(["", "[1]", '"text"', "5", "null", "true"])("%j counts as an empty object", (text) => {
    expect(read(text)).toEqual({ kind: "object", object: {} });
  });

  it("may begin with a byte order mark", () => {
    expect(read('\ufeff{"a":1}')).toEqual({ kind: "object", object: { a: 1 } });
  });

  it.each(["{", " ", "{a:1}", '{"a":1}x', "NaN"])("%j is malformed", (text) => {
    expect(read(text)).toEqual({ kind: "malformed", fault: faultOf(text) });
  });

  it("that is not UTF-8 is malformed", () => {
    const broken = new Uint8Array([...bytesOf('{"a":"'), 0xc3, 0x28, ...bytesOf('"}')]);
    expect(readJsonBody(broken, LIMITS)).toEqual({ kind: "malformed", fault: null });
  });

  it("loses the keys that mean something else, at its top only", () => {
    const text = '{"__proto__":{"x":1},"constructor":1,"prototype":2,"a":{"constructor":3}}';
    const body = read(text);
    expect(body).toEqual({ kind: "object", object: { a: { constructor: 3 } } });
    expect(Object.getPrototypeOf(body.kind === "object" ? body.object : null)).toBe(
      Object.prototype,
    );
  });

  it("P10: has brackets in its texts that count for nothing, whatever stands before them", () => {
    const unit = fc.constantFrom('"', "\\", "[", "a", "\n");
    const property = fc.property(fc.array(unit, { maxLength: 60 }), (units) => {
      const object = { text: units.join(""), more: nested(5), ["[".repeat(20)]: "]" };
      expect(read(JSON.stringify(object))).toEqual({ kind: "object", object });
    });
    fc.assert(property, { numRuns: 1_000 });
  });

  it("P10: may be nested only so deep", () => {
    expect(read(`{"a":${nested(9)}}`)).toMatchObject({ kind: "object" });
    expect(read(`{"a":${nested(10)}}`)).toEqual({ kind: "too_deep" });
    expect(read(`{"a":"${nested(1_000)}"}`)).toMatchObject({ kind: "object" });
    expect(readJsonBody(bytesOf(nested(1_000_000)), LIMITS)).toEqual({ kind: "too_deep" });
  });
});
