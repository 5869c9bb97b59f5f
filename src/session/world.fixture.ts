import { randomUUID } from "node:crypto";
import {
  parseAskId,
  parsePromptId,
  parseSessionId,
  parseShellId,
  parseTurnId,
} from "../core/id.ts";
import type { Creation } from "../core/session/state.ts";
import { DEFAULT_SESSION_SETTINGS, type SessionSettings } from "./settings.ts";
import type { ShellRunner } from "./side/shell-runner.ts";
import type { Clock, SessionWorld } from "./world.ts";

/** The parts of a world that tests, their servers and benchmarks share. */

export const REAL_CLOCK: Clock = {
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
  return () => given(parse(randomUUID()));
}

/** What a test cannot go on without. */
export function given<Value>(value: Value | null): Value {
  if (value === null) throw new Error("there is nothing");
  return value;
}

/** For a world in which nobody runs a command. */
export const NO_SHELL: ShellRunner = {
  run: async () => ({ exitCode: null, signal: null, error: "there is no shell here" }),
};

export const SETTINGS: SessionSettings = {
  ...DEFAULT_SESSION_SETTINGS,
  askMs: null,
  settleMs: 2_000,
};

export const CREATION: Creation = {
  workspaceCwd: "/",
  scope: "thread",
  securityMode: "ask",
  allowlist: [],
  storeId: "sqlite",
  source: null,
  parentSessionId: null,
  activeAgent: "echo",
  modelConfig: { modelId: null },
  skills: { version: 1, hash: "none" },
  persona: { version: 1, hash: "none" },
  approvalMode: "default",
  displayName: null,
  autonomyProfile: null,
  budgetMicro: null,
};
