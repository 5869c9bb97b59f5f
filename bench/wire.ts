import { Latencies, type Trial } from "./trial.ts";
import { fanOutTrials } from "./wire-fan-out.ts";
import { idleTrial } from "./wire-idle.ts";
import { loadTrials } from "./wire-load.ts";
import { ServerHome, type ServerProcess, startSmallest, toItsEnd } from "./wire-process.ts";
import { requestTrials } from "./wire-requests.ts";
import { FULL, type WireScale } from "./wire-scale.ts";

/** What a client sees of a server: real HTTP, and for starts and requests a real process. */
export function wireTrials(scale: WireScale): readonly Trial[] {
  return [
    startTrial(scale),
    listTrial(scale),
    ...requestTrials(scale),
    ...fanOutTrials(scale),
    ...loadTrials(scale),
    idleTrial(scale),
  ];
}

export const trials: readonly Trial[] = wireTrials(FULL);

/** From the command to the first good answer, over the data of an earlier run. */
function startTrial(scale: WireScale): Trial {
  const home = new ServerHome(scale);
  const [ours, bare] = [new Latencies("ours, to the answer"), new Latencies("bare, to the answer")];
  const run = async (latencies: Latencies, start: () => Promise<ServerProcess>) => {
    const server = await latencies.of(async () => {
      const started = await start();
      await started.health();
      return started;
    });
    await server.end("SIGKILL");
    return 1;
  };
  return {
    name: "server start to /health",
    budget: ">= 0.5",
    async prepare() {
      await home.open();
      await (await home.start()).end("SIGTERM");
    },
    clear: () => home.close(),
    floor: {
      name: "bare node:http",
      run: () => run(bare, startSmallest),
    },
    subject: { name: "fermata serve", run: () => run(ours, () => home.start()) },
    figures: () => ({ ...ours.figures, ...bare.figures }),
  };
}

/** What a person waits for `fermata ls`, with the server found by its run file. */
function listTrial(scale: WireScale): Trial {
  const home = new ServerHome(scale);
  let server: ServerProcess | null = null;
  return {
    name: "fermata ls",
    budget: ">= 0.25",
    async prepare() {
      await home.open();
      server = await home.start();
    },
    async clear() {
      await server?.end("SIGKILL");
      await home.close();
    },
    floor: { name: "node that does nothing", run: () => toItsEnd(["-e", ""]) },
    subject: { name: "fermata ls", run: () => home.command("ls") },
  };
}
