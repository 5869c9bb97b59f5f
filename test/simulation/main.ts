// `npm run sim` lives many lives; `npm run sim -- --seed N` lives one of them and tells it.

import { parseArgs } from "node:util";
import { live } from "./life.ts";
import { liveMany, report } from "./lives.ts";

const USAGE = "sim [--lives N] [--from SEED] | sim --seed SEED; numbers are whole and not negative";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    lives: { type: "string", default: "5000" },
    from: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});

process.exitCode = await run();

async function run(): Promise<number> {
  const { seed, lives, from } = values;
  if (![seed ?? "0", lives, from].every((text) => /^\d{1,15}$/.test(text))) {
    print(USAGE);
    return 2;
  }
  return seed === undefined ? many(Number(from), Number(lives)) : one(Number(seed));
}

async function one(seed: number): Promise<number> {
  const { broken, steps } = await live(seed, undefined, print);
  print(`seed ${seed}: ${steps} steps, ${broken.length === 0 ? "all promises kept" : "broken:"}`);
  for (const sentence of broken) print(sentence);
  return broken.length === 0 ? 0 : 1;
}

async function many(first: number, count: number): Promise<number> {
  const startedMs = performance.now();
  const { lives, steps, failure } = await liveMany(first, count);
  const seconds = (performance.now() - startedMs) / 1_000;
  const rate = Math.round(lives / seconds);
  if (failure !== null) print(report(failure));
  print(`${lives} lives from seed ${first}, ${steps} steps, ${rate} lives/s`);
  return failure === null ? 0 : 1;
}

function print(line: string) {
  process.stdout.write(`${line}\n`);
}
