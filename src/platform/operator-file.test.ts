import { describe, expect, it } from "vitest";
import { fileFault, parseJson } from "./operator-file.ts";

describe("the JSON of an operator", () => {
  it("is read", () => {
    expect(parseJson('{"a": [1, "ü"]}')).toEqual({ value: { a: [1, "ü"] } });
    expect(parseJson("null")).toEqual({ value: null });
  });

  it.each([
    ["", "it is empty; write {} into it"],
    [" \n", "it is empty; write {} into it"],
    ['{\n  "port": 4170,\n  "agent": qwen\n}', /unexpected token 'q', line 3, column 12$/],
    ["// a comment\n{}", /unexpected token '\/', line 1, column 1$/],
    ['{"port": 1,}', /property name, line 1, column 12$/],
    ['{"port": 41', /line 1, column 12$/],
    ['{"agent": "qw', /unterminated string, line 1, column 14$/],
    ['{"rate-limit": tru', /it ends too early, line 1, column 19$/],
    ['{"port": 1} x', /line 1, column 13$/],
  ])("that is none, as %j, is refused with the place", (text, fault) => {
    const read = parseJson(text);
    expect(read.fault).toMatch(fault);
  });

  it("P8: is not repeated, as it may hold a secret", () => {
    const { fault } = parseJson('{"token": hush-4711-do-not-tell}');
    expect(fault).toBe("it is not JSON: unexpected token 'h', line 1, column 11");
  });
});

describe("a file that cannot be read", () => {
  it.each([
    ["ENOENT", /no such file; check its path/],
    ["EISDIR", /is a directory; name a file/],
    ["EACCES", /permission is denied; let/],
    ["EROFS", /read-only; choose another/],
  ])("with %s is told as a sentence without the code", (code, clause) => {
    const told = fileFault(Object.assign(new Error(`${code}: of the system`), { code }));
    expect(told).toMatch(clause);
    expect(told).not.toContain(code);
  });

  it("for another reason has the words of the system", () => {
    expect(fileFault(new Error("what it said"))).toBe("what it said");
  });
});
