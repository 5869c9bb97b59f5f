import { parseUserId } from "../../core/id.ts";
import { LedgerMeter, type Meter, PriceTable } from "../../session/meter/index.ts";
import { given } from "../../session/world.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { type Call, type DaemonOptions, type DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import type { Caller } from "../http/route.ts";
import { tenantAuditRoute } from "./audit.ts";
import { creditReportRoutes, creditsRoutes } from "./credits.ts";
import { btwRoute, recapRoute } from "./side-work.ts";
import { openWork, workRoutes } from "./work.fixture.ts";

/** A micro-credit for each token, ten set aside for a turn. */
const PRICES = new PriceTable({ agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } } });

function meterBy(prices: PriceTable, nowMs: () => number): (store: SessionStore) => Meter {
  const usual = { nowMs, log: () => {} };
  return (store) => new LedgerMeter({ store, prices, usualLimit: () => "granted", ...usual });
}

/** A daemon whose tenants spend what they were granted. */
export function openPaid(paid: PaidOptions = {}): Promise<DaemonWorld> {
  const { prices = PRICES, nowMs = Date.now, ...options } = paid;
  return openWork({
    routes: (daemon) => [
      ...workRoutes(daemon),
      ...creditsRoutes(daemon),
      ...creditReportRoutes(daemon),
      tenantAuditRoute(daemon),
      btwRoute(daemon),
      recapRoute(daemon),
    ],
    ...options,
    stage: { ...options.stage, meter: meterBy(prices, nowMs) },
  });
}

interface PaidOptions extends Omit<Partial<DaemonOptions>, "routes"> {
  readonly prices?: PriceTable;
  readonly nowMs?: () => number;
}

/** The budget of a session, a user or the tenant. */
export function budget(world: DaemonWorld, scope: string, budgetMicro: number | null) {
  return world.call("POST", `/credits/budgets/${scope}`, { body: { budgetMicro } });
}

/** The same of a month. */
export function monthly(world: DaemonWorld, scope: string, budgetMicro: number | null) {
  const body = { budgetMicro, period: "month" };
  return world.call("POST", `/credits/budgets/${scope}`, { body });
}

export const AS_ADA: Caller = { ...LOCAL, userId: given(parseUserId("ada")) };
export const AS_BEN: Caller = { ...LOCAL, userId: given(parseUserId("ben")) };

export function granted(world: DaemonWorld, amountMicro: number, call: Call = {}) {
  return world.call("POST", "/credits/grants", { body: { amountMicro }, ...call });
}

export async function balance(world: DaemonWorld) {
  return (await world.call("GET", "/credits")).body;
}

/** What an agent tells of a model call, in the middle of a turn. */
export function calls(inputTokens: number): string {
  const content = { type: "text", text: "." };
  const _meta = { usage: { inputTokens, outputTokens: 0 } };
  return `update ${JSON.stringify({ sessionUpdate: "agent_message_chunk", content, _meta })}`;
}
