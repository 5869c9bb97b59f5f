export interface Clock {
  nowMs(): number;
  /** Runs something later, unless it is called off. */
  after(ms: number, act: () => void): CallOff;
}

export type CallOff = () => void;

/** The machine's own clock. */
export const SYSTEM_CLOCK: Clock = {
  nowMs: () => Date.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};
