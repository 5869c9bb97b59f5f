import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { Connection } from "../../turn.ts";
import type { EventData, EventType, SessionEvent } from "../event.ts";
import { evolve } from "../evolve.ts";
import { CREATION, sessionName, userId } from "../life.fixture.ts";
import { WAITING } from "../slot-v5.fixture.ts";
import type { Chosen, Fixed, Session, Surroundings } from "../state.ts";
import { created } from "./instance.ts";

/** The compiler asks for a value of every field that a session may have. */
type Full = Required<Session> & {
  readonly fixed: Required<Fixed>;
  readonly chosen: Required<Chosen>;
  readonly connection: Required<Connection>;
};

/** A session in which every field has a value of its own: one that is wiped is seen. */
const FULL: Full = {
  ...WAITING,
  fixed: { ...WAITING.fixed, createdBy: userId("ada") },
  chosen: {
    ...WAITING.chosen,
    activeAgent: "chat",
    name: sessionName("fix-login"),
    monthBudgetMicro: 700,
    audience: [userId("ada")],
    agentOptions: new Map([["loud", { agent: "chat", value: false, category: null }]]),
  },
  ending: { reason: "killed", closedBy: null },
  closed: true,
  agentEpoch: "epoch-1",
  agentUsualMode: "code",
  agentOffer: "offer-1",
  agentModeChoices: 4,
  title: "how it began",
  pastChildren: [],
  workflow: {
    name: "flow",
    hash: "abc",
    input: "go",
    state: "paused",
    reason: "cancelled",
    plan: [{ stages: ["plan"], maxAttempts: 2, backoffMs: 0 }],
    attempts: 1,
    failures: 1,
    interruptions: 0,
    attemptEndedAtMs: 5,
    executions: 3,
    keeps: true,
    past: [],
    userId: null,
  },
  lastTurnError: { code: "channel_closed", message: "The agent exited." },
};

const UNUSED = { sessionId: FULL.sessionId, creation: CREATION };
const NEW = created({
  v: 1,
  type: "session_created",
  data: UNUSED,
  _meta: { serverTimestamp: 1 },
});

type Change<Type extends EventType> = {
  readonly type: Type;
  readonly data: EventData[Type];
  /** All that the event changes. */
  readonly to: Partial<Omit<Session, "chosen" | "connection" | "surroundings">> & {
    readonly chosen?: Partial<Chosen>;
    readonly connection?: Partial<Connection>;
    readonly surroundings?: Partial<Surroundings>;
  };
};

function change<Type extends EventType>(
  type: Type,
  data: EventData[Type],
  to: Change<Type>["to"],
): Change<EventType> {
  return { type, data, to };
}

const [next, from] = [{ version: 9, hash: "nine" }, FULL.chosen.skills];
const model = { modelId: "small" };

const CHANGES = [
  change(
    "skills_reloaded",
    { from, to: next, difference: "+ review" },
    { chosen: { skills: next }, surroundings: { skills: "nine" } },
  ),
  change(
    "persona_reloaded",
    { from, to: next, difference: "" },
    { chosen: { persona: next }, surroundings: { persona: "nine" } },
  ),
  change("session_budget_changed", { from: 5_000, to: null }, { chosen: { budgetMicro: null } }),
  change("session_month_budget_changed", { from: 700, to: 8 }, { chosen: { monthBudgetMicro: 8 } }),
  change(
    "session_visibility_changed",
    { visibility: "private", sharedWith: [userId("bob")], from: "private" },
    { chosen: { audience: [userId("ada"), userId("bob")] } },
  ),
  change(
    "session_metadata_updated",
    { displayName: "Other", titleSource: "manual" },
    { chosen: { displayName: "Other", titleSource: "manual" } },
  ),
  change(
    "session_named",
    { name: sessionName("other"), source: "given", from: sessionName("fix-login") },
    { chosen: { name: sessionName("other") } },
  ),
  change(
    "model_switched",
    { modelId: "small" },
    { chosen: { modelConfig: { ...FULL.chosen.modelConfig, modelId: "small" } } },
  ),
  change(
    "model_config_changed",
    { from: FULL.chosen.modelConfig, to: model },
    { chosen: { modelConfig: model } },
  ),
  change(
    "approval_mode_changed",
    { previous: "auto-edit", next: "default", persisted: false, isWordOnly: true },
    { chosen: { approvalMode: "default" } },
  ),
  change(
    "autonomy_profile_changed",
    { from: "balanced", to: "manual" },
    { connection: { autonomyProfile: "manual" } },
  ),
  change(
    "agent_mode_changed",
    { from: "plan", to: "code" },
    { connection: { agentMode: "code" }, agentModeChoices: 5 },
  ),
  change(
    "agent_option_changed",
    { configId: "safe", value: "yes", category: "x" },
    {
      chosen: {
        agentOptions: new Map([
          ["loud", { agent: "chat", value: false, category: null }],
          ["safe", { agent: "chat", value: "yes", category: "x" }],
        ]),
      },
    },
  ),
  // Another agent, or another directory, begins its side of the conversation anew.
  change(
    "active_agent_changed",
    { from: "chat", to: "echo" },
    {
      chosen: { activeAgent: "echo" },
      agentSessionId: null,
      agentOffer: null,
      surroundings: { agent: null, model: null },
    },
  ),
  change(
    "session_cwd_changed",
    { from: "/workspace/src", to: "/workspace" },
    { chosen: { currentCwd: "/workspace" }, agentSessionId: null },
  ),
];

describe("P7: an event that changes a setting", () => {
  it.each(CHANGES)("$type changes that one field and leaves all others", ({ type, data, to }) => {
    const whose = { sessionId: FULL.sessionId };
    const event = { v: 1, type, data: { ...data, ...whose }, _meta: { serverTimestamp: 9_999 } };
    // The table has the data that the type of each event has.
    const after = evolve(FULL, event as SessionEvent);
    const { chosen, connection, surroundings, ...rest } = to;
    expect(after).toEqual({
      ...FULL,
      ...rest,
      chosen: { ...FULL.chosen, ...chosen },
      connection: { ...FULL.connection, ...connection },
      surroundings: { ...FULL.surroundings, ...surroundings },
    });
    expect(after).not.toEqual(FULL);
  });

  it("is tried on a session that has no field as a new one has it", () => {
    const same = (full: object, fresh: object) => {
      const values = new Map<string, unknown>(Object.entries(fresh));
      const isSame = ([name, value]: [string, unknown]) =>
        isDeepStrictEqual(value, values.get(name));
      return Object.entries(full)
        .filter(isSame)
        .map(([name]) => name);
    };
    expect(same(FULL.chosen, NEW.chosen)).toEqual([]);
    expect(same(FULL.connection, NEW.connection)).toEqual([]);
    expect(same(FULL, NEW)).toEqual(["sessionId"]);
  });
});
