import { describe, expect, it } from "vitest";
import type { TenantId } from "../../src/core/id.ts";
import { fail } from "../../src/core/result.ts";
import { LedgerMeter, PriceTable, type StatementLine } from "../../src/session/meter/index.ts";
import type { SessionWorld } from "../../src/session/world.ts";
import type { SessionStore } from "../../src/store/index.ts";
import type { Disk } from "./disk.ts";
import type { Flaw } from "./flaws.ts";
import { live } from "./life.ts";
import type { Scene } from "./scene.ts";

const LIVES = 300;
const NEW_SEED = Date.now() % 1_000_000_000;

/** Nobody is without a limit, so that everything goes through the ledger; but nobody is poor. */
class WeighingMeter extends LedgerMeter {
  override isFree(): boolean {
    return false;
  }
}

function meterOver(store: SessionStore, nowMs: () => number, log: SessionWorld["log"]) {
  const row = { perTurn: 3, output: 500_000, reserve: 10 };
  const prices = new PriceTable({ agents: { simulated: row } });
  return new WeighingMeter({ store, prices, usualLimit: () => "unlimited", nowMs, log });
}

/** A life in which turns are paid for; and the disk that it has left. */
async function paidLife(seed: number) {
  const disks: Disk[] = [];
  const paid: Flaw = {
    world(world, scene: Scene) {
      disks.push(scene.disk);
      const { store, clock, log } = world;
      return { ...world, meter: meterOver(store, () => clock.nowMs(), log) };
    },
  };
  const { broken } = await live(seed, paid);
  const [disk] = disks;
  if (disk === undefined) throw new Error("there was no server");
  return { broken, store: disk.store };
}

async function linesOf(meter: LedgerMeter, tenantId: TenantId): Promise<readonly StatementLine[]> {
  const page = await meter.statement(tenantId, 0, 1_000);
  if (!page.ok) throw new Error(page.refusal.code);
  return page.value.lines;
}

/** What is wrong with the ledger of a world that has come to rest; a good one has nothing. */
async function faultsIn(store: SessionStore): Promise<readonly string[]> {
  const meter = meterOver(store, Date.now, () => {});
  const tenants = await store.tenants();
  const faults: string[] = [];
  // No turn runs any more, so what is still held is an orphan that a sweep would find.
  await meter.sweep(async () => fail("session_not_found"));
  for (const tenantId of tenants.ok ? tenants.value : []) {
    const lines = await linesOf(meter, tenantId);
    for (const turnId of new Set(lines.map((line) => line.turnId))) {
      const mine = lines.filter((line) => line.turnId === turnId);
      // What clients began by themselves here was never reserved.
      if (!mine.some(({ kind, n }) => kind === "reserve" && n === 0)) continue;
      const told = mine.map(({ kind, n, amountMicro }) => `${kind} ${n} ${amountMicro}`);
      const held = mine.map((one) => (one.kind === "reserve" ? 1 : -1) * one.amountMicro);
      const charges = mine.filter(({ kind }) => kind === "charge");
      const isWhole = held.reduce((sum, one) => sum + one, 0) === 0 && charges.length <= 1;
      if (!isWhole) faults.push(`${turnId}: ${told.join(", ")}`);
    }
  }
  return faults;
}

describe("the simulation, where turns cost", () => {
  it.each([1, NEW_SEED])(
    "P9: reserves, charges and releases the same in every life from seed %i on",
    async (first) => {
      for (let seed = first; seed < first + LIVES / 2; seed += 1) {
        const { broken, store } = await paidLife(seed);
        expect({ seed, broken }).toEqual({ seed, broken: [] });
        expect({ seed, faults: await faultsIn(store) }).toEqual({ seed, faults: [] });
      }
    },
    60_000 + LIVES * 100,
  );
});
