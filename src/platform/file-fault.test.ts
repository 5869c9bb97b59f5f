import { describe, expect, it } from "vitest";
import { fileFault } from "./file-fault.ts";

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
