import { describe, expect, it } from "vitest";
import { Approvals } from "./approval.fixture.ts";
import { heard } from "./work.fixture.ts";

describe("POST /session/:id/autonomy", () => {
  it("chooses what may happen unasked, tells everybody and the audit who did", async () => {
    const session = await Approvals.open();
    const changed = await session.call("POST", "/autonomy", { profile: "balanced" });
    expect([changed.status, changed.body]).toEqual([
      200,
      {
        sessionId: session.path.slice("/session/".length),
        profile: "balanced",
        previous: "manual",
      },
    ]);
    const told = await heard(session.stream, "autonomy_profile_changed");
    expect(told.data).toMatchObject({
      originatorClientId: "ada-1",
      originatorUserId: "ada",
      data: { from: "manual", to: "balanced" },
    });
    await session.turn("ask kind=edit path=/a.ts");
    expect(session.decided).toEqual(["autonomy_profile"]);
    await session.asked("ask kind=execute command=ls");
    const { body } = await session.call("GET", "/audit?limit=100");
    expect(body.entries).toContainEqual(
      expect.objectContaining({
        act: "autonomy_profile_changed",
        accepted: true,
        actor: { kind: "client", clientId: "ada-1", userId: "ada" },
        details: { from: "manual", to: "balanced" },
      }),
    );
  });

  it("moves the wire's word with it, which never promises more than is so", async () => {
    const session = await Approvals.open({ approvalMode: "auto" });
    const word = async () => (await session.view()).approvalMode;
    await session.call("POST", "/autonomy", { profile: "supervised" });
    expect(await word()).toBe("default");
    const told = await heard(session.stream, "approval_mode_changed");
    expect(told.data.data).toMatchObject({ previous: "auto", next: "default" });
    await session.call("POST", "/approval-mode", { mode: "auto-edit" });
    expect(await session.view()).toMatchObject({ autonomy: "balanced", approvalMode: "auto-edit" });
  });

  it("leaves what is asked already with people", async () => {
    const session = await Approvals.open();
    const requestId = await session.asked("ask kind=edit path=/a.ts");
    await session.call("POST", "/autonomy", { profile: "autonomous" });
    expect((await session.view()).asks).toMatchObject([{ requestId }]);
    await session.vote(requestId, "reject_once");
  });

  it.each([{}, { profile: "full" }, { profile: null }, { profile: ["manual"] }])(
    "refuses %j",
    async (body) => {
      const session = await Approvals.open();
      const answer = await session.call("POST", "/autonomy", body);
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
      expect((await session.view()).autonomy).toBe("manual");
    },
  );

  it("is done by joining a shared session too, if it is asked for (P7)", async () => {
    const session = await Approvals.open({ sessionScope: "single" });
    const join = (body: object) =>
      session.ada.call("POST", "/session", { body: { sessionScope: "single", ...body } });
    await join({});
    expect((await session.view()).autonomy).toBe("manual");
    await join({ autonomy: "supervised" });
    expect(await session.view()).toMatchObject({ autonomy: "supervised", approvalMode: "default" });
    await join({ approvalMode: "plan", autonomy: "balanced" });
    expect(await session.view()).toMatchObject({ autonomy: "balanced", approvalMode: "plan" });
  });
});
