import { describe, expect, it } from "vitest";
import type { SessionStore } from "../../store/store.ts";
import { SessionHost } from "../host.ts";
import { LedgerMeter, PriceTable } from "../meter/index.ts";
import { reservationRequest } from "../meter/reservation-request.ts";
import { withSession } from "../runtime.fixture.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";

const PRICES = new PriceTable({ agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } } });

const meterOver = (store: SessionStore) =>
  new LedgerMeter({
    store,
    prices: PRICES,
    usualLimit: () => "granted",
    nowMs: Date.now,
    log: () => {},
  });

describe("P5, P9: the recovery at start", () => {
  it("releases what a dead server had reserved for a question beside a session", async () => {
    const stage = await Stage.open({ meter: meterOver });
    const { meter } = stage.world;
    const by = { kind: "operator" } as const;
    value(await meter.grant(TENANT, { id: "g", amountMicro: 100, note: null, by }));
    const { runtime, key, live } = await withSession(stage);
    // As a server leaves it that is killed: the ledger has it, and no log knows of it.
    const turn = { turnId: stage.world.ids.turn(), userId: null };
    const aside = { ...reservationRequest(key, live.session, turn), isAside: true };
    value(await meter.reserve(aside));
    await runtime.shutDown(AbortSignal.abort());
    const next = meterOver(stage.world.store);
    expect(value(await next.balance(TENANT))).toMatchObject({ openMicro: 10, openTurns: 1 });
    // The session is at rest, so nothing but the sweep has a reason to look at it.
    const after = new SessionHost({ ...stage.world, meter: next });
    expect(value(await after.recover())).toMatchObject({ total: 0 });
    expect(value(await next.balance(TENANT))).toMatchObject({ openMicro: 0, openTurns: 0 });
    await after.shutDown(AbortSignal.abort());
  });
});
