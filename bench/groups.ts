import { COMPARE_HELP } from "./compare/options.ts";
import { runTrials, type Trial } from "./trial.ts";

/** One name of `npm run bench -- NAME`. A new group is a row of `GROUPS`. */
interface Group {
  readonly name: string;
  /** What it measures, for `--help`. */
  readonly about: string;
  /** On two quiet cores. */
  readonly takes: string;
  /** `false` for what takes long: it runs only by its name. */
  readonly isUsual: boolean;
  /** What `--help` says of its options, if it has any. */
  readonly options?: string;
  /** Resolves with what to print. Throws `Misuse` for options that it does not know. */
  run(options: readonly string[]): Promise<string>;
}

/** Loaded when it is run, because most groups load much of the server. */
function trialsOf(load: () => Promise<{ readonly trials: readonly Trial[] }>): Group["run"] {
  return async () => runTrials((await load()).trials);
}

export const GROUPS: readonly Group[] = [
  {
    ...{ name: "core", takes: "6 s", isUsual: true },
    about: "deciding and evolving, against bare values",
    run: trialsOf(() => import("./core.ts")),
  },
  {
    ...{ name: "store", takes: "1 min", isUsual: true },
    about: "the SQLite store, against its bare driver on the same disk",
    run: trialsOf(() => import("./store.ts")),
  },
  {
    ...{ name: "agent", takes: "15 s", isUsual: true },
    about: "an agent's lines, and the start of an agent",
    run: trialsOf(() => import("./agent.ts")),
  },
  {
    ...{ name: "bus", takes: "5 s", isUsual: true },
    about: "publishing to streams, without a network",
    run: trialsOf(() => import("./bus.ts")),
  },
  {
    ...{ name: "session", takes: "6 s", isUsual: true },
    about: "an agent's chunks through a session, without a network",
    run: trialsOf(() => import("./session.ts")),
  },
  {
    ...{ name: "wire", takes: "3 min", isUsual: true },
    about: "requests, streams and starts of a real server, against a bare one",
    run: trialsOf(() => import("./wire.ts")),
  },
  {
    ...{ name: "path", takes: "45 s", isUsual: false },
    about: "the CPU time of a chunk at each stop, from an agent's pipe to the sockets",
    async run() {
      const { PATH_FULL, paths, pathTable } = await import("./path.ts");
      return pathTable(await paths(PATH_FULL));
    },
  },
  {
    ...{ name: "memory", takes: "1 min", isUsual: false },
    about: "what a live session holds in the server, by owner",
    async run() {
      const { MEMORY_FULL, memories, memoryTable } = await import("./memory.ts");
      return memoryTable(await memories(MEMORY_FULL));
    },
  },
  {
    ...{ name: "compare", takes: "4 min", isUsual: false },
    about: "what people wait and pay for, of Fermata and of any other server on this wire",
    options: COMPARE_HELP,
    async run(options) {
      const { compare } = await import("./compare/compare.ts");
      return compare(options);
    },
  },
  {
    ...{ name: "stall", takes: "2 min", isUsual: true },
    about: "how long one hostile request holds the others",
    async run() {
      const { STALL_FULL, stalls, stallTable } = await import("./stall.ts");
      return stallTable(await stalls(STALL_FULL));
    },
  },
  {
    ...{ name: "waits", takes: "1 min", isUsual: true },
    about: "what a thousand waiting requests and ten thousand lists a minute cost a server",
    async run() {
      const { WAITS_FULL, waits, waitsTable } = await import("./waits.ts");
      return waitsTable(await waits(WAITS_FULL));
    },
  },
  {
    ...{ name: "race", takes: "30 min", isUsual: false },
    about: "whether one of 60,000 prompts of busy clients of the SDK hangs",
    async run() {
      const { RACE_FULL, races, raceTable } = await import("./race.ts");
      return raceTable(await races(RACE_FULL));
    },
  },
];
