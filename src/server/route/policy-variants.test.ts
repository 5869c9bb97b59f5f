import { describe, expect, it } from "vitest";
import { echo } from "../../session/stage.fixture.ts";
import { PolicyTeam } from "./policy.fixture.ts";
import { heard } from "./work.fixture.ts";

const FORBIDS = { code: "policy_forbids", role: "member" };

/** Two agents to choose from. */
function twoAgents() {
  const [name, profile] = echo();
  const profiles = new Map([
    [name, profile],
    ["other", profile],
  ]);
  return { stage: { profiles, settings: { agentNames: [name, "other"] } } };
}

describe("P8: a member asks for more than the policy allows, in any way", () => {
  it.each([
    ["the mode", { mode: "yolo" }, { rule: "mode" }],
    ["the mode with its approval mode", { mode: "yolo", approvalMode: "yolo" }, { rule: "mode" }],
    ["autonomy", { autonomy: "autonomous" }, { rule: "autonomy" }],
    ["the approval mode", { approvalMode: "auto" }, { rule: "autonomy" }],
    ["a list that allows all", { mode: "allowlist", allowlist: ["*"] }, { rule: "allowlist" }],
    [
      "a list that allows all commands",
      { mode: "allowlist", allowlist: ["read:*", "execute:*"] },
      { rule: "allowlist", wanted: "execute:*" },
    ],
    [
      "a list that allows commands by one letter",
      { mode: "allowlist", allowlist: ["execute:s*"] },
      { rule: "allowlist" },
    ],
  ])("at creation: %s", async (_what, body, rule) => {
    const team = await PolicyTeam.open();
    const made = await team.mel.call("POST", "/session", { body });
    expect(made).toMatchObject({ status: 403, body: { ...FORBIDS, ...rule } });
    const { body: list } = await team.ada.call("GET", "/audit");
    expect(JSON.stringify(list)).not.toContain("session_created");
  });

  it("is given what the policy allows", async () => {
    const team = await PolicyTeam.open();
    await team.session(team.mel, { mode: "ask", autonomy: "balanced" });
    await team.session(team.mel, { approvalMode: "auto-edit" });
    const list = ["execute:git *", "read:*", "edit:*", "execute:npm test"];
    await team.session(team.mel, { mode: "allowlist", allowlist: list });
    await team.session(team.ada, { mode: "yolo", autonomy: "autonomous" });
  });

  it.each([
    ["autonomy", "/autonomy", { profile: "autonomous" }, { rule: "autonomy" }],
    ["the approval mode", "/approval-mode", { mode: "auto" }, { rule: "autonomy" }],
    ["the agent's own mode", "/agent-mode", { mode: "auto" }, { rule: "agent_mode" }],
    [
      "an option of the agent's own",
      "/config-option",
      { configId: "loud", value: true },
      { rule: "agent_option", wanted: "loud" },
    ],
  ])("by a route, in a colleague's session as in their own: %s", async (_what, to, body, rule) => {
    const team = await PolicyTeam.open();
    for (const who of [team.mel, team.max, team.ada]) {
      const { path } = await team.session(who);
      const set = await team.mel.call("POST", `${path}${to}`, { body });
      expect(set).toMatchObject({ status: 403, body: { ...FORBIDS, ...rule } });
    }
  });

  it("by approval mode yolo, which the security mode refuses as before", async () => {
    const team = await PolicyTeam.open();
    const { path } = await team.session(team.mel);
    const body = { mode: "yolo" };
    const set = await team.mel.call("POST", `${path}/approval-mode`, { body });
    expect(set.status).toBe(403);
  });

  it("by joining the shared session with settings, and by loading one with settings", async () => {
    const team = await PolicyTeam.open();
    const shared = { body: { sessionScope: "single" } };
    const made = await team.mel.call("POST", "/session", shared);
    expect(made.status).toBe(200);
    const again = await team.mel.call("POST", "/session", {
      body: { sessionScope: "single", autonomy: "autonomous" },
    });
    expect(again).toMatchObject({ status: 403, body: { rule: "autonomy" } });
    const load = await team.mel.call("POST", `/session/${made.body.sessionId}/load`, {
      body: { approvalMode: "auto" },
    });
    expect([403, 200]).toContain(load.status);
    const { body } = await team.mel.call("GET", `/session/${made.body.sessionId}/approvals`);
    expect(body).toMatchObject({ autonomy: "manual", securityMode: "ask" });
  });

  it("by branching an owner's session in which everything happens", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, { mode: "yolo" });
    await room.verdict(await room.admitted(team.ada, "say hello"));
    const branched = await team.mel.call("POST", `${room.path}/branch`, { body: {} });
    expect(branched).toMatchObject({ status: 403, body: { ...FORBIDS, rule: "mode" } });
    const own = await team.ada.call("POST", `${room.path}/branch`, { body: {} });
    expect(own.status).toBe(201);
  });

  it("by /new in an owner's session in which everything happens", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, { mode: "yolo" });
    expect(await room.command(team.mel, "/new")).toMatchObject({ code: "policy_forbids" });
    expect(await room.command(team.ada, "/new")).toMatchObject({ status: "ok" });
  });

  it("by an agent, a model or a skill that the policy does not name", async () => {
    const team = await PolicyTeam.open(twoAgents());
    const member = { agents: ["echo"], models: ["echo-small"], skills: ["review"] };
    const model = { model_config: { modelId: "echo-small" } };
    await team.policy({ roles: { member } });
    const wanted = [
      [{ agent: "other", ...model }, "agents"],
      [{ agent: "echo" }, "models"],
      [{ model_config: { modelId: "echo-large" } }, "models"],
    ] as const;
    for (const [body, rule] of wanted) {
      const made = await team.mel.call("POST", "/session", { body });
      expect(made).toMatchObject({ status: 403, body: { ...FORBIDS, rule } });
    }
    const room = await team.session(team.mel, model);
    const lines = [
      ["/agent other", "agents"],
      ["/model echo-large", "models"],
      ["/sh ls", "skills"],
      ["/ship ls", "skills"],
      ["/skill run ls", "skills"],
    ] as const;
    for (const [line, rule] of lines) {
      const answer = await room.command(team.mel, line);
      expect(answer, line).toMatchObject({ status: "error", code: "policy_forbids" });
      expect(String(answer.message)).toContain(`rule ${rule}`);
    }
    const routes = [
      ["/agent", { agent: "other" }, "agents"],
      ["/model", { modelId: "echo-large" }, "models"],
    ] as const;
    for (const [to, body, rule] of routes) {
      const set = await team.mel.call("POST", `${room.path}${to}`, { body });
      expect(set).toMatchObject({ status: 403, body: { ...FORBIDS, rule } });
    }
    expect((await room.verdict(await room.admitted(team.mel, "/rv say ok"))).event).toBe(
      "turn_complete",
    );
  });

  it("by a prompt in a session whose agent is not theirs to use, sent or steered", async () => {
    const team = await PolicyTeam.open(twoAgents());
    await team.policy({ roles: { member: { agents: ["echo"] } } });
    const room = await team.session(team.ada, { agent: "other" });
    const sent = await room.prompt(team.mel, "say hello");
    expect(sent).toMatchObject({ status: 403, body: { ...FORBIDS, rule: "agents" } });
    expect(await room.command(team.mel, "/agent echo")).toMatchObject({ status: "ok" });
    await room.verdict(await room.admitted(team.mel, "say hello"));
  });

  it("by a question beside the turns, to an agent that is not theirs to use", async () => {
    const team = await PolicyTeam.open(twoAgents());
    await team.policy({ roles: { member: { agents: ["echo"] } } });
    const room = await team.session(team.ada, { agent: "other" });
    const asides = [
      ["/btw", { question: "say hello" }],
      ["/recap", {}],
    ] as const;
    for (const [to, body] of asides) {
      const asked = await team.mel.call("POST", `${room.path}${to}`, { body });
      expect(asked).toMatchObject({ status: 403, body: { ...FORBIDS, rule: "agents" } });
    }
  });

  it("by a prompt to an agent that the owner has put into a mode of its own", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada);
    const set = await team.ada.call("POST", `${room.path}/agent-mode`, { body: { mode: "auto" } });
    expect(set.status, set.text).toBe(200);
    const sent = await room.prompt(team.mel, "say hello");
    expect(sent).toMatchObject({ status: 403, body: { ...FORBIDS, rule: "agent_mode" } });
    await room.verdict(await room.admitted(team.ada, "say hello"));
  });

  it("by a prompt to an agent of which the owner has set an option", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada);
    const body = { configId: "loud", value: true };
    const set = await team.ada.call("POST", `${room.path}/config-option`, { body });
    expect(set.status, set.text).toBe(200);
    const sent = await room.prompt(team.mel, "say hello");
    expect(sent).toMatchObject({ status: 403, body: { ...FORBIDS, rule: "agent_option" } });
    await room.verdict(await room.admitted(team.ada, "say hello"));
  });

  it("by repeating requests from before the policy was lowered", async () => {
    const team = await PolicyTeam.open();
    await team.policy({ roles: { member: { mode: "yolo", autonomy: "autonomous" } } });
    const headers = { "idempotency-key": "once" };
    const create = { body: { mode: "yolo", sessionScope: "thread" }, headers };
    const made = await team.mel.call("POST", "/session", create);
    expect(made.status).toBe(200);
    await team.policy({});
    const again = await team.mel.call("POST", "/session", create);
    expect(again.body.sessionId).toBe(made.body.sessionId);
    const path = `/session/${made.body.sessionId}`;
    const body = { prompt: [{ type: "text", text: "ask command=ls\nsay done" }] };
    await team.mel.call("POST", `${path}/prompt`, { body });
    await expect
      .poll(async () => (await team.mel.call("GET", `${path}/approvals`)).body.asks)
      .toHaveLength(1);
  });

  it("by a prompt that waited while the owner changed the agent: it has its verdict", async () => {
    const team = await PolicyTeam.open(twoAgents());
    await team.policy({ roles: { member: { agents: ["echo"] } } });
    const room = await team.session(team.ada);
    const { requestId } = await room.asked(team.ada, "ask", "say done");
    const change = await room.admitted(team.ada, "/agent other");
    const waiting = await room.admitted(team.mel, "say hello");
    await room.vote(team.ada, requestId);
    await heard(room.stream, "command_result", change);
    const verdict = await room.verdict(waiting);
    expect(verdict).toMatchObject({
      event: "turn_error",
      data: { data: { code: "policy_forbids" } },
    });
    await room.verdict(await room.admitted(team.ada, "say goes on"));
  });
});

describe("the tenant's usual autonomy", () => {
  it("is lowered to what a session's maker may have, and is not set above the policy", async () => {
    const team = await PolicyTeam.open();
    const usual = { body: { settings: { autonomy: "autonomous" } } };
    expect((await team.ada.call("PATCH", "/tenant", usual)).status).toBe(200);
    const room = await team.session(team.mel);
    const { body } = await team.mel.call("GET", `${room.path}/approvals`);
    expect(body.autonomy).toBe("balanced");
    await team.policy({ roles: { owner: { autonomy: "supervised" } } });
    const set = await team.ada.call("PATCH", "/tenant", usual);
    expect(set).toMatchObject({ status: 403, body: { rule: "autonomy", role: "owner" } });
  });

  it("is bound by a token of less than its user's role", async () => {
    const team = await PolicyTeam.open();
    const made = await team.ada.call("POST", "/tokens", { body: { role: "member" } });
    const small = team.ada.with(String(made.body.token));
    const body = { mode: "yolo" };
    expect(await small.call("POST", "/session", { body })).toMatchObject({ status: 403 });
  });
});
