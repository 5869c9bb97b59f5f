import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundled } from "../../platform/bundle.fixture.ts";
import { type CrashSubject, crashPromises } from "../kit/crash/index.ts";
import * as unsafe from "../kit/crash/unsafe.fixture.ts";
import type { SessionStore } from "../store.ts";
import { SQLITE_FAILPOINTS } from "./failpoint.ts";
import { sqliteStore } from "./store.ts";

/**
 * The SQLite store under `kill -9`. CI kills it a few times at random; for many more:
 *
 *     FERMATA_KILLS=500 npx vitest run src/store/sqlite/crash
 *
 * A failure names the seed of its crash. The chain that it was in is played again by giving the
 * seed that its chain began with: FERMATA_SEED=41 FERMATA_KILLS=10 for one chain.
 */
const KILLS = Number(process.env.FERMATA_KILLS ?? 10);
const SEED = Number(process.env.FERMATA_SEED ?? 1);

const CHILD = await bundled(new URL("crash-child.fixture.ts", import.meta.url));

/** Generous, because a busy machine starts processes slowly. */
const TEST_MS_MAX = 120_000;

function subject(
  factory: string,
  store: () => SessionStore,
  failpoints: readonly string[],
): CrashSubject {
  return {
    script: CHILD,
    factory,
    store,
    makePlace: () => mkdtemp(join(tmpdir(), "fermata-crash-")),
    clearPlace: (place) => rm(place, { recursive: true, force: true }),
    config: (place) => ({ active: true, path: join(place, "data") }),
    failpoints,
  };
}

describe("P1: the SQLite store, killed", () => {
  const test = (title: string, body: () => Promise<void>) => it(title, body, TEST_MS_MAX);
  const safe = subject("sqlite", () => sqliteStore(), SQLITE_FAILPOINTS);
  crashPromises({ test }, safe, { kills: KILLS, seed: SEED });
});

/** What a store fails of the checks with such a title, with the reasons. */
async function failures(of: CrashSubject, title: RegExp): Promise<string> {
  const bodies: (() => Promise<void>)[] = [];
  const test = (name: string, body: () => Promise<void>) => {
    if (title.test(name)) bodies.push(body);
  };
  crashPromises({ test }, of, { kills: 0, seed: SEED });
  expect(bodies).not.toEqual([]);
  const results = await Promise.allSettled(bodies.map((body) => body()));
  return results.map((one) => (one.status === "rejected" ? String(one.reason) : "")).join("");
}

describe("the crash runner", () => {
  // What the first three leave behind is looked at with the store as it should be.
  const early = subject("answersEarly", sqliteStore, [unsafe.AFTER_EARLY_ANSWER]);
  const halves = subject("commitsInTwoSteps", sqliteStore, [unsafe.BETWEEN_STEPS]);
  const gossip = subject("tellsInTwoSteps", sqliteStore, [unsafe.BETWEEN_ENTRY_AND_DOCUMENT]);
  const thief = subject("takesFromTheLiving", () => unsafe.takesFromTheLiving(sqliteStore()), []);
  const mourner = subject("waitsForTheDead", () => unsafe.waitsForTheDead(sqliteStore()), []);

  it.each([
    ["answers before it has written", early, /^42/],
    ["writes a commit in two steps", halves, /^42/],
    ["tells of a document before it writes it", gossip, /^42/],
  ])("catches a store that %s", { timeout: TEST_MS_MAX }, async (_, of, title) => {
    expect(await failures(of, title)).toMatch(/is in none of the \d+ states it may be in/);
  });

  it.each([
    ["takes sessions from the living", thief, /^53/, "got it too"],
    ["takes sessions from the living", thief, /^55/, "accepted"],
    ["waits for the dead", mourner, /^54/, "0 of them got it"],
  ])("catches a store that %s", { timeout: TEST_MS_MAX }, async (_, of, title, reason) => {
    expect(await failures(of, title)).toContain(reason);
  });
});
