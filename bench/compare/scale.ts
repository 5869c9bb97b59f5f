import type { WireScale } from "../wire-scale.ts";

/** How much is measured: as the table says, or just enough to see that it works. */
export interface CompareScale {
  readonly server: WireScale["server"];
  readonly creates: number;
  readonly attaches: number;
  readonly starts: number;
  readonly prompts: number;
  /** Chunks of one turn, in one stream and to many. */
  readonly chunks: number;
  readonly turns: number;
  readonly streams: number;
  readonly bursts: number;
  readonly paced: { readonly chunks: number; readonly rate: number };
  readonly loaded: {
    readonly turns: number;
    readonly live: number;
    readonly closed: number;
    readonly restarts: number;
  };
  readonly weighed: { readonly warm: number; readonly sessions: number; readonly settleMs: number };
  readonly crowd: number;
  readonly branched: { readonly turns: number; readonly branches: number };
}

export const COMPARE_FULL: CompareScale = {
  server: "built",
  creates: 200,
  attaches: 300,
  starts: 5,
  prompts: 300,
  chunks: 2_000,
  turns: 20,
  streams: 50,
  bursts: 5,
  paced: { chunks: 2_250, rate: 450 },
  loaded: { turns: 200, live: 30, closed: 10, restarts: 3 },
  weighed: { warm: 50, sessions: 500, settleMs: 3_000 },
  crowd: 100,
  branched: { turns: 10_000, branches: 3 },
};

/** For the test that it still runs. */
export const COMPARE_TINY: CompareScale = {
  server: "at hand",
  creates: 2,
  attaches: 2,
  starts: 1,
  prompts: 2,
  chunks: 20,
  turns: 1,
  streams: 2,
  bursts: 1,
  paced: { chunks: 5, rate: 450 },
  loaded: { turns: 2, live: 1, closed: 1, restarts: 1 },
  weighed: { warm: 1, sessions: 2, settleMs: 1 },
  crowd: 2,
  branched: { turns: 3, branches: 1 },
};
