import { describe, expect, it } from "vitest";
import { Approvals } from "./approval.fixture.ts";
import { heard } from "./work.fixture.ts";

describe("POST /session/:id/agent-mode", () => {
  it("chooses a mode of the agent's, and tells everybody and the audit who did", async () => {
    const session = await Approvals.open();
    const sessionId = session.path.slice("/session/".length);
    const changed = await session.call("POST", "/agent-mode", { mode: "auto" });
    expect([changed.status, changed.body]).toEqual([
      200,
      { sessionId, mode: "auto", previous: null },
    ]);
    const told = await heard(session.stream, "agent_mode_changed");
    expect(told.data).toMatchObject({
      originatorClientId: "ada-1",
      originatorUserId: "ada",
      data: { from: null, to: "auto" },
    });
    await session.turn("whoami");
    expect((await session.view()).agentMode).toEqual({ chosen: "auto", observed: "auto" });
    const back = await session.call("POST", "/agent-mode", { mode: null });
    expect(back.body).toEqual({ sessionId, mode: null, previous: "auto" });
    const { body } = await session.call("GET", "/audit?limit=100");
    expect(body.entries).toContainEqual(
      expect.objectContaining({
        act: "agent_mode_changed",
        accepted: true,
        actor: { kind: "client", clientId: "ada-1", userId: "ada" },
        details: { from: null, to: "auto" },
      }),
    );
  });

  it("leaves the word `plan` with that mode, and the profile as it is", async () => {
    const session = await Approvals.open({ approvalMode: "plan", autonomy: "supervised" });
    await session.call("POST", "/agent-mode", { mode: "auto" });
    expect(await session.view()).toMatchObject({
      approvalMode: "default",
      autonomy: "supervised",
      agentMode: { chosen: "auto" },
    });
    const told = await heard(session.stream, "approval_mode_changed");
    expect(told.data.data).toMatchObject({ previous: "plan", next: "default", isWordOnly: true });
    await session.call("POST", "/agent-mode", { mode: "plan" });
    expect(await session.view()).toMatchObject({
      approvalMode: "default",
      autonomy: "supervised",
      agentMode: { chosen: "plan" },
    });
  });

  it("refuses a mode that the agent does not offer, and lists those that it does", async () => {
    const session = await Approvals.open();
    const answer = await session.call("POST", "/agent-mode", { mode: "dream" });
    expect([answer.status, answer.body]).toEqual([
      400,
      {
        error: "The agent offers this for mode: default, plan, auto.",
        code: "agent_choice_unknown",
        setting: "mode",
        choices: "default, plan, auto",
      },
    ]);
    expect((await session.view()).agentMode).toEqual({ chosen: null, observed: "default" });
  });

  it.each([{}, { mode: "" }, { mode: 7 }, { mode: ["auto"] }, { mode: "x".repeat(257) }])(
    "refuses %j",
    async (body) => {
      const session = await Approvals.open();
      const answer = await session.call("POST", "/agent-mode", body);
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    },
  );

  it("is for clients that the session knows, and of one that is not there 404", async () => {
    const { ada, path } = await Approvals.open();
    const body = { mode: "auto" };
    const eve = await ada.call("POST", `${path}/agent-mode`, { body, clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const nobody = await ada.call("POST", "/session/nobody/agent-mode", { body });
    expect([nobody.status, nobody.body.code]).toEqual([404, "session_not_found"]);
  });
});
