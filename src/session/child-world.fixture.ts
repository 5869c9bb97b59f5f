import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openAgents } from "../agent/open.ts";
import { KNOWN_PROFILES } from "../agent/profile/known.ts";
import { DONE } from "../core/result.ts";
import { SecretGuard, thisHolder } from "../store/index.ts";
import { sqliteStore } from "../store/sqlite/store.ts";
import { OpenTurns } from "./actor/open-turns.ts";
import { KnownSnapshots } from "./known-snapshots.ts";
import { TenantGate } from "./tenant/tenant-gate.ts";
import {
  NO_LOADER,
  NO_METER,
  NO_SHELL,
  NO_TOOLS,
  RANDOM_IDS,
  REAL_CLOCK,
  SETTINGS,
} from "./world.fixture.ts";
import type { SessionWorld } from "./world.ts";

/** A line for the test that has started this process; it is out before anything else happens. */
export function tell(line: object) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** The world of a server in a process of its own, over a folder that outlives it. */
export async function worldIn(folder: string): Promise<SessionWorld> {
  const store = sqliteStore();
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: () => {},
  };
  await store.init(host, { active: true, path: join(folder, "data") });
  await store.activate();
  const profiles = new Map(KNOWN_PROFILES.map((profile) => [profile.name, profile]));
  const watch = { fault: () => {}, secret: () => DONE, secretGone: () => {} };
  const setting = { folder, profiles, env: process.env, memoryBytesMax: null, watch };
  const { agents } = await openAgents(setting);
  return {
    store,
    agents,
    loader: NO_LOADER,
    tools: NO_TOOLS,
    meter: NO_METER,
    shell: NO_SHELL,
    holder: thisHolder(randomUUID()),
    tenants: new TenantGate(),
    turns: new OpenTurns(Number.POSITIVE_INFINITY),
    known: new KnownSnapshots(),
    clock: REAL_CLOCK,
    yield: () => setImmediate(),
    ids: RANDOM_IDS,
    redact: (text) => text,
    borders: new SecretGuard(),
    settings: SETTINGS,
    log: () => {},
  };
}
