/** Something to be timed: `run` does a batch of work and returns how many operations it did. */
type Contender = {
  readonly name: string;
  run(): number | Promise<number>;
};

/** One question of the benchmark: how near does our code come to the least the work can cost? */
export type Trial = {
  readonly group: string;
  readonly name: string;
  readonly budget?: string;
  readonly floor: Contender;
  readonly subject: Contender;
  /** Makes the world that the trial needs, and takes it away again; neither is timed. */
  prepare?(): Promise<void>;
  clear?(): Promise<void>;
  /** Other figures of interest, such as how flat a curve is, taken after the rounds. */
  figures?(): Readonly<Record<string, string>>;
};

export type Outcome = {
  readonly trial: Trial;
  readonly subjectPerSecond: number;
  readonly floorPerSecond: number;
  readonly ratio: number;
  readonly figures: Readonly<Record<string, string>>;
};

const ROUNDS = 11;
const ROUND_MS = 50;
const WARM_UP_MS = 200;

/**
 * Floor and subject take turns in one process, so that a noisy moment of the machine meets both,
 * and the medians leave such moments out.
 */
export async function runTrial(trial: Trial, nowMs = () => performance.now()): Promise<Outcome> {
  await trial.prepare?.();
  try {
    return await measure(trial, nowMs);
  } finally {
    await trial.clear?.();
  }
}

async function measure(trial: Trial, nowMs: () => number): Promise<Outcome> {
  const { floor, subject } = trial;
  await ratePerSecond(floor, WARM_UP_MS, nowMs);
  await ratePerSecond(subject, WARM_UP_MS, nowMs);
  const floorRates: number[] = [];
  const subjectRates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    floorRates.push(await ratePerSecond(floor, ROUND_MS, nowMs));
    subjectRates.push(await ratePerSecond(subject, ROUND_MS, nowMs));
  }
  const floorPerSecond = median(floorRates);
  const subjectPerSecond = median(subjectRates);
  return {
    trial,
    floorPerSecond,
    subjectPerSecond,
    ratio: subjectPerSecond / floorPerSecond,
    figures: trial.figures?.() ?? {},
  };
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

async function ratePerSecond(
  contender: Contender,
  atLeastMs: number,
  nowMs: () => number,
): Promise<number> {
  const startedMs = nowMs();
  let operations = 0;
  let elapsedMs = 0;
  while (elapsedMs < atLeastMs) {
    const done = contender.run();
    // Waiting costs a turn of the queue, so only those wait that have to.
    operations += typeof done === "number" ? done : await done;
    elapsedMs = nowMs() - startedMs;
  }
  return (operations * 1000) / elapsedMs;
}
