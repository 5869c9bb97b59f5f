import type { AgentKeeper } from "../agent/keeper.ts";
import { NO_PERSONA } from "../core/persona.ts";
import { DONE, fail, ok } from "../core/result.ts";
import type { Creation } from "../core/session/state.ts";
import { NO_SKILLS } from "../core/skill/skill.ts";
import type { Loader } from "../loader/loader.ts";
import type { Tools } from "../tool/tool.ts";
import type { Meter } from "./meter/meter.ts";
import type { ShellRunner } from "./side/shell-command.ts";
import { DEFAULT_SESSION_SETTINGS, type SessionSettings } from "./world.ts";

/** The parts of a world that tests, their servers and benchmarks share. */

export { SYSTEM_CLOCK as REAL_CLOCK } from "../platform/clock.ts";
export { RANDOM_IDS } from "./world.ts";

/** What a test cannot go on without. */
export function given<Value>(value: Value | null): Value {
  if (value === null) throw new Error("there is nothing");
  return value;
}

/** For a world without shell commands. */
/** Agents of which nothing can be seen. */
export const NO_KEEPER: AgentKeeper = {
  calls: {
    list: async () => ok([]),
    logout: async () => DONE,
    delete: async () => "failed",
  },
  processes: () => [],
  failing: () => [],
  restart: () => ({ ended: 0, closing: 0 }),
  logs: () => [],
  trace: () => null,
};

export const NO_SHELL: ShellRunner = {
  run: async () => ({ exitCode: null, signal: null, error: "there is no shell here" }),
};

/** For a world without any skill or persona file. */
export const NO_LOADER: Loader = {
  skills: async () => ok(NO_SKILLS),
  persona: async () => ok(NO_PERSONA),
};

/** For a world without any tool. */
export const NO_TOOLS: Tools = {
  list: async () => [],
  callOf: async (tool) => fail("tool_unknown", { tool }),
  run: async () => ({ isError: true, text: "there are no tools here" }),
  servers: [],
  close: async () => {},
};

const noLedger = async () => fail("store_unavailable", { reason: "there is no ledger here" });

/** For a world in which nothing costs anything, and no account is kept. */
export const NO_METER: Meter = {
  reserve: () => ok({ reservedMicro: 0, price: null, model: null }),
  afford: async () => DONE,
  isFree: () => true,
  priceOf: () => null,
  slice: async () => ok(0),
  giveBack: async () => {},
  giveBackUnbegun: async () => {},
  leave: () => {},
  begun: () => {},
  entries: () => [],
  settled: () => null,
  settleAside: async () => 0,
  usedBeside: async () => ok({ chargedMicro: 0, openMicro: 0 }),
  usedThisMonth: noLedger,
  whenRaised: () => () => {},
  opened: async () => {},
  sweep: async () => {},
  without: (_, act) => act(),
  balance: noLedger,
  grant: noLedger,
  revoke: noLedger,
  ownUse: noLedger,
  setLimit: noLedger,
  setBudget: noLedger,
  statement: noLedger,
  usage: noLedger,
};

export const SETTINGS: SessionSettings = {
  ...DEFAULT_SESSION_SETTINGS,
  askMs: null,
  // Long, so that no agent is ended for being slow where a test is about something else.
  settleMs: 60_000,
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
