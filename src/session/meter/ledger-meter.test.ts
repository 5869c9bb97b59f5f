import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fail, ok } from "../../core/result.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import type { StatementLine } from "./entry.ts";
import { ADA, Crash, granting as grant, OPERATOR, priced, TENANT, Till } from "./till.fixture.ts";

interface Step {
  readonly act: "begin" | "end" | "use" | "grant";
  readonly at: number;
  readonly amount: number;
  readonly crash: number | null;
}

/** A crash after so many steps of the store, or none. */
const crash = fc.option(fc.nat(5), { freq: 2 });
const at = fc.nat(2);
const act = fc.constantFrom("begin", "begin", "end", "use", "use", "grant");
const steps: fc.Arbitrary<Step[]> = fc.array(fc.record({ act, at, amount: fc.nat(40), crash }), {
  maxLength: 30,
});

async function take(till: Till, step: Step, number: number): Promise<void> {
  if (step.act === "begin") await till.begin(step.at);
  else if (step.act === "end") await till.ends(step.at);
  else if (step.act === "use") await till.uses(step.at, step.amount);
  else await till.meter.grant(TENANT, grant(`g${number}`, step.amount + 1));
}

/** What each turn reserved, charged and released in all. */
function byTurn(lines: readonly StatementLine[]) {
  const turns = new Map<string, { reserve: number; charge: number; release: number; n: number }>();
  for (const { kind, turnId: id, amountMicro } of lines) {
    if (kind === "grant" || kind === "revoke") continue;
    const sums = turns.get(id) ?? { reserve: 0, charge: 0, release: 0, n: 0 };
    sums[kind] += amountMicro;
    if (kind === "charge") sums.n += 1;
    turns.set(id, sums);
  }
  return turns;
}

const sum = (lines: readonly StatementLine[], kind: StatementLine["kind"]) =>
  lines.filter((line) => line.kind === kind).reduce((all, line) => all + line.amountMicro, 0);

/** With no turn at work: nothing is open, and every turn adds up. */
async function expectRest(till: Till): Promise<void> {
  const lines = await till.frail.lines();
  for (const [id, { reserve, charge, release, n }] of byTurn(lines)) {
    expect({ id, reserve, charges: n <= 1 }).toEqual({
      id,
      reserve: charge + release,
      charges: true,
    });
  }
  const balance = value(await till.meter.balance(TENANT));
  const granted = sum(lines, "grant");
  const charged = sum(lines, "charge");
  const sums = { grantedMicro: granted, chargedMicro: charged, openMicro: 0, openTurns: 0 };
  expect(balance).toMatchObject({ ...sums, availableMicro: granted - charged });
  const told = [...till.logs.values()].map(({ totals }) => totals.chargedMicro);
  expect(charged).toBe(told.reduce((all, one) => all + one, 0));
}

describe("the ledger of a tenant", () => {
  it("P9, P5: adds up after any crash, charges nothing twice, holds nothing at rest", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const till = await Till.open(3);
        value(await till.meter.grant(TENANT, grant("first", 60)));
        for (const [number, step] of all.entries()) {
          till.frail.stepsLeft = step.crash ?? Number.POSITIVE_INFINITY;
          try {
            await take(till, step, number);
            till.frail.stepsLeft = Number.POSITIVE_INFINITY;
          } catch (thrown) {
            if (!(thrown instanceof Crash)) throw thrown;
            await till.restart();
            await expectRest(till);
          }
        }
        for (const at of [0, 1, 2]) await till.ends(at);
        await expectRest(till);
      }),
      { numRuns: 150 },
    );
  });

  it("P9: never lends more than there is, however many ask at once", async () => {
    const till = await Till.open(20);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    const begun = await Promise.all(Array.from(till.logs.keys(), (_, n) => till.begin(n)));
    expect(begun.filter((one) => one === "insufficient_credits")).toHaveLength(10);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({
      availableMicro: 0,
      openMicro: 100,
      openTurns: 10,
    });
  });

  it("P9: two settlements at once, of two turns: each is settled by its own", async () => {
    const till = await Till.open(2);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    await Promise.all([till.begin(0), till.begin(1)]);
    await Promise.all([till.uses(0, 3), till.uses(1, 14)]);
    await Promise.all([till.ends(0), till.ends(1)]);
    await expectRest(till);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ availableMicro: 83 });
  });

  it("is settled once, though its log was cut and says so a second time", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    await till.begin(0);
    await till.uses(0, 7);
    const cut = till.session(0);
    await till.uses(0, 9);
    await till.ends(0);
    till.logs.set(cut.key.sessionId, cut.session);
    await till.restart();
    const balance = value(await till.meter.balance(TENANT));
    expect(balance).toMatchObject({ chargedMicro: 9, openMicro: 0, availableMicro: 91 });
  });

  it("releases a slice that came when its turn was over", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    const turn = turnId(await till.begin(0));
    await till.ends(0);
    value(await till.meter.slice(till.order(0, turn), { n: 1, price: null, missingMicro: 5 }));
    await till.meter.giveBack(till.session(0).key, turn);
    await expectRest(till);
  });

  it("P9: two settlements at once, of one turn: it is charged once", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    await till.begin(0);
    await till.uses(0, 14);
    const before = till.session(0);
    await till.ends(0);
    const settled = (await till.frail.lines()).slice(-2);
    expect(settled).toMatchObject([{ kind: "charge", amountMicro: 14 }, { kind: "release" }]);
    // Both had read the same log when they wrote the same of it.
    till.logs.set(before.key.sessionId, before.session);
    await Promise.all([till.ends(0), till.meter.opened(before.key, before.session)]);
    await expectRest(till);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ chargedMicro: 14 });
  });

  it("P9: a price change in mid-turn: the turn keeps the price with which it began", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    await till.begin(0);
    till.prices = priced({ output: 9_000_000 });
    await till.uses(0, 4);
    await till.restart();
    await expectRest(till);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ chargedMicro: 4 });
  });

  it("does not mind a clock that jumps, back or ahead", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, grant("g", 100)));
    for (const nowMs of [5_000_000_000_000, 1, 3_000]) {
      till.nowMs = nowMs;
      await till.begin(0);
      await till.uses(0, 2);
      await till.ends(0);
    }
    await expectRest(till);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ chargedMicro: 6 });
  });

  it("opens from its written sums and the entries after them", async () => {
    const till = await Till.open(1);
    for (let n = 0; n < 1_050; n += 1) value(await till.meter.grant(TENANT, grant(`g${n}`, 2)));
    await till.begin(0);
    const reads: number[] = [];
    const { store } = till.frail;
    const { readJournal } = store;
    store.readJournal = (tenant, query) => {
      if (query.key === undefined) reads.push(query.after);
      return readJournal.call(store, tenant, query);
    };
    await till.restart();
    expect(Math.min(...reads)).toBeGreaterThanOrEqual(1_000);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ grantedMicro: 2_100 });
    await expectRest(till);
  });
});

