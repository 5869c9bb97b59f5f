import { beforeEach, describe, expect, it } from "vitest";
import { parseUserId, type UserId } from "../../core/id.ts";
import { LEDGER_USERS_MAX } from "../../core/limits.ts";
import { sessionId, turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { journalEntry, plainLine } from "./entry.ts";
import { granting, OPERATOR, TENANT, Till } from "./till.fixture.ts";

const SESSION = sessionId("s0");
const LATE = given(parseUserId("late"));
const LATER = given(parseUserId("later"));
let charges = 0;

/** Charges in one commit: so many micro-credits for each of these. */
async function charge(till: Till, users: readonly UserId[], amountMicro: number) {
  const entries = users.map((userId) => {
    charges += 1;
    const entry = { kind: "charge", turnId: turnId(`c${charges}`), n: 0, amountMicro } as const;
    return journalEntry(plainLine(entry, userId), SESSION, 1);
  });
  value(await till.frail.commitEntries(entries));
}

/**
 * A tenant that has as many other users in its sums as they hold: so they were written down by an
 * earlier server. Of what these were charged the journal has the last only.
 */
async function crowded(): Promise<Till> {
  const till = await Till.open(1);
  value(await till.meter.grant(TENANT, granting("all", 1_000_000)));
  const users = Array.from({ length: LEDGER_USERS_MAX }, (_, n) => [`u${n}`, 1]);
  await charge(till, [given(parseUserId("u0"))], 1);
  const { store } = till.frail;
  const held = { v: 1, grantedMicro: 1_000_000, chargedMicro: users.length, turns: [], users };
  const sums = { kind: "credits", key: "sums", expectedVersion: 0, value: { ...held, seq: 2 } };
  value(await store.writeDocument(TENANT, sums));
  till.meter = till.another();
  value(await till.meter.balance(TENANT));
  return till;
}

const budget = async (till: Till, userId: UserId, micro: number | null) =>
  value(await till.meter.setBudget(TENANT, { of: "user", userId }, micro, OPERATOR)).budgets;

const order = (till: Till, userId: UserId) => ({ ...till.order(0, turnId("t")), userId });

const poor = (availableMicro: number) => ({
  ok: false,
  refusal: { code: "insufficient_credits", details: { scope: "user", availableMicro } },
});

describe("P10: where more users have been charged than are summed up", () => {
  let till: Till;
  beforeEach(async () => {
    till = await crowded();
  });

  it("a budget holds whoever comes after them, also in a server that is started then", async () => {
    await budget(till, LATE, 15);
    await charge(till, [LATE], 8);
    expect(await till.meter.reserve(order(till, LATE))).toMatchObject(poor(7));
    expect(await till.another().reserve(order(till, LATE))).toMatchObject(poor(7));
  });

  it("a budget that comes later than the charges counts all of them", async () => {
    await charge(till, [LATE, LATER, LATE], 8);
    const set = await budget(till, LATE, 20);
    expect(set).toMatchObject([{ scope: "user:late", budgetMicro: 20, usedMicro: 16 }]);
    expect(await till.meter.reserve(order(till, LATE))).toMatchObject(poor(4));
    expect(await till.meter.reserve(order(till, LATER))).toMatchObject({ ok: true });
  });

  it("so does one that another process sets", async () => {
    await charge(till, [LATE, LATE], 8);
    value(await till.meter.balance(TENANT)); // By now this server has passed over them.
    const user = { of: "user", userId: LATE } as const;
    value(await till.another().setBudget(TENANT, user, 20, OPERATOR));
    expect(await till.meter.reserve(order(till, LATE))).toMatchObject(poor(4));
  });

  it("the charge that passes 80 % of such a budget is told", async () => {
    await charge(till, [LATE], 8);
    await budget(till, LATE, 20);
    await charge(till, [LATE], 8);
    const ofLate = { scope: "user", period: "total", userId: LATE };
    const warning = { ...ofLate, usedMicro: 16, budgetMicro: 20 };
    expect(await till.meter.settled({ tenantId: TENANT, sessionId: SESSION })).toEqual([warning]);
  });

  it("the ledger is read once for it, and no more users are held than before", async () => {
    await charge(till, [LATE, LATER], 8);
    const { store } = till.frail;
    const { readJournal } = store;
    let wholeReads = 0;
    store.readJournal = (tenant, query) => {
      if (query.key === undefined && query.after === 0) wholeReads += 1;
      return readJournal.call(store, tenant, query);
    };
    await budget(till, LATE, 20);
    await budget(till, LATER, 20);
    await budget(till, LATE, null);
    for (const _ of [1, 2, 3]) await till.meter.balance(TENANT);
    expect(wholeReads).toBe(2);
    for (let n = 0; n < 10; n += 1) await charge(till, Array(100).fill(LATER), 1);
    value(await till.meter.balance(TENANT));
    const sums = value(await store.readDocument(TENANT, "credits", "sums"));
    expect(sums?.value.users).toHaveLength(LEDGER_USERS_MAX);
    expect(await budget(till, LATER, 5_000)).toEqual([
      {
        scope: "user:later",
        period: "total",
        budgetMicro: 5_000,
        usedMicro: 1_008,
        leftMicro: 3_992,
      },
    ]);
  });

  it("a user whose place another has taken is counted again when they have a budget", async () => {
    await budget(till, LATE, 20);
    const first = given(parseUserId("u0"));
    await charge(till, [first], 7);
    const budgets = await budget(till, first, 20);
    expect(budgets).toMatchObject([{ scope: "user:late" }, { scope: "user:u0", usedMicro: 8 }]);
  });
});

describe("a budget of somebody who was never charged", () => {
  it("needs no reading, and holds when others have come before them", async () => {
    const till = await Till.open(1);
    await budget(till, LATE, 15);
    for (let first = 0; first <= LEDGER_USERS_MAX; first += 100) {
      const some = Array.from({ length: 100 }, (_, n) => given(parseUserId(`u${first + n}`)));
      await charge(till, some, 1);
    }
    await charge(till, [LATE], 8);
    value(await till.meter.grant(TENANT, granting("all", 1_000_000)));
    expect(await till.meter.reserve(order(till, LATE))).toMatchObject(poor(7));
  });
});
