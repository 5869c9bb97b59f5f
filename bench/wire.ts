import type { Trial } from "./trial.ts";
import { fanOutTrials } from "./wire-fan-out.ts";
import { idleTrial } from "./wire-idle.ts";
import { loadTrials } from "./wire-load.ts";
import { requestTrials } from "./wire-requests.ts";
import { FULL, type WireScale } from "./wire-scale.ts";
import { startTrial } from "./wire-start.ts";

/** What a client sees of a server: real HTTP, and for starts and requests a real process. */
export function wireTrials(scale: WireScale): readonly Trial[] {
  return [
    startTrial(scale),
    ...requestTrials(scale),
    ...fanOutTrials(scale),
    ...loadTrials(scale),
    idleTrial(scale),
  ];
}

export const trials: readonly Trial[] = wireTrials(FULL);
