import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTurnId, type TurnId } from "./id.ts";
import {
  type Account,
  availableMicro,
  emptyAccount,
  type LedgerEntry,
  type Posting,
  postEntry,
  settle,
} from "./ledger.ts";

const MAX = 9_007_199_254_740_991;

const turn = (name: string): TurnId => parseTurnId(name) ?? expect.unreachable();
const T1 = turn("t1");
const T2 = turn("t2");
const GIFT = turn("gift");

type Weight = "weighed" | "committed";

function entry(kind: LedgerEntry["kind"], amountMicro: number, turnId = T1, n = 0): LedgerEntry {
  return { kind, turnId, n, amountMicro };
}

/** The tenant's journal as a store keeps it: one amount for each key, and what they add up to. */
class Journal {
  readonly entries = new Map<string, LedgerEntry>();
  account: Account;

  constructor(limit: Account["limit"]) {
    this.account = emptyAccount(limit);
  }

  post(next: LedgerEntry, weight: Weight = "weighed"): Posting {
    const key = `${next.turnId} ${next.kind} ${next.n}`;
    const known = this.entries.get(key)?.amountMicro ?? null;
    const posting = postEntry(this.account, next, known, weight);
    if (posting.kind === "posted") {
      this.entries.set(key, next);
      this.account = posting.account;
    }
    return posting;
  }

  /** The sum of what was posted, counted without doubles. */
  sum(kind: LedgerEntry["kind"], turnId?: TurnId): bigint {
    return [...this.entries.values()]
      .filter((one) => one.kind === kind && (turnId === undefined || one.turnId === turnId))
      .reduce((sum, { amountMicro }) => sum + BigInt(amountMicro), 0n);
  }

  held(turnId?: TurnId): bigint {
    const [reserved, charged, released] = (["reserve", "charge", "release"] as const).map((kind) =>
      this.sum(kind, turnId),
    );
    return (reserved ?? 0n) - (charged ?? 0n) - (released ?? 0n);
  }
}

/** A journal in which these entries were posted one after the other, none of them refused. */
function journal(...entries: readonly LedgerEntry[]): Journal {
  const book = new Journal("granted");
  for (const one of entries) expect(book.post(one).kind).toBe("posted");
  return book;
}

/** What a tenant has, in the order granted, available, open, charged. */
function figures({ account }: Journal): readonly number[] {
  const { grantedMicro, openMicro, chargedMicro } = account;
  return [grantedMicro, availableMicro(account), openMicro, chargedMicro];
}

const refusal = (code: string, details: object = {}) => ({
  kind: "refused",
  refusal: { code, details: expect.objectContaining(details) },
});

