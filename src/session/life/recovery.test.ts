import { describe, expect, it, vi } from "vitest";
import type { SessionStore } from "../../store/store.ts";
import { altered, Door } from "../altered-store.fixture.ts";
import { SessionHost } from "../host.ts";
import { LedgerMeter, PriceTable } from "../meter/index.ts";
import { reservationRequest } from "../meter/reservation-request.ts";
import { withSession } from "../runtime.fixture.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";
import { shutDown } from "./ending.ts";
import { reconcileStaleSessions } from "./recovery.ts";

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

/** A server at its cap, with a session in its store that an earlier server has left there. */
async function full(...left: readonly string[]) {
  const before = await Stage.open();
  const hand = await before.created();
  const promptIds = [];
  for (const script of left) promptIds.push(await hand.prompt(script));
  await shutDown(before.world, before.registry, AbortSignal.abort());
  const doors = { open: new Door(), close: new Door() };
  const stage = await Stage.open({
    folder: before.folder,
    settings: { sessionsLiveMax: 1 },
    wrap: (store) =>
      altered(store, {
        open: async (...args) => {
          await doors.open.pass();
          return store.open(...args);
        },
        close: async (...args) => {
          await doors.close.pass();
          return store.close(...args);
        },
      }),
  });
  await (await stage.created()).prompt("hang");
  return { stage, doors, promptIds, key: hand.live.key };
}

describe("a session that recovery comes for while a request opens it at the cap", () => {
  it("P2: is not refused with the prompts that wait in it", async () => {
    const { stage, doors, key, promptIds } = await full("hang", "say it");
    const { world, registry } = stage;
    const asked = doors.open.shut();
    const get = vi.spyOn(registry, "get");
    const requested = registry.get(key);
    await asked;
    const recovering = reconcileStaleSessions(world, registry);
    await expect.poll(() => get.mock.calls).toContainEqual([key, "uncapped"]);
    doors.open.open();
    expect(value(await recovering).setAside).toEqual([]);
    const live = value(await requested);
    expect(registry.peek(key)).toBe(live);
    const hand = await stage.opened(key.sessionId);
    const waited = promptIds.at(-1) ?? expect.fail();
    expect(await hand.verdict(waited)).toMatchObject({ type: "turn_complete" });
  });

  it("P5: is opened anew if it is just being given back, having been refused", async () => {
    const { stage, doors, key } = await full();
    const { registry } = stage;
    const givenBack = doors.close.shut();
    const requested = registry.get(key);
    await givenBack;
    const recovered = registry.get(key, "uncapped");
    doors.close.open();
    const live = value(await recovered);
    expect(registry.peek(key)).toBe(live);
    expect(value(await requested)).toBe(live);
  });
});
