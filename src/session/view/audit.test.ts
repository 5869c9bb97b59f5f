import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSessionId, parseTenantId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { pageOf } from "../../store/page.ts";
import type { JournalQuery, JournalRow } from "../../store/store.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { type AuditPage, auditPage } from "./audit.ts";

const KEY = { tenantId: given(parseTenantId("t")), sessionId: given(parseSessionId("s")) };

/** A journal with an entry of the session at each of these places, and others' at all others. */
function storeOf(places: readonly number[]) {
  let reads = 0;
  const rows = places.map((seq): JournalRow => {
    const entry = { journal: "audit", key: `${seq}`, sessionId: KEY.sessionId } as const;
    return { ...entry, seq, atMs: seq, text: "{}" };
  });
  const readJournal = async (_: unknown, { after, limit }: JournalQuery) => {
    reads += 1;
    return ok(
      pageOf(
        rows.filter(({ seq }) => seq > after),
        limit,
      ),
    );
  };
  return { store: { readJournal }, reads: () => reads };
}

async function allOf(places: readonly number[], limit: number) {
  const { store } = storeOf(places);
  const read: number[] = [];
  for (let before: number | null = null; ; ) {
    const page: AuditPage = value(await auditPage(store, KEY, { before, limit }));
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    read.push(...page.rows.map(({ seq }) => seq));
    before = page.rows.at(-1)?.seq ?? null;
    if (!page.more) return read;
  }
}

describe("a session's audit", () => {
  it("has every entry once, newest first, however few of the tenant's are its own", async () => {
    const gaps = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 100_000 })));
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 1, max: 5 }), async (gaps, limit) => {
        let seq = 0;
        const places = gaps.map((gap) => (seq += gap));
        expect(await allOf(places, limit)).toEqual(places.toReversed());
      }),
    );
  });

  it("P10: is found among a million others by a few looks", async () => {
    const busy = Array.from({ length: 5_000 }, (_, n) => n + 1);
    const { store, reads } = storeOf([...busy, 1_000_000]);
    const page = value(await auditPage(store, KEY, { before: null, limit: 3 }));
    expect(page.rows.map(({ seq }) => seq)).toEqual([1_000_000, 5_000, 4_999]);
    expect(reads()).toBeLessThan(100);
  });
});
