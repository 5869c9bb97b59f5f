import type { StoreCapabilities, StoreContract } from "../store.ts";
import type { StoreHarness, World } from "./harness.ts";
import type { Stage } from "./stage.ts";

/** One promise, and how it is tried. */
export interface Check {
  /** Begins with its number: those of the reference, or a letter and a number for our own. */
  readonly title: string;
  readonly run: (stage: Stage) => Promise<void>;
  readonly unless: Unless;
  readonly timeoutMs: number;
}

interface Subject {
  readonly harness: StoreHarness;
  readonly contract: StoreContract;
}

/** Why a check does not apply to this store; null if it does. */
type Unless = (subject: Subject) => string | null;

/** Long enough for a slow disk. Nothing waits for it, except what will never end. */
const CHECK_MS_MAX = 120_000;

export function check(title: string, run: Check["run"], ...reasons: readonly Unless[]): Check {
  const unless: Unless = (subject) =>
    reasons.map((reason) => reason(subject)).find((reason) => reason !== null) ?? null;
  return { title, run, unless, timeoutMs: CHECK_MS_MAX };
}

export const forgetful: Unless = ({ harness }) =>
  harness.persists ? null : "nothing outlives an instance of this store";

export function cannot(ability: keyof World): Unless {
  return ({ harness }) =>
    harness.world[ability] === undefined ? `the harness has no ${ability}` : null;
}

type Flag = Exclude<keyof StoreCapabilities, "snapshotBytesLimit">;

export function whenFalse(flag: Flag): Unless {
  return ({ contract }) => (contract.capabilities[flag] ? null : `${flag} is false`);
}

export function whenTrue(flag: Flag): Unless {
  return ({ contract }) => (contract.capabilities[flag] ? `${flag} is true` : null);
}

export const slotless: Unless = ({ contract }) =>
  contract.stateSlot === null ? "stateSlot is null" : null;
