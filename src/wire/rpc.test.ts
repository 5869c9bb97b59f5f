import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as rpc from "./rpc.ts";

const read = (value: unknown) => rpc.readRpc(JSON.stringify(value));

describe("a message", () => {
  it("with a method and an id is a request", () => {
    expect(read({ jsonrpc: "2.0", id: 1, method: "m", params: { a: 1 } })).toEqual({
      kind: "request",
      id: 1,
      method: "m",
      params: { a: 1 },
    });
    expect(read({ id: "x", method: "m" })).toMatchObject({ kind: "request", id: "x" });
    expect(read({ id: 0, method: "" })).toMatchObject({ kind: "request", id: 0, method: "" });
  });

  it("with a method and no id is a notification", () => {
    expect(read({ method: "m" })).toEqual({ kind: "notification", method: "m", params: {} });
  });

  it("with an id and a result is an answer, whatever the result", () => {
    for (const result of [{ a: 1 }, null, 0, "", false, []]) {
      expect(read({ id: 7, result })).toEqual({ kind: "result", id: 7, result });
    }
  });

  it("with an error is an answer too, even where nobody knows to what", () => {
    const error = { code: -32_603, message: "no", data: { why: 1 } };
    expect(read({ id: 7, error })).toEqual({ kind: "error", id: 7, error });
    expect(read({ id: null, error })).toEqual({ kind: "error", id: null, error });
    expect(read({ error })).toEqual({ kind: "error", id: null, error });
    expect(read({ id: 7, error, result: null })).toMatchObject({ kind: "error" });
  });

  it("with an error of null has none", () => {
    expect(read({ id: 7, result: { a: 1 }, error: null })).toMatchObject({ kind: "result" });
    expect(read({ id: 7, error: null })).toMatchObject({ kind: "malformed" });
  });

  it.each([
    ["no", { code: -32_603, message: "no" }],
    [7, { code: -32_603, message: "7" }],
    [{}, { code: -32_603, message: "no reason given" }],
    [
      { code: "E", message: 1 },
      { code: -32_603, message: "no reason given" },
    ],
    [
      { code: 1, message: "m" },
      { code: 1, message: "m" },
    ],
    [
      { code: 1, message: "m", data: null },
      { code: 1, message: "m", data: null },
    ],
  ])("with an odd error can still be read: %j", (error, expected) => {
    expect(read({ id: 1, error })).toEqual({ kind: "error", id: 1, error: expected });
  });

  it("with odd parameters has none", () => {
    for (const params of [null, [], "a", 1]) {
      expect(read({ method: "m", params })).toEqual({
        kind: "notification",
        method: "m",
        params: {},
      });
    }
  });

  it("keeps what is in it as it came", () => {
    const line = '{"method":"m","params":{"__proto__":{"a":1},"n":1e2,"deep":[[null]]}}';
    const message = rpc.readRpc(line);
    expect(message.kind).toBe("notification");
    expect(JSON.stringify(message)).toContain('{"__proto__":{"a":1},"n":100,"deep":[[null]]}');
  });
});

describe("a line that is no message", () => {
  it.each([
    ["npm warn something", "it is not JSON"],
    ["", "it is not JSON"],
    ['{"jsonrpc": "2.0", "id":', "it is not JSON"],
    ["[]", "it is not an object"],
    ['[{"method":"m"}]', "it is not an object"],
    ["null", "it is not an object"],
    ['"text"', "it is not an object"],
    ["7", "it is not an object"],
    ["{}", "it has neither a method nor an id"],
    ['{"id":null,"result":1}', "it has neither a method nor an id"],
    ['{"result":1}', "it has neither a method nor an id"],
    ['{"id":1}', "it has neither a method nor a result"],
    ['{"id":1,"method":7}', "it has neither a method nor a result"],
    ['{"id":null,"method":"m"}', "its id is no id"],
    ['{"id":{},"method":"m"}', "its id is no id"],
    ['{"id":true,"method":"m"}', "its id is no id"],
    ['{"id":1e999,"method":"m"}', "its id is no id"],
  ])("is malformed, and it is said why: %s", (line, why) => {
    expect(rpc.readRpc(line)).toEqual({ kind: "malformed", why });
  });

  it("never makes the reader throw, whatever it is", () => {
    const key = fc.constantFrom("jsonrpc", "id", "method", "params", "result", "error", "x");
    const message = fc.dictionary(key, fc.jsonValue());
    const kinds = ["request", "notification", "result", "error", "malformed"];
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          message.map((one) => JSON.stringify(one)),
        ),
        (line) => {
          expect(kinds).toContain(rpc.readRpc(line).kind);
        },
      ),
    );
  });
});

describe("what is written", () => {
  const id = fc.oneof(fc.string(), fc.integer());
  const params = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }));
  /** What JSON keeps of a value: minus zero, for one, is not in it. */
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  it("is one line, and reads as what it was", () => {
    fc.assert(
      fc.property(id, fc.string(), params, (id, method, params) => {
        const wrote: readonly (readonly [string, rpc.RpcMessage])[] = [
          [rpc.requestLine(id, method, params), { kind: "request", id, method, params }],
          [rpc.notificationLine(method, params), { kind: "notification", method, params }],
          [rpc.resultLine(id, params), { kind: "result", id, result: params }],
          [rpc.errorLine(id, { code: 1, message: method }), errorOf(id, method)],
        ];
        for (const [line, message] of wrote) {
          expect(line.indexOf("\n")).toBe(line.length - 1);
          expect(rpc.readRpc(line)).toEqual(asJson(message));
        }
      }),
    );
  });

  it("has a result even where there is none, and an error even for no request", () => {
    expect(rpc.resultLine(1, undefined)).toBe('{"jsonrpc":"2.0","id":1,"result":null}\n');
    expect(rpc.errorLine(null, { code: 1, message: "m" })).toBe(
      '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}\n',
    );
  });
});

function errorOf(id: rpc.RpcId, message: string): rpc.RpcMessage {
  return { kind: "error", id, error: { code: 1, message } };
}

describe("P10: the nesting of a message", () => {
  const nested = (depth: number, text = "") =>
    `{"method":"m","params":{"a":${"[".repeat(depth)}${JSON.stringify(text)}${"]".repeat(depth)}}}`;

  it("is bounded, because what is too deep can be read and not written again", () => {
    expect(rpc.readRpc(nested(900, "x".repeat(2_000)))).toMatchObject({ kind: "notification" });
    for (const depth of [1_100, 50_000]) {
      expect(rpc.readRpc(nested(depth))).toMatchObject({
        kind: "malformed",
        why: expect.stringMatching(/deep/),
      });
    }
  });

  it("is not mistaken: brackets in texts do not count, whatever is escaped there", () => {
    const texts = fc
      .array(fc.constantFrom("[", "]", "{", '"', "\\", "\n", "é", "[[[["))
      .map((parts) => parts.join(""));
    const message = fc.tuple(texts, texts).map(([a, b]) => {
      return { method: "m", params: { [`${a}${"[".repeat(1_500)}`]: `${b}${"{".repeat(1_500)}` } };
    });
    fc.assert(
      fc.property(message, (said) => {
        expect(read(said)).toEqual({ kind: "notification", ...said });
      }),
    );
  });
});
