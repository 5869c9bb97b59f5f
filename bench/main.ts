import { trials as agent } from "./agent.ts";
import { trials as bus } from "./bus.ts";
import { trials as core } from "./core.ts";
import { RACE_FULL, races, raceTable } from "./race.ts";
import { trials as session } from "./session.ts";
import { STALL_FULL, stalls, stallTable } from "./stall.ts";
import { trials as store } from "./store.ts";
import { type Outcome, runTrial, type Trial, tableOf } from "./trial.ts";
import { trials as wire } from "./wire.ts";

// `npm run bench` measures every trial, `npm run bench -- core` those of one group, and
// `npm run bench -- stall` how long one request holds the others. `npm run bench -- race`, which
// is not part of "every trial" since it takes long, sends 60,000 prompts of busy clients.

const TRIALS: readonly Trial[] = [...core, ...store, ...agent, ...bus, ...session, ...wire];

/** Measured in another unit than the trials: not how fast, but how long at most. */
const STALL = "stall";

/** Counts prompts that hang, instead of time. */
const RACE = "race";

process.exitCode = await bench(process.argv.slice(2));

async function bench(wanted: readonly string[]): Promise<number> {
  const groups = new Set([...TRIALS.map((trial) => trial.group), STALL, RACE]);
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
  if (outcomes.length > 0) process.stdout.write(tableOf(outcomes));
  if (wanted.length === 0 || wanted.includes(STALL)) {
    process.stdout.write(stallTable(await stalls(STALL_FULL)));
  }
  if (wanted.includes(RACE)) process.stdout.write(raceTable(await races(RACE_FULL)));
  return 0;
}
