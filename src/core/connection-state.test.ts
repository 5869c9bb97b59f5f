import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type ConnectionState, connectionStateOf, resetTurnState } from "./connection-state.ts";
import { MESSAGE_ID_STACK_MAX } from "./limits.ts";
import type { Ask } from "./policy/ask.ts";
import { anything, commandFor } from "./session/anything.fixture.ts";
import { AGENT, askId, client, Life, newAsk, turnId, types } from "./session/life.fixture.ts";
import type { CreditReservation } from "./turn.ts";

/** The fifteen fields of a turn, and what each of them is without one. */
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

/** The eight that outlive a turn. */
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

const FIELDS = [...Object.keys(CLEARED), ...SESSION_FIELDS].toSorted();

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

/** No field holds what a new session has, and writing to one would throw. */
const BUSY = Object.freeze<ConnectionState>({
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
  messageIdStack: ["m1", "m2"],
  sessionState: "running",
  sessionGrants: new Map([["edit", "write"]]),
  autonomyProfile: "balanced",
  agentMode: "plan",
  sandboxState: "ready",
  sandboxProvisionedAt: 3,
  lastSandboxActivity: 4,
});

const say = (life: Life, sessionUpdate: string, text = "hm") => {
  const update = { sessionUpdate, content: { type: "text", text } };
  return life.give("agent_update", { update }, AGENT);
};

describe("the state of a connection", () => {
  it("has exactly the 23 published fields, fifteen of them of the turn", () => {
    type Published = keyof typeof CLEARED | (typeof SESSION_FIELDS)[number];
    expectTypeOf<keyof ConnectionState>().toEqualTypeOf<Published>();
    expect(Object.keys(CLEARED)).toHaveLength(15);
    expect(FIELDS).toHaveLength(23);
    expect(Object.keys(new Life().created().view).toSorted()).toEqual(FIELDS);
    expect(Object.keys(new Life().waiting().view).toSorted()).toEqual(FIELDS);
  });

  it("shows a new session without a turn", () => {
    expect(new Life().created().view).toStrictEqual({
      ...CLEARED,
      messageIdStack: [],
      sessionState: "inactive",
      sessionGrants: new Map(),
      autonomyProfile: "manual",
      agentMode: null,
      sandboxState: "none",
      sandboxProvisionedAt: null,
      lastSandboxActivity: null,
    });
  });

  it("shows what the session holds under its own names", () => {
    const life = new Life().running();
    const update = { sessionUpdate: "tool_call", toolCallId: "call", title: "Edit" };
    life.give("agent_update", { update }, AGENT);
    life.give("ask", newAsk("a1"), AGENT);
    const { openAsks, hasOutput: _, children: _children, ...turn } = life.turn;
    const { turn: __, ...connection } = life.now.connection;
    expect(life.view).toMatchObject({ ...turn, ...connection, pendingApproval: true });
    expect(life.view.deferredInteractiveMessage).toBe(openAsks);
    expect(life.view.pendingToolCalls.get("call")).toMatchObject({ toolName: "Edit" });
    expect(life.view.currentReservation).toMatchObject({ turnId: "t1" });
  });

  it("tells that the turn was told to stop, until it is over", () => {
    const life = new Life().running();
    expect(life.view.stopRequested).toBe(false);
    life.give("cancel", {}, client(null));
    expect(life.view.stopRequested).toBe(true);
    life.complete("t1", "cancelled");
    expect(life.view).toMatchObject({ stopRequested: false, turnStopped: false });
  });

  it("is acknowledged by anything that the agent says, and by nothing that people say", () => {
    for (const kind of ["user_message_chunk", "shell_output"]) {
      const life = new Life().running();
      say(life, kind);
      expect(life.view.acked).toBe(false);
    }
    for (const kind of ["agent_message_chunk", "agent_thought_chunk", "plan", "brand_new"]) {
      const life = new Life().running();
      say(life, kind);
      expect(life.view.acked).toBe(true);
    }
  });

  it("thinks until the agent speaks or calls a tool", () => {
    for (const kind of ["agent_message_chunk", "tool_call"]) {
      const life = new Life().running();
      say(life, "agent_thought_chunk", "h");
      say(life, "plan");
      say(life, "agent_thought_chunk", "m");
      expect(life.view).toMatchObject({ isThinking: true, thinkingContent: "hm" });
      say(life, kind);
      expect(life.view).toMatchObject({ isThinking: false, thinkingContent: "hm" });
    }
  });

  it("has no more than so many nested messages, and none after the instance has ended", () => {
    const life = new Life().running();
    for (let n = 0; n <= MESSAGE_ID_STACK_MAX; n += 1) life.says("x", { messageId: `m${n}` });
    expect(life.view.messageIdStack).toHaveLength(MESSAGE_ID_STACK_MAX);
    expect(life.view.messageIdStack[0]).toBe("m1");
    life.complete("t1");
    expect(life.view.messageIdStack).toHaveLength(MESSAGE_ID_STACK_MAX);
    life.give("recovery", {});
    expect(life.view.messageIdStack).toEqual([]);
  });

  it("without a log shows all but what only the log holds", () => {
    const life = new Life().running();
    life.says("Hello", { messageId: "m1" });
    const { fullContent: _, acked: __, messageIdStack: ___, ...known } = life.view;
    expect(connectionStateOf(life.now, [])).toMatchObject(known);
  });

  it("shows nothing of a turn that is over, and has text exactly where there is output", () => {
    const live = fc.property(anything, (intents) => {
      const life = new Life().created();
      for (const [step, intent] of intents.entries()) {
        life.submit(commandFor(life, intent, step + 2));
        const { view, now } = life;
        expect(view.fullContent !== "").toBe(now.connection.turn.hasOutput);
        if (now.running === null) expect(view).toStrictEqual(resetTurnState(view));
      }
    });
    fc.assert(live, { numRuns: 300 });
  });
});

describe("the boundary between turns", () => {
  it.each(Object.entries(CLEARED))("clears %s, which the last turn had set", (field, empty) => {
    const before = Object.entries(BUSY).find(([name]) => name === field);
    const after = Object.entries(resetTurnState(BUSY)).find(([name]) => name === field);
    expect(before).not.toStrictEqual([field, empty]);
    expect(after).toStrictEqual([field, empty]);
  });

  it.each(SESSION_FIELDS)("leaves %s as it is", (field) => {
    expect(BUSY[field]).not.toStrictEqual(new Life().created().view[field]);
    expect(resetTurnState(BUSY)[field]).toBe(BUSY[field]);
  });

  it("adds nothing, drops nothing, and does not touch the state it was given", () => {
    const given = structuredClone(BUSY);
    expect(Object.keys(resetTurnState(given)).toSorted()).toEqual(FIELDS);
    expect(given).toStrictEqual(BUSY);
  });

  it("changes nothing the second time", () => {
    const once = resetTurnState(BUSY);
    expect(resetTurnState(once)).toStrictEqual(once);
  });

  it("P9: forgets the reservation unsettled, so a turn is settled before it is reset", () => {
    expect(resetTurnState(BUSY).currentReservation).toBeNull();
    const told = types(new Life().running().complete("t1"));
    expect(told.filter((type) => type === "credits_settled")).toHaveLength(1);
    expect(told.indexOf("credits_settled")).toBeLessThan(told.indexOf("session_status"));
  });
});
