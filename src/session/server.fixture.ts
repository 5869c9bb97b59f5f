// A server that hosts one session and is killed at some moment. What it tells, and what it
// acknowledges, it writes down at once, as a client would have seen it.

import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openAgents } from "../agent/open.ts";
import { KNOWN_PROFILES } from "../agent/profile/known.ts";
import { parseTenantId } from "../core/id.ts";
import { selected } from "../core/policy/ask.ts";
import { DONE } from "../core/result.ts";
import { SecretGuard, thisHolder } from "../store/index.ts";
import { sqliteStore } from "../store/sqlite/store.ts";
import { OpenTurns } from "./actor/open-turns.ts";
import type { Written } from "./actor/written.ts";
import { KnownSnapshots } from "./known-snapshots.ts";
import type { LiveSession } from "./live.ts";
import { SessionRegistry } from "./registry.ts";
import { TenantGate } from "./tenant/tenant-gate.ts";
import {
  CREATION,
  given,
  NO_LOADER,
  NO_METER,
  NO_SHELL,
  NO_TOOLS,
  RANDOM_IDS,
  REAL_CLOCK,
  SETTINGS,
} from "./world.fixture.ts";

const [folder = "", ...scripts] = process.argv.slice(2);
const tell = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

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
const actor = { kind: "client", clientId: null, userId: null, loopback: true } as const;
const registry = new SessionRegistry(
  {
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
  },
  {
    join: (live) => [{ durable: (written) => agree(live, written) }],
    isWatched: () => true,
  },
);

/** Each ask is agreed to as soon as it was told of. */
function agree(live: LiveSession, written: readonly Written[]) {
  for (const { id, text } of written) tell({ id, text });
  for (const { event } of written) {
    if (event.type !== "permission_request") continue;
    const { requestId, options } = event.data;
    const outcome = selected(options[0]?.optionId ?? "");
    void live.submit({ type: "vote", atMs: Date.now(), actor, requestId, outcome });
  }
}

const key = { tenantId: given(parseTenantId("acme")), sessionId: RANDOM_IDS.session() };
const creation = { ...CREATION, workspaceCwd: folder };
const made = await registry.create({ key, actor, creation });
if (!made.ok) throw new Error(made.refusal.code);
const { live } = made.value;
tell({ sessionId: key.sessionId });
for (const script of scripts) {
  const promptId = RANDOM_IDS.prompt();
  const { refusal } = await live.submit({
    type: "prompt",
    atMs: Date.now(),
    actor,
    promptId,
    content: [{ type: "text", text: script.replaceAll(";", "\n") }],
    deadlineAtMs: null,
    idempotency: null,
    lastEventId: live.lastEventId,
    params: null,
    echo: true,
    start: { turnId: RANDOM_IDS.turn(), reservedMicro: 0, price: null },
  });
  if (refusal === null) tell({ admitted: promptId });
}
await live.until(({ queue, running }) => queue.length === 0 && running === null);
tell({ done: true });
process.kill(process.pid, "SIGKILL");
