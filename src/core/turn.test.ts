import { describe, expect, expectTypeOf, it } from "vitest";
import type { Ask } from "./policy/ask.ts";
import { askId, Life, turnId, types } from "./session/life.fixture.ts";
import {
  type ConnectionState,
  type CreditReservation,
  EMPTY_TURN,
  resetTurnState,
  type TurnState,
} from "./turn.ts";

/** The fifteen fields that seed 003's resetTurnState clears, and what each of them is then. */
const CLEARED = {
  turnId: null,
  fullContent: "",
  stopRequested: false,
  turnStopped: false,
  pendingToolCalls: new Map(),
  completedToolIds: new Set(),
  persistedToolCallIds: new Set(),
  isThinking: false,
  thinkingContent: "",
  deferredInteractiveMessage: null,
  pendingApproval: false,
  currentReservation: null,
  lastContextUsage: null,
  acked: false,
  pendingGitHubAction: null,
};

/** The eight that it leaves alone. */
const SESSION_FIELDS = [
  "messageIdStack",
  "sessionState",
  "sessionGrants",
  "autonomyProfile",
  "agentMode",
  "sandboxState",
  "sandboxProvisionedAt",
  "lastSandboxActivity",
] as const;

const ASK: Ask = {
  requestId: askId("a1"),
  kind: "permission",
  toolCall: {},
  options: [],
  keys: [],
  tier: "execute",
  mediation: { policy: "first-responder", designated: null, voters: [], quorum: 1 },
  votes: new Map(),
  askedAtMs: 1,
  deadlineAtMs: null,
};

const RESERVATION: CreditReservation = {
  turnId: turnId("t1"),
  reservedMicro: 100,
  slices: 1,
  price: null,
  spentMicro: 40,
};

/** A turn in which every field holds something that the next turn must not see. */
const BUSY_TURN: TurnState = {
  turnId: turnId("t1"),
  fullContent: "half an ans",
  stopRequested: true,
  turnStopped: true,
  pendingToolCalls: new Map([["call", { toolName: "Edit", startedAt: 1 }]]),
  completedToolIds: new Set(["done"]),
  persistedToolCallIds: new Set(["call", "done"]),
  isThinking: true,
  thinkingContent: "hm",
  deferredInteractiveMessage: new Map([[ASK.requestId, ASK]]),
  pendingApproval: true,
  pendingGitHubAction: { requestId: ASK.requestId, title: "gh pr create" },
  currentReservation: RESERVATION,
  lastContextUsage: {
    model: "m",
    used: 1,
    size: 2,
    tokens: { input: 1, output: 1, cachedRead: 0, cachedWrite: 0, thought: 0 },
  },
  acked: true,
};

/** No field holds what a new session has, and writing to one would throw. */
const BUSY = Object.freeze<ConnectionState>({
  turn: Object.freeze(BUSY_TURN),
  messageIdStack: ["m1", "m2"],
  sessionState: "running",
  sessionGrants: new Map([["edit", "write"]]),
  autonomyProfile: "balanced",
  agentMode: "plan",
  sandboxState: "ready",
  sandboxProvisionedAt: 3,
  lastSandboxActivity: 4,
});

describe("the state of a turn", () => {
  it("has exactly the seed's fifteen fields", () => {
    expectTypeOf<keyof TurnState>().toEqualTypeOf<keyof typeof CLEARED>();
    expect(Object.keys(CLEARED)).toHaveLength(15);
    expect(Object.keys(EMPTY_TURN).sort()).toEqual(Object.keys(CLEARED).sort());
  });

  it("is empty as the seed has it", () => {
    expect(EMPTY_TURN).toStrictEqual(CLEARED);
  });
});

describe("the state of a connection", () => {
  it("has the turn's fifteen fields and exactly eight more: the seed's 23", () => {
    expectTypeOf<keyof ConnectionState>().toEqualTypeOf<"turn" | (typeof SESSION_FIELDS)[number]>();
    const { turn, ...rest } = new Life().created().now.connection;
    expect(Object.keys(turn).sort()).toEqual(Object.keys(CLEARED).sort());
    expect(Object.keys(rest).sort()).toEqual([...SESSION_FIELDS].sort());
    expect(Object.keys(turn).length + Object.keys(rest).length).toBe(23);
  });
});

describe("the boundary between turns", () => {
  it.each(Object.entries(CLEARED))("clears %s, which the last turn had set", (field, empty) => {
    const before = Object.entries(BUSY_TURN).find(([name]) => name === field);
    const after = Object.entries(resetTurnState(BUSY).turn).find(([name]) => name === field);
    expect(before).not.toStrictEqual([field, empty]);
    expect(after).toStrictEqual([field, empty]);
  });

  it.each(SESSION_FIELDS)("leaves %s as it is", (field) => {
    const fresh = new Life().created().now.connection;
    expect(BUSY[field]).not.toStrictEqual(fresh[field]);
    expect(resetTurnState(BUSY)[field]).toBe(BUSY[field]);
  });

  it("adds nothing, drops nothing, and does not touch the state it was given", () => {
    const given = structuredClone(BUSY);
    expect(Object.keys(resetTurnState(given)).sort()).toEqual(["turn", ...SESSION_FIELDS].sort());
    expect(given).toStrictEqual(BUSY);
  });

  it("changes nothing the second time", () => {
    const once = resetTurnState(BUSY);
    expect(resetTurnState(once)).toStrictEqual(once);
  });

  it("P9: forgets the reservation unsettled, so a turn is settled before it is reset", () => {
    expect(resetTurnState(BUSY).turn.currentReservation).toBeNull();
    const told = types(new Life().running().complete("t1"));
    expect(told.filter((type) => type === "credits_settled")).toHaveLength(1);
    expect(told.indexOf("credits_settled")).toBeLessThan(told.indexOf("session_status"));
  });
});
