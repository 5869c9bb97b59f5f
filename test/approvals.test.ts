// What a person allows and takes back in a session, against a server as a user has it: a process
// of its own, with a real agent.

import { describe, expect, it, onTestFinished } from "vitest";
import { ServeProcess } from "./server/serve.fixture.ts";
import { asked, Talk } from "./server/talk.fixture.ts";

const LIST = "ask kind=execute command=ls";

async function started(): Promise<ServeProcess> {
  const server = await ServeProcess.start();
  onTestFinished(() => server.end());
  return server;
}

describe("what was allowed for the rest of a session", () => {
  it("P4, P5: is not asked again, until it is taken back or the server is killed", async () => {
    const server = await started();
    const talk = await Talk.begun(server);
    await talk.answered("allow_always", LIST);
    const decided = await talk.prompt("turn_complete", LIST);
    expect(decided).toContain('"gate":"grant","allowed":true');
    await talk.call("DELETE", "/grants/execute%3Als");
    await talk.answered("allow_always", LIST);
    await talk.call("POST", "/autonomy", { profile: "supervised" });
    expect(await talk.approvals()).toMatchObject({
      autonomy: "supervised",
      grants: [{ key: "execute:ls" }],
    });
    await server.kill("SIGKILL");
    await server.restart();
    expect(await talk.approvals()).toMatchObject({ autonomy: "supervised", grants: [], asks: [] });
    await talk.answered("allow_once", LIST);
  });
});

describe("the agent's own mode", () => {
  it("is another at the next turn, and never in the middle of one", async () => {
    const talk = await Talk.begun(await started());
    const said = await talk.prompt('"to":"waiting"', LIST, "whoami");
    await talk.call("POST", "/approval-mode", { mode: "plan" });
    expect((await talk.approvals()).agentMode).toEqual({ chosen: "plan", observed: "default" });
    await talk.vote(said, "allow_once");
    const first = await talk.until("turn_complete", 0);
    expect(first).toContain("mode: default");
    expect(first).not.toContain("mode: plan");
    const second = await talk.prompt("turn_complete", "whoami");
    expect(second).toContain("mode: plan");
    expect((await talk.approvals()).agentMode).toEqual({ chosen: "plan", observed: "plan" });
  });

  it("P7: is any that the agent offers, by its name, and outlives the server", async () => {
    const server = await started();
    const talk = await Talk.begun(server);
    const { state } = await talk.call("GET", "/context");
    const ids = Object(state).modes.availableModes.map(({ id }: { id: string }) => id);
    const refused = await talk.call("POST", "/agent-mode", { mode: "dream" });
    expect(refused).toMatchObject({ code: "agent_choice_unknown", choices: ids.join(", ") });
    expect(await talk.call("POST", "/agent-mode", { mode: "auto" })).toMatchObject({
      mode: "auto",
      previous: null,
    });
    expect(await talk.prompt("turn_complete", "whoami")).toContain("mode: auto");
    await server.kill("SIGKILL");
    await server.restart();
    expect(await talk.prompt("turn_complete", "whoami")).toContain("mode: auto");
    await talk.call("POST", "/agent-mode", { mode: null });
    expect(await talk.prompt("turn_complete", "whoami")).toContain("mode: default");
  });
});

describe("a tenant's default", () => {
  it("P7: is kept over a restart, for the sessions that are made then", async () => {
    const server = await started();
    const before = await Talk.begun(server);
    const settings = { autonomy: "balanced" };
    expect(await asked(server, "PATCH", "/tenant", { settings })).toMatchObject({ settings });
    await server.kill("SIGKILL");
    await server.restart();
    const after = await Talk.begun(server);
    expect([await before.approvals(), await after.approvals()]).toMatchObject([
      { autonomy: "manual", approvalMode: "default" },
      { autonomy: "balanced", approvalMode: "auto-edit" },
    ]);
    const said = await after.prompt("turn_complete", "ask kind=edit path=/a.ts");
    expect(said).toContain('"gate":"autonomy_profile","allowed":true');
  });
});
