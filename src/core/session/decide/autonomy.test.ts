import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { type ApprovalMode, AUTONOMY_PROFILES, type AutonomyProfile } from "../../policy/risk.ts";
import type { Actor } from "../command.ts";
import {
  AGENT,
  CREATION,
  client,
  dataOf,
  Life,
  newAsk,
  SERVER,
  sessionId,
  types,
  verdictOn,
} from "../life.fixture.ts";

const ADA: Actor = {
  kind: "client",
  clientId: null,
  userId: parseUserId("ada"),
  loopback: true,
};

const set = (life: Life, profile: AutonomyProfile, actor: Actor = SERVER) =>
  life.give("autonomy", { profile }, actor);

const chosen = ({ now }: Life) => [
  now.connection.autonomyProfile,
  now.chosen.approvalMode,
  now.connection.agentMode,
];

describe("an autonomy profile", () => {
  it("is chosen in so many words, with who did it, and is no news the second time", () => {
    const life = new Life().ready().attached("c1");
    const { events } = set(life, "supervised", ADA);
    expect(events).toMatchObject([
      { originatorUserId: "ada", data: { from: "manual", to: "supervised" } },
    ]);
    expect(set(life, "supervised").events).toEqual([]);
    const [event] = set(life, "manual", client("c1")).events;
    expect(event).toMatchObject({ originatorClientId: "c1" });
    expect(event).not.toHaveProperty("originatorUserId");
  });

  it("goes with the wire's word, which is the same setting and says no more than is so", () => {
    const life = new Life().ready();
    const told = AUTONOMY_PROFILES.toReversed().map((profile) => {
      const both = types(set(life, profile));
      return [...chosen(life), both];
    });
    const [word, own] = ["approval_mode_changed", "autonomy_profile_changed"];
    expect(told).toEqual([
      ["autonomous", "auto", null, [word, own]],
      ["balanced", "auto-edit", null, [word, own]],
      ["supervised", "default", null, [word, own]],
      ["manual", "default", null, [own]],
    ]);
  });

  it("P7: changes nothing else", () => {
    const life = new Life().ready();
    const before = life.now;
    set(life, "balanced");
    expect(life.now).toEqual({
      ...before,
      chosen: { ...before.chosen, approvalMode: "auto-edit" },
      connection: { ...before.connection, autonomyProfile: "balanced" },
    });
  });

  it("leaves the agent in its mode: `plan` stays the word, whatever the profile", () => {
    const life = new Life().ready({ approvalMode: "plan" });
    expect(types(set(life, "balanced"))).toEqual(["autonomy_profile_changed"]);
    expect(chosen(life)).toEqual(["balanced", "plan", "plan"]);
  });

  it("leaves `yolo` as it is, and takes it away with the freedom that it stands for", () => {
    const life = new Life().ready({ securityMode: "yolo", approvalMode: "yolo" });
    expect(set(life, "autonomous").events).toEqual([]);
    set(life, "manual");
    expect(chosen(life)).toEqual(["manual", "default", null]);
    set(life, "autonomous");
    expect(chosen(life)).toEqual(["autonomous", "auto", null]);
  });

  it("goes back to what a word stands for when somebody says the word again", () => {
    const life = new Life().ready();
    set(life, "supervised");
    const again = life.give("approval_mode", { mode: "default", persisted: false });
    expect(types(again)).toEqual(["autonomy_profile_changed", "agent_mode_changed"]);
    expect(chosen(life)).toEqual(["manual", "default", null]);
  });

  it.each<[AutonomyProfile, ApprovalMode, ApprovalMode]>([
    ["supervised", "default", "default"],
    ["supervised", "auto-edit", "default"],
    ["manual", "auto", "default"],
    ["balanced", "default", "auto-edit"],
    ["autonomous", "default", "auto"],
    ["autonomous", "plan", "plan"],
  ])("%s counts when a session is made with the word %s: it goes by %s", (profile, mode, word) => {
    const creation = { ...CREATION, approvalMode: mode, autonomyProfile: profile };
    const life = new Life();
    life.give("create", { sessionId: sessionId("s"), creation });
    expect(life.now.connection.autonomyProfile).toBe(profile);
    expect(life.now.chosen.approvalMode).toBe(word);
  });

  it("is no way to make a session `yolo`", () => {
    const creation = { ...CREATION, approvalMode: "yolo", autonomyProfile: "manual" } as const;
    const made = new Life().give("create", { sessionId: sessionId("s"), creation });
    expect(verdictOn(made)).toBe("trust_gate");
  });
});

describe("a change of the profile", () => {
  it("is for asks that come after it; what is asked already stays with people", () => {
    const life = new Life().waiting();
    expect(types(set(life, "balanced"))).not.toContain("permission_decided");
    expect(life.state).toBe("waiting");
    const later = life.give("ask", newAsk("a2"), AGENT);
    expect(dataOf(later.events, "permission_decided")).toMatchObject([
      { requestId: "a2", gate: "autonomy_profile", allowed: true },
    ]);
    expect(life.state).toBe("waiting");
    set(life, "manual");
    life.give("ask", newAsk("a3"), AGENT);
    expect([...life.turn.openAsks.keys()]).toEqual(["a1", "a3"]);
  });

  it.each(AUTONOMY_PROFILES)("to %s still asks for what destroys", (profile) => {
    const life = new Life().running();
    set(life, profile);
    const toolCall = { toolCallId: "c", kind: "delete", locations: [{ path: "/a.ts" }] };
    life.give("ask", newAsk("a1", { toolCall }), AGENT);
    expect(life.state).toBe("waiting");
  });

  it("is no way around an allowlist", () => {
    const life = new Life().running({ securityMode: "allowlist", allowlist: ["edit:/b.ts"] });
    set(life, "autonomous");
    const { events } = life.give("ask", newAsk("a1"), AGENT);
    expect(dataOf(events, "permission_decided")).toMatchObject([
      { gate: "security_mode", allowed: false },
    ]);
  });

  it("takes effect at rest too, and stays when the instance ends", () => {
    const life = new Life().ready();
    life.give("stop", { reason: "idle_timeout" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    expect(verdictOn(set(life, "supervised"))).toBe("accepted");
    life.give("activate", {});
    expect(life.now.connection.autonomyProfile).toBe("supervised");
  });
});
