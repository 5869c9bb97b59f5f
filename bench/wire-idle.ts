import { setTimeout as pause } from "node:timers/promises";
import type { Subscription } from "../src/session/bus/subscription.ts";
import type { LiveSession } from "../src/session/live.ts";
import { value } from "./store-world.ts";
import type { Trial } from "./trial.ts";
import { ChildScript, ServerHome, startBare } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";
import { WireWorld } from "./wire-world.ts";

type IdleRequest =
  | { readonly act: "make" | "make by the store alone"; readonly count: number }
  | { readonly act: "listen" }
  | { readonly act: "weigh" };

/** Memory in bytes, after garbage collection. */
interface Weight {
  readonly heap: number;
  readonly resident: number;
}

/** Made before the first measurement: the first sessions also load code and fill caches. */
const WARM_SESSIONS = 200;
const MADE_AT_ONCE = 20;

/** Idle sessions after one turn: what they cost to make and to keep. */
export function idleTrial(scale: WireScale): Trial {
  const { idle } = scale;
  let sessions: ChildScript<IdleRequest, Weight> | null = null;
  let figures: Readonly<Record<string, string>> = {};
  const make = (act: "make" | "make by the store alone") => async () => {
    await sessions?.request({ act, count: MADE_AT_ONCE });
    return MADE_AT_ONCE;
  };
  return {
    name: "sessions made, with a turn each",
    async prepare() {
      sessions = new ChildScript(new URL(import.meta.url), ["--expose-gc"]);
      const warm = Math.min(idle, WARM_SESSIONS);
      await sessions.request({ act: "make", count: warm });
      const before = await sessions.request({ act: "weigh" });
      await sessions.request({ act: "make", count: idle });
      const after = await sessions.request({ act: "weigh" });
      await sessions.request({ act: "listen" });
      const watched = await sessions.request({ act: "weigh" });
      figures = {
        ...(await serverFigures(scale)),
        "a live idle session (budget 20 KiB)": each(before, after, idle),
        "a stream that is open and quiet": each(after, watched, idle + warm),
      };
    },
    clear: async () => sessions?.end(),
    floor: { name: "the store alone", run: make("make by the store alone") },
    subject: { name: "sessions", run: make("make") },
    figures: () => figures,
  };
}

function each(before: Weight, after: Weight, count: number): string {
  const kib = (bytes: number) => (bytes / count / 1_024).toFixed(1);
  const heap = kib(after.heap - before.heap);
  return `${heap} KiB of heap, ${kib(after.resident - before.resident)} KiB resident with garbage`;
}

/** What a server takes that has nothing to do, beside a bare one. */
async function serverFigures(scale: WireScale): Promise<Readonly<Record<string, string>>> {
  const home = new ServerHome(scale);
  await home.open();
  const [ours, bare] = [await home.start(), await startBare()];
  await Promise.all([ours.health(), bare.health()]);
  const [own, least] = [await ours.memoryBytes(), await bare.memoryBytes()];
  await Promise.all([ours.end("SIGTERM"), bare.end("SIGTERM")]);
  await home.close();
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  return { "a server without sessions": `${mib(own)}, a bare one ${mib(least)}` };
}

/** After this time everything is on the disk. */
const QUIET_MS = 200;

const NOT_WEIGHED: Weight = { heap: 0, resident: 0 };

/** Runs in the child: makes idle sessions, and weighs them. */
async function serveIdleSessions(): Promise<void> {
  const world = new WireWorld();
  const sessions: LiveSession[] = [];
  const streams: Subscription[] = [];
  let stored = 0;
  await world.open();
  world.agents.speech = async (say) => say("A few words of an answer. ".repeat(40));

  const serve = async (request: IdleRequest) => {
    if (request.act === "make") {
      for (let n = 0; n < request.count; n += 1) {
        const live = await world.create();
        await world.turn(live);
        sessions.push(live);
      }
    } else if (request.act === "make by the store alone") {
      for (let n = 0; n < request.count; n += 1) {
        stored += 1;
        value(await (await world.stores.session(`s${stored}`)).endTurn());
      }
    } else if (request.act === "listen") {
      for (const { key } of sessions) {
        streams.push(value(await world.runtime.subscribe(key, { after: null, epoch: null })));
      }
    }
    process.send?.(request.act === "weigh" ? await weigh() : NOT_WEIGHED);
  };
  process.on("message", (request: IdleRequest) => void serve(request));
  // The sessions need no orderly end: their store is deleted.
  process.on("disconnect", () => void world.stores.close().then(() => process.exit()));
}

async function weigh(): Promise<Weight> {
  await pause(QUIET_MS);
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

if (import.meta.main) await serveIdleSessions();
