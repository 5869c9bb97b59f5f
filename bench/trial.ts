/** Something to be timed: `run` does a batch of work and returns how many operations it did. */
type Contender = {
  readonly name: string;
  run(): number | Promise<number>;
};

/** One question of the benchmark: how near does our code come to the least the work can cost? */
export type Trial = {
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

/** Runs them one after another, and gives their table. */
export async function runTrials(trials: readonly Trial[]): Promise<string> {
  const outcomes: Outcome[] = [];
  for (const trial of trials) outcomes.push(await runTrial(trial));
  return tableOf(outcomes);
}

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

/** How long single operations took, for the figures below a trial's row. */
export class Latencies {
  readonly #name: string;
  readonly #ms: number[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Times one operation, from the call to its answer. */
  async of<Value>(act: () => Promise<Value>): Promise<Value> {
    const startedMs = performance.now();
    const value = await act();
    this.add(performance.now() - startedMs);
    return value;
  }

  /** One that was timed elsewhere. */
  add(ms: number) {
    if (this.#ms.length < SAMPLES_MAX) this.#ms.push(ms);
  }

  get figures(): Readonly<Record<string, string>> {
    const [p50 = Number.NaN, p99 = Number.NaN] = this.quantiles([0.5, 0.99]);
    return { [this.#name]: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms` };
  }

  get count(): number {
    return this.#ms.length;
  }

  quantiles(shares: readonly number[]): readonly number[] {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    return shares.map((share) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN);
  }
}

/** Enough for a steady last percent, and little to sort. */
const SAMPLES_MAX = 200_000;

const HEADING = ["trial", "subject", "floor", "ratio", "budget"];
const threeDigits = new Intl.NumberFormat("en", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** One aligned table; a trial's own figures stand on lines of their own below its row. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = [HEADING, ...outcomes.map(cellsOf)];
  const widths = HEADING.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.flatMap((row, index) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
    const figures = Object.entries(outcomes[index - 1]?.figures ?? {});
    return [line.trimEnd(), ...figures.map(([name, value]) => `  ${name}: ${value}`)];
  });
  return `${lines.join("\n")}\n`;
}

export function rateText(perSecond: number): string {
  return `${threeDigits.format(perSecond)}/s`;
}

function cellsOf({ trial, subjectPerSecond, floorPerSecond, ratio }: Outcome): string[] {
  return [
    trial.name,
    `${rateText(subjectPerSecond)} ${trial.subject.name}`,
    `${rateText(floorPerSecond)} ${trial.floor.name}`,
    ratio.toFixed(2),
    trial.budget ?? "",
  ];
}
