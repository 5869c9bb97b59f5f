import type { Trial } from "./trial.ts";
import { ServerHome, startBare } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";
import { ToldProcess } from "./wire-told.ts";

/** What the process of the idle sessions can do. */
export type IdleRequest =
  | { readonly act: "make" | "make by the store alone"; readonly count: number }
  | { readonly act: "listen" }
  | { readonly act: "weigh" };

/** What it takes at the moment, in bytes, with all garbage gone. */
export interface Weight {
  readonly heap: number;
  readonly resident: number;
}

/** So many are there before anything is weighed: the first ones bring code and caches along. */
const WARM_SESSIONS = 200;
const MADE_AT_ONCE = 20;

/** Sessions that have had a turn, and wait: what they cost to make, and to have. */
export function idleTrial(scale: WireScale): Trial {
  const { idle } = scale;
  let sessions: ToldProcess<IdleRequest, Weight> | null = null;
  let figures: Readonly<Record<string, string>> = {};
  const make = (act: "make" | "make by the store alone") => async () => {
    await sessions?.told({ act, count: MADE_AT_ONCE });
    return MADE_AT_ONCE;
  };
  return {
    group: "wire",
    name: "sessions made, with a turn each",
    async prepare() {
      sessions = new ToldProcess(new URL("wire-idle-main.ts", import.meta.url), ["--expose-gc"]);
      const warm = Math.min(idle, WARM_SESSIONS);
      await sessions.told({ act: "make", count: warm });
      const before = await sessions.told({ act: "weigh" });
      await sessions.told({ act: "make", count: idle });
      const after = await sessions.told({ act: "weigh" });
      await sessions.told({ act: "listen" });
      const watched = await sessions.told({ act: "weigh" });
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
