import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import type { ApprovalMode } from "../../policy/risk.ts";
import type { Actor } from "../command.ts";
import {
  AGENT,
  CREATION,
  client,
  dataOf,
  Life,
  SERVER,
  sessionId,
  types,
} from "../life.fixture.ts";

const ADA: Actor = { kind: "client", clientId: null, userId: parseUserId("ada"), loopback: true };

const set = (life: Life, mode: string | null, actor: Actor = SERVER) =>
  life.give("agent_mode", { mode }, actor);

const say = (life: Life, mode: ApprovalMode) =>
  life.give("approval_mode", { mode, persisted: false });

/** The word, the profile and the agent's mode. */
const chosen = ({ now }: Life) => [
  now.chosen.approvalMode,
  now.connection.autonomyProfile,
  now.connection.agentMode,
];

describe("the agent's own mode", () => {
  it("is chosen by its name, with who did it", () => {
    const life = new Life().ready().attached("c1");
    const { events } = set(life, "code", ADA);
    expect(events).toMatchObject([
      { type: "agent_mode_changed", originatorUserId: "ada", data: { from: null, to: "code" } },
    ]);
    const [event] = set(life, null, client("c1")).events;
    expect(event).toMatchObject({ originatorClientId: "c1", data: { from: "code", to: null } });
    expect(event).not.toHaveProperty("originatorUserId");
  });

  it("P7: changes nothing else", () => {
    const life = new Life().ready();
    const before = life.now;
    set(life, "code");
    expect(life.now).toEqual({
      ...before,
      agentModeChoices: 1,
      connection: { ...before.connection, agentMode: "code" },
    });
  });

  it.each([null, "code"])("that is %s already is chosen all the same: agents move", (mode) => {
    const life = new Life().ready();
    set(life, mode);
    const before = life.now;
    expect(dataOf(set(life, mode).events, "agent_mode_changed")).toMatchObject([
      { from: mode, to: mode },
    ]);
    expect(life.now).toEqual({ ...before, agentModeChoices: 2 });
  });

  it("P7: that the agent goes into by itself is no choice", () => {
    const life = new Life().running();
    const update = { sessionUpdate: "current_mode_update", currentModeId: "code" };
    life.give("agent_update", { update }, AGENT);
    expect(life.now.connection.agentMode).toBeNull();
    expect(life.now.agentModeChoices).toBeUndefined();
  });

  it("is taken in the middle of a turn, which it does not touch", () => {
    const life = new Life().waiting();
    const { turn } = life;
    expect(types(set(life, "code"))).toEqual(["agent_mode_changed"]);
    expect([life.state, life.turn]).toEqual(["waiting", turn]);
  });

  it("is kept when the instance ends, and so is what the agent usually is in", () => {
    const life = new Life().created();
    const arrive = (agentSessionId: string, usualMode: string | null) => {
      life.give("activate", {});
      const arrival = { agentSessionId, context: "new", usualMode } as const;
      life.give("agent_status", { status: "connected", ...arrival }, AGENT);
    };
    arrive("a", "default");
    set(life, "code");
    life.give("stop", { reason: "idle_timeout" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    expect(life.now.connection.agentMode).toBe("code");
    expect(life.now.agentUsualMode).toBe("default");
    arrive("b", null);
    expect(life.now.agentUsualMode).toBeNull();
  });

  it.each([
    ["default", "code", "code"],
    ["plan", "plan", "plan"],
    ["plan", "code", "plan"],
    ["auto", undefined, null],
  ] as const)("with the word %s and %s, a session is made with %s", (word, mode, agentMode) => {
    const made = mode === undefined ? {} : { agentMode: mode };
    const creation = { ...CREATION, approvalMode: word, ...made };
    const life = new Life();
    life.give("create", { sessionId: sessionId("s"), creation });
    expect(life.now.connection.agentMode).toBe(agentMode);
    expect(life.now.fixed).not.toHaveProperty("agentMode");
  });
});

describe("the agent's mode and the wire's word", () => {
  it("`plan` by its own name moves neither the word nor the profile", () => {
    const life = new Life().ready({ approvalMode: "auto" });
    expect(types(set(life, "plan"))).toEqual(["agent_mode_changed"]);
    expect(chosen(life)).toEqual(["auto", "autonomous", "plan"]);
    expect(types(set(life, null))).toEqual(["agent_mode_changed"]);
    expect(chosen(life)).toEqual(["auto", "autonomous", null]);
  });

  it.each([
    ["manual", "default"],
    ["supervised", "default"],
    ["balanced", "auto-edit"],
    ["autonomous", "auto"],
  ] as const)("leaving `plan` at %s says %s, and leaves the profile", (profile, word) => {
    for (const mode of [null, "code"]) {
      const life = new Life().ready({ approvalMode: "plan" });
      life.give("autonomy", { profile });
      const left = set(life, mode);
      expect(types(left)).toEqual(["approval_mode_changed", "agent_mode_changed"]);
      expect(dataOf(left.events, "approval_mode_changed")).toMatchObject([
        { previous: "plan", next: word, persisted: false, isWordOnly: true },
      ]);
      expect(chosen(life)).toEqual([word, profile, mode]);
    }
  });

  it("the last to be chosen counts: a word chooses what it stands for", () => {
    const life = new Life().ready();
    set(life, "code");
    expect(types(say(life, "plan"))).toEqual(["approval_mode_changed"]);
    expect(chosen(life)).toEqual(["plan", "manual", "plan"]);
    set(life, "code");
    expect(types(say(life, "auto"))).toEqual(["approval_mode_changed"]);
    expect(chosen(life)).toEqual(["auto", "autonomous", null]);
    expect(life.now.agentModeChoices).toBe(4);
  });

  it("a word that is said again takes the agent back to what it stands for", () => {
    const life = new Life().ready();
    set(life, "code");
    expect(types(say(life, "default"))).toEqual(["agent_mode_changed"]);
    expect(chosen(life)).toEqual(["default", "manual", null]);
    expect(types(say(life, "default"))).toEqual(["agent_mode_changed"]);
    expect(life.now.agentModeChoices).toBe(3);
  });

  it("a profile chooses no mode, whatever word goes with it", () => {
    const life = new Life().ready();
    set(life, "code");
    const { agentModeChoices } = life.now;
    life.give("autonomy", { profile: "balanced" });
    expect(chosen(life)).toEqual(["auto-edit", "balanced", "code"]);
    expect(life.now.agentModeChoices).toBe(agentModeChoices);
    set(life, "plan");
    life.give("autonomy", { profile: "supervised" });
    expect(chosen(life)).toEqual(["default", "supervised", "plan"]);
  });

  it("a word that somebody says brings both with it, as in every older log", () => {
    const life = new Life().ready({ approvalMode: "plan" });
    say(life, "auto-edit");
    const [event] = life.log.filter(({ type }) => type === "approval_mode_changed");
    expect(event?.data).not.toHaveProperty("isWordOnly");
    expect(chosen(life)).toEqual(["auto-edit", "balanced", null]);
  });
});
