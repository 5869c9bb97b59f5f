/** How large the trials of the wire are: as designed, or just large enough to run at all. */
export interface WireScale {
  /** The server as it is published, built anew; or what is there; or from the sources. */
  readonly server: "built" | "at hand" | "sources";
  /** Events of one turn that streams. */
  readonly events: number;
  /** Streams of one session, of one trial each. */
  readonly subscribers: readonly number[];
  /** Many sessions at a time, with so many streams each. */
  readonly crowd: { readonly sessions: number; readonly streams: number; readonly events: number };
  /** Events of a paced run; one every few milliseconds. */
  readonly paced: number;
  /** How far a client is behind that comes back. */
  readonly missed: number;
  /** Turns of a young and of an old session. */
  readonly turns: readonly [number, number];
  /** Sessions that begin a turn in the same moment. */
  readonly atOnce: number;
  /** Sessions that are weighed. */
  readonly idle: number;
}

export const FULL: WireScale = {
  server: "built",
  events: 2_000,
  subscribers: [1, 10, 64],
  crowd: { sessions: 64, streams: 16, events: 100 },
  paced: 20,
  missed: 1_000,
  turns: [200, 10_000],
  atOnce: 500,
  idle: 1_000,
};

/** For the test that every trial still runs. */
export const TINY: WireScale = {
  server: "at hand",
  events: 20,
  subscribers: [2],
  crowd: { sessions: 2, streams: 2, events: 10 },
  paced: 2,
  missed: 5,
  turns: [2, 10],
  atOnce: 3,
  idle: 5,
};
