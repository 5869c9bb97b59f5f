import { describe, expect, it } from "vitest";
import { heard, openWork, Work, withoutError } from "./work.fixture.ts";

describe("POST /session/:id/approval-mode", () => {
  it("chooses how much may happen unasked, and tells everybody", async () => {
    const work = await Work.made(await openWork(), "ada");
    const stream = await work.stream();
    const body = { mode: "auto" };
    const answer = await work.call("POST", "/approval-mode", { body, clientId: "ada" });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      sessionId: work.id,
      mode: "auto",
      previous: "default",
      persisted: false,
    });
    const changed = await heard(stream, "approval_mode_changed");
    expect(changed.data).toMatchObject({
      originatorClientId: "ada",
      data: { sessionId: work.id, previous: "default", next: "auto", persisted: false },
    });
    const promptId = await work.admitted("ask kind=edit");
    await heard(stream, "turn_complete", promptId);
    const types = stream.frames.map(({ event }) => event);
    expect(types).toContain("permission_decided");
    expect(types).not.toContain("permission_request");
  });

  it("says truly that nothing beyond the session was changed, even if that was asked", async () => {
    const work = await Work.made(await openWork());
    const body = { mode: "plan", persist: true };
    const answer = await work.call("POST", "/approval-mode", { body });
    expect(answer.body).toMatchObject({ mode: "plan", persisted: false });
  });

  it("is no way around the mode that the session was made with", async () => {
    const work = await Work.made(await openWork());
    const answer = await work.call("POST", "/approval-mode", { body: { mode: "yolo" } });
    expect(answer.status).toBe(403);
    expect(withoutError(answer.body)).toEqual({
      code: "trust_gate",
      errorKind: "auth_env_error",
    });
  });

  it("refuses what is no mode, and names those that are", async () => {
    const work = await Work.made(await openWork());
    for (const body of [{}, { mode: "fast" }, { mode: 1 }]) {
      const answer = await work.call("POST", "/approval-mode", { body });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({
        code: "invalid_approval_mode",
        allowed: ["plan", "default", "auto-edit", "auto", "yolo"],
      });
    }
    const body = { mode: "auto", persist: "yes" };
    const flag = await work.call("POST", "/approval-mode", { body });
    expect([flag.status, flag.body.code]).toEqual([400, "invalid_persist_flag"]);
    const unknown = await work.world.call("POST", "/session/nobody/approval-mode", { body });
    expect([unknown.status, unknown.body.code]).toEqual([404, "session_not_found"]);
  });
});
