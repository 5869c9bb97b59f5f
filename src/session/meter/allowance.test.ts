import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import { MICRO_CREDITS_MAX, SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import type { SessionStore } from "../../store/store.ts";
import { AWAY, altered } from "../altered-store.fixture.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { readAllowance } from "./allowance.ts";
import { LedgerMeter } from "./ledger-meter.ts";
import { OPERATOR, priced, TENANT, Till } from "./till.fixture.ts";

const WHOLE = { of: "tenant" } as const;

const budgetOf = (name: string) => ({ of: "user", userId: given(parseUserId(name)) }) as const;

/** One more process over this store. */
function meterOver(store: SessionStore): LedgerMeter {
  const log = () => {};
  return new LedgerMeter({ store, prices: priced(), usualLimit: () => null, nowMs: () => 1, log });
}

async function toldIn(store: SessionStore) {
  const query = { journal: "audit", after: 0, limit: 100 } as const;
  const { rows } = value(await store.readJournal(TENANT, query));
  return rows.map(({ text }) => JSON.parse(text));
}

describe("what the audit is told of limits and budgets", () => {
  it("is what was set, when many processes set them at once, and no more", async () => {
    const { store } = (await Till.open(0)).frail;
    const names = Array.from({ length: 12 }, (_, n) => `user-${n}`);
    const set = await Promise.all(
      names.map((name) => meterOver(store).setBudget(TENANT, budgetOf(name), 5, OPERATOR)),
    );
    const lucky = names.filter((_, at) => set[at]?.ok);
    expect(lucky.length).toBeGreaterThan(0);
    const told = (await toldIn(store)).map(({ details }) => details.userId);
    expect(told.sort()).toEqual(lucky.toSorted());
    const { userMicro } = value(await readAllowance(store, TENANT));
    expect([...userMicro.keys()].sort()).toEqual(lucky.toSorted());
  });

  it("is not what others were always faster with", async () => {
    const { store } = (await Till.open(0)).frail;
    let others = 0;
    const slow = altered(store, {
      writeDocument: async (tenantId, document) => {
        others += 1;
        value(await meterOver(store).setBudget(TENANT, WHOLE, others, OPERATOR));
        return store.writeDocument(tenantId, document);
      },
    });
    const late = await meterOver(slow).setLimit(TENANT, "unlimited", OPERATOR);
    expect(late).toMatchObject({ refusal: { code: "server_busy" } });
    expect(others).toBe(SUBMIT_TRIES_MAX);
    const acts = (await toldIn(store)).map(({ act }) => act);
    expect(acts).toEqual(Array.from({ length: others }, () => "credits_budget_set"));
  });

  it("is nothing of what may not be set", async () => {
    const { store } = (await Till.open(0)).frail;
    const wrong = await meterOver(store).setBudget(TENANT, WHOLE, MICRO_CREDITS_MAX + 1, OPERATOR);
    expect(wrong).toMatchObject({ refusal: { code: "invalid_amount" } });
    expect(await toldIn(store)).toEqual([]);
  });

  it("is told, or nothing is set", async () => {
    const { store } = (await Till.open(0)).frail;
    const mute = altered(store, { writeDocument: async () => AWAY });
    expect(await meterOver(mute).setLimit(TENANT, "unlimited", OPERATOR)).toEqual(AWAY);
    expect(value(await readAllowance(store, TENANT))).toMatchObject({ limit: null, version: 0 });
    expect(await toldIn(store)).toEqual([]);
  });
});
