// Live idle sessions in a process that can collect its garbage and say what is left.

import { setTimeout as pause } from "node:timers/promises";
import type { Subscription } from "../src/session/bus/subscription.ts";
import type { LiveSession } from "../src/session/live.ts";
import { value } from "./store-world.ts";
import type { IdleRequest, Weight } from "./wire-idle.ts";
import { WireWorld } from "./wire-world.ts";

/** After so long everything is on the disk and nothing more is on its way. */
const QUIET_MS = 200;

const NOT_WEIGHED: Weight = { heap: 0, resident: 0 };

const world = new WireWorld();
const sessions: LiveSession[] = [];
const streams: Subscription[] = [];
let stored = 0;
await world.open();
world.agents.speech = async (say) => say("A few words of an answer. ".repeat(40));

process.on("message", (request: IdleRequest) => void obey(request));
// What is alive here need not end in order: its store is thrown away.
process.on("disconnect", () => void world.stores.close().then(() => process.exit()));

async function obey(request: IdleRequest): Promise<void> {
  if (request.act === "make") await make(request.count);
  else if (request.act === "make by the store alone") await makeBarely(request.count);
  else if (request.act === "listen") await listen();
  process.send?.(request.act === "weigh" ? await weight() : NOT_WEIGHED);
}

async function make(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const live = await world.create();
    await world.turn(live);
    sessions.push(live);
  }
}

async function makeBarely(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    stored += 1;
    value(await (await world.stores.session(`s${stored}`)).endTurn());
  }
}

async function listen(): Promise<void> {
  for (const { key } of sessions) {
    streams.push(value(await world.runtime.subscribe(key, { after: null, epoch: null })));
  }
}

async function weight(): Promise<Weight> {
  await pause(QUIET_MS);
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}
