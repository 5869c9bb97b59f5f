import { trials as agent } from "./agent.ts";
import { trials as bus } from "./bus.ts";
import { trials as core } from "./core.ts";
import { trials as session } from "./session.ts";
import { trials as store } from "./store.ts";
import { type Outcome, runTrial, type Trial, tableOf } from "./trial.ts";
import { trials as wire } from "./wire.ts";

// `npm run bench` measures every trial, `npm run bench -- core` those of one group.

const TRIALS: readonly Trial[] = [...core, ...store, ...agent, ...bus, ...session, ...wire];

process.exitCode = await bench(process.argv.slice(2));

async function bench(wanted: readonly string[]): Promise<number> {
  const groups = new Set(TRIALS.map((trial) => trial.group));
  const unknown = wanted.find((group) => !groups.has(group));
  if (unknown !== undefined) {
    const known = [...groups].join(", ");
    console.error(`bench: there is no group "${unknown}"; choose from: ${known} (none means all).`);
    return 2;
  }
  const outcomes: Outcome[] = [];
  for (const trial of TRIALS) {
    if (wanted.length > 0 && !wanted.includes(trial.group)) continue;
    outcomes.push(await runTrial(trial));
  }
  process.stdout.write(tableOf(outcomes));
  return 0;
}
