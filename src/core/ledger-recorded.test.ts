import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTurnId, type TurnId } from "./id.ts";
import {
  availableMicro,
  emptyAccount,
  type LedgerEntry,
  postEntry,
  recordedEntry,
} from "./ledger.ts";

const MAX = 9_007_199_254_740_991;

const turn = (name: string): TurnId => parseTurnId(name) ?? expect.unreachable();
const T1 = turn("t1");
const T2 = turn("t2");
const GIFT = turn("gift");

function entry(kind: LedgerEntry["kind"], amountMicro: number, turnId = T1, n = 0): LedgerEntry {
  return { kind, turnId, n, amountMicro };
}

const anyEntry: fc.Arbitrary<LedgerEntry> = fc.record({
  kind: fc.constantFrom("grant", "reserve", "reserve", "charge", "release"),
  turnId: fc.constantFrom(T1, T2, GIFT),
  n: fc.constant(0),
  amountMicro: fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 0, max: 30 }) },
    { weight: 1, arbitrary: fc.integer({ min: MAX - 30, max: MAX }) },
  ),
});

describe("an entry that a journal has", () => {
  const held = recordedEntry(emptyAccount("granted"), entry("reserve", 10));

  it("is believed, whatever the balance", () => {
    expect(held).toMatchObject({ openMicro: 10, chargedMicro: 0 });
    expect(availableMicro(held)).toBe(-10);
  });

  it("counts as charged in full, even if the turn held less", () => {
    expect(recordedEntry(held, entry("charge", 25))).toMatchObject({
      openMicro: 0,
      chargedMicro: 25,
      openByTurn: new Map(),
    });
  });

  it("takes nothing from another turn", () => {
    const released = recordedEntry(held, entry("release", 4, T2));
    expect(released.openByTurn).toEqual(new Map([[T1, 10]]));
  });

  it("stops a sum where counting exactly does, so that an account can always be read", () => {
    const all = [entry("grant", MAX, GIFT), entry("grant", 5, GIFT, 1), entry("charge", MAX, T2)];
    const full = [...all, entry("charge", 7)].reduce(recordedEntry, held);
    expect(full).toMatchObject({ grantedMicro: MAX, chargedMicro: MAX, openMicro: 3 });
    expect(availableMicro(full)).toBe(-3);
  });

  it("is open for as long as its turn holds it, however much others hold", () => {
    const reserved = [entry("reserve", MAX, T2), entry("reserve", 4, GIFT)];
    const full = reserved.reduce(recordedEntry, held);
    expect(full.openMicro).toBe(MAX);
    const rest = recordedEntry(full, entry("release", MAX, T2));
    expect(rest).toMatchObject({
      openMicro: 14,
      openByTurn: new Map([
        ["t1", 10],
        ["gift", 4],
      ]),
    });
  });

  it("adds up as what was posted does, as long as the sums are exact", () => {
    const property = fc.property(fc.array(anyEntry, { maxLength: 60 }), (entries) => {
      let posted = emptyAccount("granted");
      let read = posted;
      for (const one of entries) {
        const posting = postEntry(posted, one, null, "committed");
        if (posting.kind !== "posted") continue;
        posted = posting.account;
        read = recordedEntry(read, one);
      }
      expect(read).toEqual(posted);
    });
    fc.assert(property);
  });
});