describe("P9: an account", () => {
  const gift = entry("grant", 100, GIFT);

  it("begins with nothing", () => {
    expect(figures(journal())).toEqual([0, 0, 0, 0]);
  });

  // biome-ignore format: a table is read by its columns
  it.each<[string, LedgerEntry[], number[]]>([
    //                                                          granted, available, open, charged
    ["a grant adds", [gift],                                                   [100, 100, 0, 0]],
    ["a second grant adds", [gift, entry("grant", 7, GIFT, 1)],                [107, 107, 0, 0]],
    ["a reservation is spoken for", [gift, entry("reserve", 60)],              [100, 40, 60, 0]],
    ["all may be reserved", [gift, entry("reserve", 100)],                     [100, 0, 100, 0]],
    ["a slice adds", [gift, entry("reserve", 60), entry("reserve", 5, T1, 1)], [100, 35, 65, 0]],
    ["turns are apart", [gift, entry("reserve", 60), entry("reserve", 5, T2)], [100, 35, 65, 0]],
    ["a charge keeps", [gift, entry("reserve", 60), entry("charge", 45)],      [100, 40, 15, 45]],
    ["a release gives back", [gift, entry("reserve", 60), entry("release", 15)],[100, 55, 45, 0]],
    ["nothing reserved is nothing open", [gift, entry("reserve", 0)],          [100, 100, 0, 0]],
    ["nothing may be charged", [gift, entry("charge", 0), entry("release", 0)],[100, 100, 0, 0]],
  ])("where %s: %j", (_what, entries, expected) => {
    expect(figures(journal(...entries))).toEqual(expected);
  });

  it("forgets a turn that holds nothing any more", () => {
    const book = journal(gift, entry("reserve", 60), entry("reserve", 5, T2));
    expect([...book.account.openByTurn]).toEqual([
      ["t1", 60],
      ["t2", 5],
    ]);
    book.post(entry("charge", 45));
    book.post(entry("release", 15));
    expect([...book.account.openByTurn]).toEqual([["t2", 5]]);
  });

  it("refuses a reservation beyond what is available, and says both figures", () => {
    const book = journal(gift, entry("reserve", 60));
    const figuresSaid = { neededMicro: 41, availableMicro: 40, scope: "balance" };
    const refused = refusal("insufficient_credits", figuresSaid);
    expect(book.post(entry("reserve", 41, T2))).toEqual(refused);
    expect(book.post(entry("reserve", 41, T1, 1))).toEqual(refused);
    expect(figures(book)).toEqual([100, 40, 60, 0]);
  });

  it("does not weigh what the session's log has committed: it may go below zero", () => {
    const book = journal(gift, entry("reserve", 100));
    expect(book.post(entry("reserve", 30, T1, 1), "committed").kind).toBe("posted");
    expect(figures(book)).toEqual([100, -30, 130, 0]);
    expect(book.post(entry("charge", 130), "committed").kind).toBe("posted");
    expect(figures(book)).toEqual([100, -30, 0, 130]);
    // A refusal says that nothing is left; the balance says how far it is overdrawn.
    expect(book.post(entry("reserve", 1, T2))).toEqual(
      refusal("insufficient_credits", { neededMicro: 1, availableMicro: 0 }),
    );
  });

  it.each(["charge", "release"] as const)("refuses a %s beyond what its turn holds", (kind) => {
    const book = journal(gift, entry("reserve", 60), entry("reserve", 5, T2));
    for (const weight of ["weighed", "committed"] as const) {
      const refused = refusal("reservation_not_open", { turnId: "t2" });
      expect(book.post(entry(kind, 6, T2), weight)).toEqual(refused);
    }
    expect(figures(book)).toEqual([100, 35, 65, 0]);
  });

  it("without a limit reserves without a balance, and counts all the same", () => {
    const book = new Journal("unlimited");
    expect(availableMicro(book.account)).toBe(MAX);
    expect(book.post(entry("reserve", 60)).kind).toBe("posted");
    expect(book.post(entry("charge", 45)).kind).toBe("posted");
    expect(availableMicro(book.account)).toBe(MAX - 15);
    expect([book.account.openMicro, book.account.chargedMicro]).toEqual([15, 45]);
  });
});

describe("P9: an entry", () => {
  const kinds = ["grant", "reserve", "charge", "release"] as const;

  it.each([-1, 0.5, 1e-9, MAX + 1, -MAX, Number.NaN, Number.POSITIVE_INFINITY])(
    "is refused if its amount is %d: amounts are whole and not negative",
    (amount) => {
      for (const kind of kinds) {
        const book = journal(entry("grant", 100, GIFT), entry("reserve", 50));
        const refused = refusal("invalid_amount", { limit: MAX });
        expect(book.post(entry(kind, amount, T1, 9))).toEqual(refused);
        expect(book.post(entry(kind, amount, T1, 9), "committed")).toEqual(refused);
      }
    },
  );

  it("is refused if a sum would pass what a double counts exactly", () => {
    const book = journal(entry("grant", MAX, GIFT));
    const full = refusal("grants_too_large", { limit: MAX, leftMicro: 0 });
    expect(book.post(entry("grant", 1, GIFT, 1))).toEqual(full);
    expect(book.post(entry("reserve", MAX)).kind).toBe("posted");
    expect(book.post(entry("charge", MAX)).kind).toBe("posted");
    expect(book.post(entry("reserve", 1, T2), "committed")).toEqual(refusal("invalid_amount"));
    expect(figures(book)).toEqual([MAX, 0, 0, MAX]);
  });

  it.each(kinds)("of kind %s counts once, however often it is posted", (kind) => {
    const book = journal(entry("grant", 100, GIFT), entry("reserve", 50));
    const again = entry(kind, 20, T1, 1);
    book.post(again);
    const before = book.account;
    expect(book.post(again)).toEqual({ kind: "repeated" });
    expect(book.post(again, "committed")).toEqual({ kind: "repeated" });
    expect(book.account).toBe(before);
  });

  it.each(kinds)("of kind %s is refused if its key is there with another amount", (kind) => {
    const book = journal(entry("grant", 100, GIFT), entry("reserve", 50));
    book.post(entry(kind, 20, T1, 1));
    const refused = refusal("ledger_conflict", { turnId: "t1", kind, n: 1 });
    expect(book.post(entry(kind, 21, T1, 1))).toEqual(refused);
    expect(book.post(entry(kind, 0, T1, 1), "committed")).toEqual(refused);
  });

  it("repeats even where it would no longer be allowed", () => {
    const book = journal(entry("grant", 100, GIFT), entry("reserve", 100), entry("charge", 100));
    expect(book.post(entry("reserve", 100))).toEqual({ kind: "repeated" });
    expect(book.post(entry("charge", 100))).toEqual({ kind: "repeated" });
  });
});

