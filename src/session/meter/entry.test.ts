import { describe, expect, it } from "vitest";
import { turnId } from "../../core/session/life.fixture.ts";
import { journalEntry, plainLine, readLine } from "./entry.ts";

const ENTRY = { kind: "reserve", turnId: turnId("t"), n: 0, amountMicro: 5 } as const;

function rowOf(change: object) {
  const entry = journalEntry(plainLine(ENTRY, null), null, 1);
  return { ...entry, seq: 1, text: JSON.stringify({ ...JSON.parse(entry.text), ...change }) };
}

describe("an entry of the ledger's journal", () => {
  it.each([false, true])("is read as it was written, asked aside or not: %s", (isAside) => {
    const line = plainLine(ENTRY, null, isAside);
    const { text } = journalEntry(line, null, 1);
    expect(readLine({ ...rowOf({}), text })).toMatchObject(line);
  });

  it.each([-1, 0.5, 2 ** 53, "5", null])("P9: is none with an amount of %s", (amountMicro) => {
    expect(readLine(rowOf({ amountMicro }))).toBeNull();
  });

  it.each([{ kind: "gift" }, { n: -1 }, { v: 2 }, { turnId: "" }])("is none with %j", (change) => {
    expect(readLine(rowOf(change))).toBeNull();
  });
});
