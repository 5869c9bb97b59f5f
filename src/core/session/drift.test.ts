import { describe, expect, it } from "vitest";
import type { AgentContext } from "./event.ts";
import { AGENT, dataOf, Life, types } from "./life.fixture.ts";
import type { Surroundings } from "./state.ts";

const AROUND: Surroundings = {
  agent: "echo 1.0",
  model: "small",
  skills: "s1",
  persona: "p1",
  mcpServers: ["files 1a"],
};

/** A session that had an agent with all this around it, and has none now. */
function rested(around: Surroundings | null = AROUND) {
  const life = new Life().activating();
  connect(life, around ?? undefined);
  life.give("stop", { reason: "idle_timeout" });
  life.give("agent_status", { status: "terminated" }, AGENT);
  life.give("activate", {});
  return life;
}

function connect(life: Life, surroundings?: Surroundings, context: AgentContext = "resumed") {
  const report = { status: "connected", agentSessionId: "a", context } as const;
  const seen = surroundings === undefined ? {} : { surroundings };
  return life.give("agent_status", { ...report, ...seen }, AGENT);
}

describe("what has changed around a session since its agent was last connected", () => {
  it.each([
    ["agent", { agent: "echo 2.0" }, "echo 1.0", "echo 2.0"],
    ["model", { model: "large" }, "small", "large"],
    ["skills", { skills: "s2" }, "s1", "s2"],
    ["persona", { persona: "p2" }, "p1", "p2"],
    ["mcp_servers", { mcpServers: [] }, "files 1a", ""],
  ])("is told with what it was and is: %s", (what, change, from, to) => {
    const decision = connect(rested(), { ...AROUND, ...change });
    expect(dataOf(decision.events, "session_drift")).toMatchObject([
      { changes: [{ what, from, to }] },
    ]);
  });

  it("is told once", () => {
    const life = rested();
    connect(life, { ...AROUND, agent: "echo 2.0" });
    life.give("stop", { reason: "idle_timeout" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    life.give("activate", {});
    expect(types(connect(life, { ...AROUND, agent: "echo 2.0" }))).not.toContain("session_drift");
  });

  it.each([
    ["it is as it was", AROUND, AROUND],
    ["nobody looked then", null, AROUND],
    ["it could not be seen then", { ...AROUND, skills: null }, AROUND],
    ["it cannot be seen now", AROUND, { ...AROUND, skills: null }],
  ])("is no news if %s", (_, then, now) => {
    expect(types(connect(rested(then), now))).not.toContain("session_drift");
  });

  it("is no news if somebody chose it: a model, a reload, another agent", () => {
    const life = rested();
    connect(life, AROUND);
    life.give("model", { change: { modelId: "large" } });
    life.give("reload_skills", { hash: "s2", difference: "" });
    life.give("reload_persona", { hash: "p2", difference: "" });
    life.give("change_agent", { to: "chat" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    life.give("activate", {});
    const now = { ...AROUND, agent: "chat 9", model: "large", skills: "s2", persona: "p2" };
    expect(types(connect(life, now))).not.toContain("session_drift");
  });

  it("P7: changes nothing that the session is set to", () => {
    const life = rested();
    const before = life.now.chosen;
    connect(life, { ...AROUND, model: "large", skills: "s2", persona: "p2" });
    expect(life.now.chosen).toEqual(before);
  });
});

describe("what an agent was instructed with", () => {
  const sent = { via: "context_block", text: "Be kind.", skills: "s1", persona: "p1" } as const;

  it("is in the log word for word, and remembered by its hashes", () => {
    const life = new Life().ready();
    const { events } = life.give("instructed", sent, AGENT);
    expect(dataOf(events, "instructions_sent")).toMatchObject([sent]);
    expect(life.now.instructed).toEqual({ skills: "s1", persona: "p1" });
  });

  it.each([
    ["resumed", { skills: "s1", persona: "p1" }],
    ["loaded", { skills: "s1", persona: "p1" }],
    ["seeded", null],
    ["new", null],
  ] as const)("counts for an agent that comes back %s as %j", (context, instructed) => {
    const life = new Life().ready();
    life.give("instructed", sent, AGENT);
    life.give("stop", { reason: "idle_timeout" });
    life.give("agent_status", { status: "terminated" }, AGENT);
    life.give("activate", {});
    connect(life, AROUND, context);
    expect(life.now.instructed).toEqual(instructed);
  });
});
