import {
  AGENT_STATUSES,
  applySessionTransition,
  SESSION_STATES,
  VALID_TRANSITIONS,
} from "../src/core/index.ts";
import { textChunk } from "./chunk.ts";
import type { Trial } from "./trial.ts";

const CALLS = 1_000 * SESSION_STATES.length * AGENT_STATUSES.length;

// Each loop counts what it finds and looks at the count, so that no compiler can leave it out.
const statusChange: Trial = {
  group: "core",
  name: "status change",
  floor: {
    name: "Set.has",
    run() {
      let legal = 0;
      for (let call = 0; call < CALLS; call += 1) {
        const current = SESSION_STATES[call % SESSION_STATES.length] ?? "inactive";
        const next = SESSION_STATES[(call >> 3) % SESSION_STATES.length] ?? "inactive";
        if (VALID_TRANSITIONS[current].has(next)) legal += 1;
      }
      return legal === 0 ? 0 : CALLS;
    },
  },
  subject: {
    name: "applySessionTransition",
    run() {
      let legal = 0;
      for (let call = 0; call < CALLS; call += 1) {
        const current = SESSION_STATES[call % SESSION_STATES.length] ?? "inactive";
        const agentStatus = AGENT_STATUSES[(call >> 3) % AGENT_STATUSES.length] ?? "created";
        if (applySessionTransition(current, agentStatus) !== null) legal += 1;
      }
      return legal === 0 ? 0 : CALLS;
    },
  },
};

export const trials: readonly Trial[] = [statusChange, textChunk];
