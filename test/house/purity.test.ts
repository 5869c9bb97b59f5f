import { describe, expect, it } from "vitest";
import { impurities } from "./purity.ts";

describe("the purity checker", () => {
  it.each([
    ["Date.now", "const now = Date.now();"],
    ["Date.now", 'const now = Date["now"]();'],
    ["new Date", "const now = new Date();"],
    ["Date()", "const now = Date();"],
    ["performance", "const now = performance.now();"],
    ["Math.random", "const n = Math.random();"],
    ["crypto", "const id = crypto.randomUUID();"],
    ["async", "const f = async () => 1;"],
    ["async", "class A { async f() {} }"],
    ["await", "await f();"],
    ["for await", "for await (const a of b) f(a);"],
    ["Promise", "let a: Promise<number>;"],
    ["setTimeout", "setTimeout(f, 1);"],
    ["queueMicrotask", "queueMicrotask(f);"],
    ["process", "const { env } = process;"],
    ["Buffer", "const bytes = Buffer.from(a);"],
    ["console", "console.log(a);"],
    ["globalThis", 'globalThis["Date"];'],
    ["throw", "function f() { throw a; }"],
  ])("refuses %s in: %s", (word, text) => {
    expect(impurities("a.ts", text)).toEqual([expect.stringContaining(`a.ts:1 uses ${word} (`)]);
  });

  it("says on which line", () => {
    expect(impurities("a.ts", "const a = 1;\n\nconst b = Date.now();")).toEqual([
      "a.ts:3 uses Date.now (a clock)",
    ]);
  });

  it.each([
    ["prose", "// We await a Promise, then throw it at the process.\n/* Date.now() */"],
    ["strings", "const a = `await console`; const c = 'throw new Date()';"],
    ["names of properties", "const a = { process: 1, await: 2 }; f(a.process, a.crypto);"],
    ["names of fields", "type A = { readonly process: number; console(): void };"],
    ["arithmetic on given times", "const a = Math.max(Date.UTC(2026, 0), atMs);"],
  ])("is not tripped by %s", (_what, text) => {
    expect(impurities("a.ts", text)).toEqual([]);
  });
});
