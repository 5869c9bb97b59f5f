import { describe, expect, it } from "vitest";
import { STATEMENT_ROWS_SEARCHED_MAX } from "../../core/limits.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { journalEntry, plainLine } from "./entry.ts";
import { TENANT, Till } from "./till.fixture.ts";
import { ALL_TIME, type StatementPage, statementCsv } from "./usage.ts";

/** A ledger whose entries, from the first on, were written at these times. */
async function written(times: readonly number[]): Promise<Till> {
  const till = await Till.open(0);
  for (let first = 0; first < times.length; first += 100) {
    const entries = times.slice(first, first + 100).map((atMs, n) => {
      const id = turnId(`g${first + n}`);
      const entry = { kind: "grant", turnId: id, n: 0, amountMicro: 1 } as const;
      return journalEntry(plainLine(entry, null), null, atMs);
    });
    value(await till.frail.commitEntries(entries));
  }
  return till;
}

/** The entries of each page, page by page. */
async function pagesOf({ meter }: Till, limit: number, period = ALL_TIME) {
  const pages: number[][] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: StatementPage = value(await meter.statement(TENANT, { ...period, after, limit }));
    pages.push(page.lines.map(({ seq }) => seq));
    after = page.nextAfter;
  }
  return pages;
}

describe("a statement of a period", () => {
  it("has what was then, from its first moment on and before its last, by pages", async () => {
    const till = await written([10, 20, 20, 30, 15, 25, 40]);
    const period = { fromMs: 15, beforeMs: 30 };
    expect(await pagesOf(till, 100, period)).toEqual([[2, 3, 5, 6]]);
    expect((await pagesOf(till, 2, period)).flat()).toEqual([2, 3, 5, 6]);
    expect(await pagesOf(till, 3)).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
    expect(await pagesOf(till, 7)).toEqual([[1, 2, 3, 4, 5, 6, 7]]);
  });

  it("P10: looks at so many entries for a page, and says where to go on", async () => {
    const early = Array<number>(STATEMENT_ROWS_SEARCHED_MAX + 500).fill(1);
    const till = await written([...early, 2]);
    const period = { fromMs: 2, beforeMs: 3 };
    const pages = await pagesOf(till, 1, period);
    expect(pages).toEqual([[], [early.length + 1]]);
    const pieces = value(await statementCsv(till.meter, TENANT, { ...period, after: 0 }));
    let text = "";
    for await (const piece of pieces) text += piece;
    expect(text.trimEnd().split("\r\n")).toHaveLength(2);
  });
});
