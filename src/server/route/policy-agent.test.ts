import { describe, expect, it } from "vitest";
import { echo } from "../../session/stage.fixture.ts";
import { PolicyTeam } from "./policy.fixture.ts";

const FORBIDS = { code: "policy_forbids", role: "member" };
const ONLY_LARGE = { roles: { member: { models: ["echo-large", "x"] } } };

/** An ask as agents make it at the end of a plan: each option names the mode to go on in. */
function switchTo(...modes: readonly string[]): string {
  const options = modes.map((mode) => `${mode}:allow_always`);
  return `ask kind=switch_mode options=${[...options, "plan:reject_once"].join(",")}`;
}

describe("P8: an agent is not in a mode that the policy forbids the turn's user", () => {
  it("not by the answer to its own question, of a member or for one", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.mel);
    const { requestId } = await room.asked(team.mel, switchTo("auto", "default"), "say done");
    for (const who of [team.mel, team.ada]) {
      expect(await room.vote(who, requestId, "auto")).toMatchObject({
        status: 403,
        body: { ...FORBIDS, rule: "agent_mode", wanted: "auto" },
      });
    }
    expect((await room.vote(team.mel, requestId, "default")).status).toBe(200);
    const again = await room.asked(team.mel, switchTo("auto"), "say done");
    expect((await room.vote(team.mel, again.requestId, "plan")).status).toBe(200);
    const own = await room.asked(team.ada, switchTo("auto"), "say done");
    expect((await room.vote(team.ada, own.requestId, "auto")).status).toBe(200);
  });

  it("not by what it chose itself: it is put back before the turn", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.mel);
    await room.verdict(await room.admitted(team.mel, "mode auto", "say done"));
    const { body: before } = await team.mel.call("GET", `${room.path}/context`);
    expect(JSON.stringify(before)).toContain('"currentModeId":"auto"');
    await room.verdict(await room.admitted(team.mel, "whoami"));
    expect(said(room.all("session_update"))).toContain("mode: default");
  });
});

describe("P8: a turn runs with a model that the policy names", () => {
  it("not with another, because the agent does not have the one of the session", async () => {
    const team = await PolicyTeam.open();
    await team.policy(ONLY_LARGE);
    const room = await team.session(team.mel, { model_config: { modelId: "x" } });
    const sent = await room.prompt(team.mel, "say hello");
    const refused = { rule: "models", wanted: expect.any(String) };
    if (sent.status === 202) {
      const verdict = await room.verdict(String(sent.body.promptId));
      expect(verdict).toMatchObject({ event: "turn_error", data: { data: FORBIDDEN } });
    } else {
      expect(sent).toMatchObject({ status: 403, body: { ...FORBIDS, ...refused } });
    }
    // By now the agent is there, and says which model it has.
    const again = await room.prompt(team.mel, "say hello");
    expect(again).toMatchObject({ status: 403, body: { ...FORBIDS, ...refused } });
    expect(room.all("turn_complete")).toEqual([]);
  });

  it.each([
    ["as an option", echo()],
    ["in the older way", echo("--with-legacy-model", "--no-config")],
  ])("goes on where the agent has it: %s", async (_how, profile) => {
    const team = await PolicyTeam.open({ stage: { profiles: new Map([profile]) } });
    await team.policy(ONLY_LARGE);
    const room = await team.session(team.mel, { model_config: { modelId: "echo-large" } });
    expect((await room.verdict(await room.admitted(team.mel, "say hello"))).event).toBe(
      "turn_complete",
    );
  });
});

describe("P8: a model that a request names in the protocol's own way", () => {
  it("is seen by the policy, at creation", async () => {
    const team = await PolicyTeam.open();
    await team.policy(ONLY_LARGE);
    const create = (modelServiceId: string) =>
      team.mel.call("POST", "/session", { body: { modelServiceId, sessionScope: "thread" } });
    const made = await create("echo-large");
    expect(made).toMatchObject({ status: 200, body: { modelApplied: true } });
    const refused = { rule: "models", wanted: expect.any(String) };
    expect(await create("echo-small")).toMatchObject({ status: 403, body: refused });
    // One that the agent lacks leaves its own choice, with which no turn begins.
    const lacks = await create("x");
    expect(lacks).toMatchObject({ status: 200, body: { modelApplied: false } });
    const body = { prompt: [{ type: "text", text: "say hello" }] };
    const sent = await team.mel.call("POST", `/session/${lacks.body.sessionId}/prompt`, { body });
    expect(sent).toMatchObject({ status: 403, body: refused });
  });
});

describe("P8: a question beside the turns", () => {
  it("goes to the model of the session, where a policy binds", async () => {
    const team = await PolicyTeam.open();
    await team.policy(ONLY_LARGE);
    const ask = async (modelId: string) => {
      const room = await team.session(team.mel, { model_config: { modelId } });
      const question = { body: { question: "whoami" } };
      return (await team.mel.call("POST", `${room.path}/btw`, question)).body.answer;
    };
    expect(await ask("echo-large")).toContain("model: echo-large");
    expect(await ask("x")).toBeNull();
  });
});

const FORBIDDEN = { code: "policy_forbids" };

function said(updates: readonly unknown[]): string {
  return JSON.stringify(updates);
}