const small = fc.integer({ min: 0, max: 30 });
const bad = fc.constantFrom(-1, 0.5, MAX + 1, Number.NaN, Number.POSITIVE_INFINITY);
const amount = fc.oneof(
  { weight: 20, arbitrary: small },
  { weight: 1, arbitrary: bad },
  { weight: 1, arbitrary: fc.integer({ min: MAX - 30, max: MAX }) },
);
const anyEntry: fc.Arbitrary<LedgerEntry> = fc.record({
  kind: fc.constantFrom("grant", "reserve", "reserve", "charge", "release"),
  turnId: fc.constantFrom(T1, T2, turn("t3")),
  n: fc.integer({ min: 0, max: 2 }),
  amountMicro: amount,
});
const anyWeight = fc.constantFrom<Weight>("weighed", "committed");
const anyLimit = fc.constantFrom<Account["limit"]>("granted", "unlimited");
const anySteps = fc.array(fc.tuple(anyEntry, anyWeight), { maxLength: 60 });

describe("P9: whatever is posted, in whatever order, repeated and contradicted", () => {
  it("granted = available + open + charged, in integers, and as the journal has it", () => {
    const property = fc.property(anyLimit, anySteps, (limit, steps) => {
      const book = new Journal(limit);
      for (const [next, weight] of steps) {
        book.post(next, weight);
        const { grantedMicro, openMicro, chargedMicro, openByTurn } = book.account;
        const sums = [grantedMicro, openMicro, chargedMicro, ...openByTurn.values()];
        expect(sums.every(Number.isSafeInteger)).toBe(true);
        expect(BigInt(grantedMicro)).toBe(book.sum("grant"));
        expect(BigInt(chargedMicro)).toBe(book.sum("charge"));
        expect(BigInt(openMicro)).toBe(book.held());
        for (const id of [T1, T2]) expect(BigInt(openByTurn.get(id) ?? 0)).toBe(book.held(id));
        if (limit === "unlimited") continue;
        const available = availableMicro(book.account);
        expect(available).toSatisfy(Number.isSafeInteger);
        expect(BigInt(available) + book.held() + book.sum("charge")).toBe(book.sum("grant"));
      }
    });
    fc.assert(property);
  });

  it("a turn never gives or keeps more than it reserved, and none is open with nothing", () => {
    const property = fc.property(anyLimit, anySteps, (limit, steps) => {
      const book = new Journal(limit);
      for (const [next, weight] of steps) book.post(next, weight);
      expect([...book.account.openByTurn.values()].every((held) => held > 0)).toBe(true);
    });
    fc.assert(property);
  });

  it("only what the log has committed takes a balance below zero", () => {
    const property = fc.property(anySteps, (steps) => {
      const book = new Journal("granted");
      for (const [next] of steps) book.post(next, "weighed");
      expect(availableMicro(book.account)).toBeGreaterThanOrEqual(0);
    });
    fc.assert(property);
  });

  it("posting everything twice is posting it once", () => {
    const property = fc.property(anyLimit, anySteps, (limit, steps) => {
      const once = new Journal(limit);
      const twice = new Journal(limit);
      for (const [next, weight] of steps) {
        once.post(next, weight);
        const first = twice.post(next, weight);
        const second = twice.post(next, weight);
        expect(second.kind).toBe(first.kind === "refused" ? "refused" : "repeated");
      }
      expect(twice.account).toEqual(once.account);
    });
    fc.assert(property);
  });

  it("an entry changes nothing in the account it was weighed against", () => {
    const property = fc.property(anySteps, anyEntry, anyWeight, (steps, last, weight) => {
      const book = new Journal("granted");
      for (const [next, how] of steps) book.post(next, how);
      const before = { ...book.account, openByTurn: new Map(book.account.openByTurn) };
      postEntry(book.account, last, null, weight);
      expect(book.account).toEqual(before);
    });
    fc.assert(property);
  });
});

