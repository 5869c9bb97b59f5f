import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSessionId, parseTenantId } from "../../core/id.ts";
import { TRANSCRIPT_PAGE_BYTES_MAX } from "../../core/limits.ts";
import { ok } from "../../core/result.ts";
import { pageOf } from "../../store/backend.ts";
import type { BackwardRange, FoldedTurn } from "../../store/store.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { turnsAfter, turnsBefore } from "./transcript.ts";

const KEY = { tenantId: given(parseTenantId("t")), sessionId: given(parseSessionId("s")) };

/** Turns of these lengths in events, one after the other. */
function turnsOf(lengths: readonly number[], text = "[]"): readonly FoldedTurn[] {
  let lastId = 0;
  return lengths.map((length) => {
    const firstId = lastId + 1;
    lastId += length;
    return { firstId, lastId, text };
  });
}

/** As stores give them: newest first, and fewer than were asked for if they weigh too much. */
function storeOf(turns: readonly FoldedTurn[]) {
  let reads = 0;
  const readTurns = async (_: unknown, { before, limit }: BackwardRange) => {
    reads += 1;
    return ok(pageOf(turns.filter(({ lastId }) => lastId < before).toReversed(), limit));
  };
  return { store: { readTurns }, reads: () => reads };
}

async function forwards(turns: readonly FoldedTurn[], limit: number) {
  const { store } = storeOf(turns);
  const through = turns.at(-1)?.lastId ?? 0;
  const read: FoldedTurn[] = [];
  for (let after = 0; ; ) {
    const page = value(await turnsAfter(store, KEY, { after, through }, limit));
    expect(page.turns.length).toBeLessThanOrEqual(limit);
    read.push(...page.turns);
    after = page.turns.at(-1)?.lastId ?? through;
    if (!page.more) return read;
  }
}

async function backwards(turns: readonly FoldedTurn[], limit: number) {
  const { store } = storeOf(turns);
  const read: FoldedTurn[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = value(await turnsBefore(store, KEY, before, limit));
    expect(page.turns.length).toBeLessThanOrEqual(limit);
    read.unshift(...page.turns);
    before = page.turns[0]?.firstId ?? 0;
    if (!page.more) return read;
  }
}

describe("pages of turns", () => {
  it("P3: have every turn once and in order, whichever way they are read", async () => {
    const lengths = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(5_000)));
    await fc.assert(
      fc.asyncProperty(lengths, fc.integer({ min: 1, max: 7 }), async (lengths, limit) => {
        const turns = turnsOf(lengths);
        expect(await forwards(turns, limit)).toEqual(turns);
        expect(await backwards(turns, limit)).toEqual(turns);
      }),
      { numRuns: 200 },
    );
  });

  it("P10: are found in a long log by a few looks, and not by reading all of it", async () => {
    const turns = turnsOf(Array.from({ length: 2_000 }, (_, n) => 1 + ((n * 7_919) % 3_000)));
    const { store, reads } = storeOf(turns);
    const through = given(turns.at(-1) ?? null).lastId;
    const { lastId: after } = given(turns[999] ?? null);
    const page = value(await turnsAfter(store, KEY, { after, through }, 10));
    expect(page.turns).toEqual(turns.slice(1_000, 1_010));
    expect(reads()).toBeLessThan(30);
  });

  it("P10: end before they weigh too much, and name a turn that does so alone", async () => {
    const half = "x".repeat(TRANSCRIPT_PAGE_BYTES_MAX / 2);
    const { store } = storeOf(turnsOf([3, 3, 3], half));
    const first = value(await turnsAfter(store, KEY, { after: 0, through: 9 }, 10));
    expect(first).toMatchObject({ turns: [{ lastId: 3 }, { lastId: 6 }], more: true });
    const last = value(await turnsBefore(store, KEY, 10, 10));
    expect(last).toMatchObject({ turns: [{ lastId: 6 }, { lastId: 9 }], more: true });
    const large = storeOf(turnsOf([3], `${half}${half}x`));
    const none = value(await turnsBefore(large.store, KEY, 10, 10));
    expect(none).toMatchObject({ turns: [], tooLarge: { lastId: 3 } });
  });
});