describe("limits and budgets", () => {
  it("let an unlimited tenant go on at once, and count all the same what it uses", async () => {
    const till = await Till.open(1);
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    expect(till.meter.reserve(till.order(0, turnId("t")))).toMatchObject({
      ok: true,
      value: { reservedMicro: 0, price: { output: 1_000_000 } },
    });
    await till.begin(0);
    await till.uses(0, 30);
    await till.ends(0);
    await expectRestUnlimited(till, 30);
  });

  it("refuse a price that nobody knows, unless the tenant is unlimited", async () => {
    const till = await Till.open(1);
    till.prices = priced();
    const order = { ...till.order(0, turnId("t")), agent: "stranger" };
    const refused = await till.meter.reserve(order);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "price_unknown" } });
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    expect(await till.meter.reserve(order)).toMatchObject({ ok: true, value: { price: null } });
  });

  it("hold a session, a user and a tenant to what they may cost in all", async () => {
    const till = await Till.open(2);
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    const order = till.order(0, turnId("t"));
    const poor = { ok: false, refusal: { code: "insufficient_credits" } };
    expect(await till.meter.reserve({ ...order, budgetMicro: 15, usedMicro: 6 })).toMatchObject({
      ...poor,
      refusal: { details: { neededMicro: 10, availableMicro: 9 } },
    });
    value(await till.meter.setBudget(TENANT, { of: "user", userId: ADA }, 12, OPERATOR));
    expect(await till.begin(0)).toBe("t1");
    expect(await till.begin(1)).toBe("insufficient_credits");
    value(await till.meter.setBudget(TENANT, { of: "user", userId: ADA }, null, OPERATOR));
    value(await till.meter.setBudget(TENANT, { of: "tenant" }, 19, OPERATOR));
    expect(await till.begin(1)).toBe("insufficient_credits");
    value(await till.meter.setBudget(TENANT, { of: "tenant" }, 20, OPERATOR));
    expect(await till.begin(1)).not.toBe("insufficient_credits");
  });

  it("are warned of once, by the charge that passes 80 %", async () => {
    const till = await Till.open(1);
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    value(await till.meter.setBudget(TENANT, { of: "tenant" }, 50, OPERATOR));
    const told = [];
    for (const used of [30, 10, 5]) {
      await till.begin(0);
      await till.uses(0, used);
      await till.ends(0);
      told.push(await till.meter.settled(till.session(0).key));
    }
    const warning = { scope: "tenant", period: "total", usedMicro: 40, budgetMicro: 50 };
    expect(told).toEqual([[], [warning], []]);
  });

  it("wake whoever waits when there is more to spend", async () => {
    const till = await Till.open(1);
    let woken = 0;
    till.meter.whenRaised(TENANT, () => {
      woken += 1;
    });
    const callOff = till.meter.whenRaised(TENANT, () => {
      woken += 10;
    });
    callOff();
    value(await till.meter.grant(TENANT, grant("a", 1)));
    value(await till.meter.grant(TENANT, grant("b", 1)));
    expect(woken).toBe(1);
  });

  it("wake them by the sweep when it was another process that gave more", async () => {
    const till = await Till.open(1);
    expect(await till.begin(0)).toBe("insufficient_credits");
    let isWoken = false;
    till.meter.whenRaised(TENANT, () => {
      isWoken = true;
    });
    value(await till.another().grant(TENANT, grant("a", 10)));
    expect(isWoken).toBe(false);
    await till.meter.sweep(async () => fail("session_locked"));
    expect(isWoken).toBe(true);
    expect(await till.begin(0)).toBe("t2");
  });

  it("leave a reservation alone that is about to begin, whoever sweeps meanwhile", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, grant("a", 10)));
    const { key, session } = till.session(0);
    value(await till.meter.reserve(till.order(0, turnId("t"))));
    await till.meter.sweep(async () => ok(session));
    await till.meter.opened(key, session);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: 10 });
    till.meter.leave(turnId("t"));
    await till.meter.sweep(async () => fail("session_locked"));
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: 10 });
    await till.meter.sweep(async () => fail("session_not_found"));
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: 0 });
  });
});

async function expectRestUnlimited(till: Till, chargedMicro: number): Promise<void> {
  expect(value(await till.meter.balance(TENANT))).toMatchObject({
    limit: "unlimited",
    availableMicro: null,
    chargedMicro,
    openMicro: 0,
  });
  const lines = await till.frail.lines();
  expect(byTurn(lines).values().next().value).toMatchObject({ reserve: 30, charge: 30 });
}
