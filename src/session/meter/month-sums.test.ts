import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import { LEDGER_MONTH_USERS_MAX } from "../../core/limits.ts";
import { type Month, monthEndMs, monthOf } from "../../core/month.ts";
import { ok } from "../../core/result.ts";
import { sessionId, turnId } from "../../core/session/life.fixture.ts";
import type { JournalQuery, JournalRow } from "../../store/store.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { journalEntry, plainLine, readLine } from "./entry.ts";
import { AmountTally, monthUse } from "./month-sums.ts";
import { documentOf, noSums, readSums, type Sums, withLine } from "./sums.ts";
import { ADA, granting, OPERATOR, TENANT, Till } from "./till.fixture.ts";

const FIRST = monthOf(Date.UTC(2026, 10, 1));
const USERS = ["ada", "ben", "cyd"].map((name) => given(parseUserId(name)));
const SESSIONS = ["s0", "s1"].map(sessionId);

interface Charge {
  readonly month: number;
  readonly user: number;
  readonly session: number;
  readonly micro: number;
}

/** A journal of charges, whose times are what a clock that jumps has said. */
class Journal {
  readonly rows: JournalRow[] = [];

  charge({ month, user, session, micro }: Charge): JournalRow {
    const seq = this.rows.length + 1;
    const entry = { kind: "charge", turnId: turnId(`t${seq}`), n: 0, amountMicro: micro } as const;
    const line = plainLine(entry, USERS[user] ?? null);
    const atMs = monthEndMs(FIRST + month) - 1;
    const row = { ...journalEntry(line, SESSIONS[session] ?? null, atMs), seq };
    this.rows.push(row);
    return row;
  }

  /** Pages of two, so that reading takes several. */
  async readJournal(_: typeof TENANT, { after, sessionId: only }: JournalQuery) {
    const rest = this.rows.filter(
      ({ seq, sessionId: id }) => seq > after && (only === undefined || only === id),
    );
    return ok({ rows: rest.slice(0, 2), more: rest.length > 2 });
  }
}

const use = async (journal: Journal, sums: Sums, month: Month, user: number, session: number) => {
  const ledger = { store: journal, tenantId: TENANT, sums };
  const share = { userId: USERS[user] ?? null, sessionId: SESSIONS[session] ?? null };
  const { chargedMicro, userMicro, sessionMicro } = value(await monthUse(ledger, month, share));
  return { chargedMicro, userMicro, sessionMicro };
};

const charge = fc.record({
  month: fc.integer({ min: -3, max: 4 }),
  user: fc.integer({ min: 0, max: 2 }),
  session: fc.integer({ min: 0, max: 1 }),
  micro: fc.integer({ min: 0, max: 9 }),
});
const step = fc.oneof(
  charge.map((made) => ({ act: "charge", made }) as const),
  charge.map((asked) => ({ act: "ask", asked }) as const),
  fc.constantFrom({ act: "restart" } as const, { act: "upgrade" } as const),
);

describe("P9: what was charged in a month", () => {
  it("is what the journal has of it, whatever the clock did, after any restart", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const journal = new Journal();
        let sums = noSums();
        const made: Charge[] = [];
        for (const one of steps) {
          if (one.act === "charge") {
            made.push(one.made);
            sums = withLine(sums, given(readLine(journal.charge(one.made))));
          } else if (one.act === "ask") {
            const { month, user, session } = one.asked;
            const of = made.filter((other) => other.month === month);
            const sum = (some: readonly Charge[]) =>
              some.reduce((all, { micro }) => all + micro, 0);
            expect(await use(journal, sums, FIRST + month, user, session)).toEqual({
              chargedMicro: sum(of),
              userMicro: sum(of.filter((other) => other.user === user)),
              sessionMicro: sum(of.filter((other) => other.session === session)),
            });
          } else {
            const written = given(documentOf(sums));
            // A document of version 1 has no months.
            const older = { ...written, v: 1, months: undefined };
            const read = JSON.parse(JSON.stringify(one.act === "restart" ? written : older));
            sums = given(readSums(read));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("P10: is read from the journal for a user who did not fit into memory", () => {
    const tally = new AmountTally<string>(2);
    for (const name of ["a", "b", "c", "a"]) tally.add(name, 1);
    expect([tally.of("a"), tally.of("c"), tally.of("d")]).toEqual([2, null, null]);
    tally.learn("c", 5);
    tally.add("c", 1);
    expect([tally.of("a"), tally.of("b"), tally.of("c")]).toEqual([null, 1, 6]);
    expect(tally.amounts.size).toBe(2);
  });

  it("P10: holds a budget of such a user too", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, granting("all", 1_000_000)));
    const crowd = Array.from({ length: LEDGER_MONTH_USERS_MAX }, (_, n) => `u${n}`);
    const entries = [...crowd, "ada"].map((name, n) => {
      const entry = { kind: "charge", turnId: turnId(`c${n}`), n: 0, amountMicro: 7 } as const;
      const line = plainLine(entry, given(parseUserId(name)));
      return journalEntry(line, sessionId("s0"), till.nowMs);
    });
    for (let at = 0; at < entries.length; at += 100) {
      value(await till.frail.commitEntries(entries.slice(at, at + 100)));
    }
    const scope = { of: "user", userId: ADA, period: "month" } as const;
    const { budgets } = value(await till.meter.setBudget(TENANT, scope, 16, OPERATOR));
    expect(budgets).toMatchObject([{ scope: "user:ada", usedMicro: 7, leftMicro: 9 }]);
    expect(await till.begin(0)).toBe("insufficient_credits");
  });
});

describe("P9: a clock that jumps over the end of a month", () => {
  const NOV = Date.UTC(2026, 10, 30);
  const DEC = Date.UTC(2026, 11, 2);

  it("and back again moves no charge to another month, and counts none twice", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, granting("g", 1_000)));
    const scope = { of: "user", userId: ADA, period: "month" } as const;
    value(await till.meter.setBudget(TENANT, scope, 20, OPERATOR));
    const turn = async (atMs: number, used: number) => {
      till.nowMs = atMs;
      expect(await till.begin(0)).toMatch(/^t\d/);
      await till.uses(0, used);
      await till.ends(0);
    };
    await turn(NOV, 8);
    await turn(DEC, 10);
    await turn(NOV, 3);
    till.nowMs = NOV;
    expect(await till.begin(0)).toBe("insufficient_credits");
    await till.restart();
    const used = async (atMs: number) => {
      till.nowMs = atMs;
      return value(await till.meter.ownUse(TENANT, ADA)).month;
    };
    expect(await used(NOV)).toMatchObject({ name: "2026-11", chargedMicro: 11 });
    expect(await used(DEC)).toMatchObject({ name: "2026-12", chargedMicro: 10 });
    expect(await used(Date.UTC(2001, 0))).toMatchObject({ name: "2001-01", chargedMicro: 0 });
    expect(value(await till.meter.ownUse(TENANT, ADA)).total).toEqual({ chargedMicro: 21 });
  });
});
