import { describe, expect, it } from "vitest";
import { readAnswer } from "./messages.ts";

const ANSWER = { n: 1, isDone: true, text: "null", notes: [{ kind: "log", text: "hello" }] };

describe("what a thread sends", () => {
  it("is an answer, with what its extension keeps if that has changed", () => {
    expect(readAnswer(ANSWER)).toEqual(ANSWER);
    expect(readAnswer({ ...ANSWER, slot: null, more: 1 })).toEqual({ ...ANSWER, slot: null });
    expect(readAnswer({ ...ANSWER, slot: "{}" })).toEqual({ ...ANSWER, slot: "{}" });
  });

  it.each<object | null>([
    null,
    [],
    { ...ANSWER, n: "1" },
    { ...ANSWER, isDone: 1 },
    { ...ANSWER, text: {} },
    { ...ANSWER, text: "x".repeat(2_000_000) },
    { ...ANSWER, slot: {} },
    { ...ANSWER, slot: "x".repeat(2_000_000) },
    { ...ANSWER, notes: null },
    { ...ANSWER, notes: Array.from({ length: 65 }, () => ANSWER.notes[0]) },
    { ...ANSWER, notes: [{ kind: "vote", text: "yes" }] },
    { ...ANSWER, notes: [{ kind: "log", text: "x".repeat(16_385) }] },
  ])("P10: is no answer if it is anything else or too much (%#)", (value) => {
    expect(readAnswer(value)).toBeNull();
  });
});
