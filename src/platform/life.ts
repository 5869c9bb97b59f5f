/** A step in the life of a part that is loaded into a server: an extension or a store. */
export type LifeStep = "init" | "activate" | "deactivate" | "dispose";

/** Where such a part is in its life. Only an active one is at work. */
export type LifePhase = "new" | "initialising" | "initialised" | "active" | "inactive" | "disposed";

/**
 * Where each step leads; what is not here is refused. An initialisation takes its time and may be
 * ended meanwhile. After a disposal a part may begin again.
 */
const STEPS: Readonly<Record<LifePhase, Readonly<Partial<Record<LifeStep, LifePhase>>>>> = {
  new: { init: "initialising", dispose: "disposed" },
  initialising: { deactivate: "inactive", dispose: "disposed" },
  initialised: { activate: "active", deactivate: "inactive", dispose: "disposed" },
  active: { deactivate: "inactive", dispose: "disposed" },
  inactive: { activate: "active", dispose: "disposed" },
  disposed: { init: "initialising", dispose: "disposed" },
};

/** Where a step leads from a phase; null if it cannot be taken there. */
export function phaseAfter(phase: LifePhase, step: LifeStep): LifePhase | null {
  return STEPS[phase][step] ?? null;
}

/** What a phase says of a part that was asked for something else. */
export const PHASE_REASONS: Readonly<Record<LifePhase, string>> = {
  new: "it has not been initialised",
  initialising: "it is still being initialised",
  initialised: "it has been initialised and is not active",
  active: "it is active already",
  inactive: "it has been deactivated",
  disposed: "it has been disposed of",
};
