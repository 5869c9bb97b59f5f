import { randomUUID } from "node:crypto";
import {
  parseAskId,
  parsePromptId,
  parseSessionId,
  parseShellId,
  parseTurnId,
} from "../core/id.ts";
import type { Clock, SessionWorld } from "./world.ts";

/** The machine's own clock. */
export const SYSTEM_CLOCK: Clock = {
  nowMs: () => Date.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

export const RANDOM_IDS: SessionWorld["ids"] = {
  session: fresh(parseSessionId),
  prompt: fresh(parsePromptId),
  turn: fresh(parseTurnId),
  ask: fresh(parseAskId),
  shell: fresh(parseShellId),
  epoch: () => randomUUID(),
};

function fresh<Id>(parse: (text: string) => Id | null): () => Id {
  return () => {
    const id = parse(randomUUID());
    if (id === null) throw new Error("a UUID is no id any more");
    return id;
  };
}
