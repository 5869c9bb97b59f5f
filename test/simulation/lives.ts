import type { Flaw } from "./flaws.ts";
import { type Life, live } from "./life.ts";

export interface Failure extends Life {
  /** The end of what happened. */
  readonly trace: readonly string[];
}

export interface ManyLives {
  readonly lives: number;
  readonly steps: number;
  readonly failure: Failure | null;
}

/** Lives with seeds that count up, until one is broken; that one is lived again to be told. */
export async function liveMany(first: number, count: number, flaw?: Flaw): Promise<ManyLives> {
  let steps = 0;
  for (let index = 0; index < count; index += 1) {
    const life = await watched(first + index, flaw);
    steps += life.steps;
    if (life.broken.length === 0) continue;
    return { lives: index + 1, steps, failure: await told(life, flaw) };
  }
  return { lives: count, steps, failure: null };
}

/** A rejected promise without a handler is a fault as well. */
async function watched(seed: number, flaw?: Flaw): Promise<Life> {
  const unheard: string[] = [];
  const hear = (reason: unknown) => {
    unheard.push(`Unheard: ${reason instanceof Error ? reason.stack : reason}`);
  };
  process.on("unhandledRejection", hear);
  const life = await live(seed, flaw);
  await breath();
  process.off("unhandledRejection", hear);
  return { ...life, broken: [...life.broken, ...unheard] };
}

async function told(life: Life, flaw?: Flaw): Promise<Failure> {
  const trace: string[] = [];
  await live(life.seed, flaw, (line) => trace.push(line));
  return { ...life, trace: trace.slice(-TRACE_LINES_MAX) };
}

/** A failure as a person can use it: what is broken, how to see it again, and how it came. */
export function report({ seed, broken, trace }: Failure): string {
  const again = `npm run sim -- --seed ${seed}`;
  return [`seed ${seed} is broken:`, ...broken, "", `Again: ${again}`, "", ...trace].join("\n");
}

/** Lets other work of this process run; lives themselves wait for nothing real. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const TRACE_LINES_MAX = 60;