describe("P9: the settlement of a turn", () => {
  const reservation = { turnId: T1, slices: 1, price: null };

  it.each([
    ["all of it was spent", 50, 50, 0, 50, 0],
    ["some of it was spent", 50, 20, 0, 20, 30],
    ["nothing was reported", 50, 0, 0, 0, 50],
    ["more was spent", 50, 70, 20, 70, 0],
    ["nothing was reserved and something spent", 0, 70, 70, 70, 0],
    ["nothing was reserved or spent", 0, 0, 0, 0, 0],
    ["all there is was reserved", MAX, 1, 0, 1, MAX - 1],
    ["all there is was spent", 1, MAX, MAX - 1, MAX, 0],
  ])("where %s", (_what, reservedMicro, spentMicro, furtherMicro, chargedMicro, releasedMicro) => {
    expect(settle({ ...reservation, reservedMicro, spentMicro })).toEqual({
      furtherMicro,
      chargedMicro,
      releasedMicro,
    });
  });

  const micro = fc.oneof(small, fc.integer({ min: 0, max: MAX }));

  it("is an equation: reserved + further = charged + released, all of them whole", () => {
    const property = fc.property(micro, micro, (reservedMicro, spentMicro) => {
      const settled = settle({ ...reservation, reservedMicro, spentMicro });
      const { furtherMicro, chargedMicro, releasedMicro } = settled;
      const amounts = [furtherMicro, chargedMicro, releasedMicro];
      expect(amounts.every((one) => Number.isSafeInteger(one) && one >= 0)).toBe(true);
      expect(reservedMicro + furtherMicro).toBe(chargedMicro + releasedMicro);
      expect(chargedMicro).toBe(spentMicro);
      expect(furtherMicro === 0 || releasedMicro === 0).toBe(true);
    });
    fc.assert(property);
  });

  const slices = fc.array(small, { minLength: 1, maxLength: 4 });

  it("posted from the log, even twice, leaves nothing open: reserved = charged + released", () => {
    const property = fc.property(fc.array(fc.tuple(slices, small), { maxLength: 5 }), (turns) => {
      const book = new Journal("granted");
      const entries = turns.flatMap(([reserved, spent], at) =>
        life(turn(`t${at}`), reserved, spent),
      );
      for (const one of [...entries, ...entries]) {
        expect(book.post(one, "committed").kind).not.toBe("refused");
      }
      expect(book.account.openByTurn.size).toBe(0);
      turns.forEach(([, spent], at) => {
        const id = turn(`t${at}`);
        expect(book.sum("reserve", id)).toBe(book.sum("charge", id) + book.sum("release", id));
        expect(book.sum("charge", id)).toBe(BigInt(spent));
      });
      const spent = turns.reduce((sum, [, one]) => sum + one, 0);
      expect(figures(book)).toEqual([0, 0 - spent, 0, spent]);
    });
    fc.assert(property);
  });
});

/** All entries of one turn, from its first slice to its settlement. */
function life(turnId: TurnId, slices: readonly number[], spentMicro: number): LedgerEntry[] {
  const reservedMicro = slices.reduce((sum, slice) => sum + slice, 0);
  const open = { turnId, reservedMicro, spentMicro, slices: slices.length, price: null };
  const { furtherMicro, chargedMicro, releasedMicro } = settle(open);
  return [
    ...slices.map((slice, n) => entry("reserve", slice, turnId, n)),
    entry("reserve", furtherMicro, turnId, slices.length),
    entry("charge", chargedMicro, turnId),
    entry("release", releasedMicro, turnId),
  ];
}
