import { describe, expect, it } from "vitest";
import { SessionBeside, WITH_SHELL } from "./beside.fixture.ts";

describe("the tasks of a session", () => {
  it("are none while nothing runs beside the turns", async () => {
    const beside = await SessionBeside.open();
    const { sessionId } = beside;
    const { status, body } = await beside.get("/tasks");
    expect(status).toBe(200);
    expect(body).toEqual({ v: 1, sessionId, now: expect.any(Number), tasks: [] });
  });

  it("are its shell commands, and can be ended", async () => {
    const beside = await SessionBeside.open(WITH_SHELL);
    const live = await beside.live();
    const ran = beside.post("/shell", { command: "sleep 60" }, { clientId: "ada" });
    await live.until(({ shells }) => shells.size === 1);
    const { tasks } = (await beside.get("/tasks")).body;
    expect(tasks).toEqual([
      expect.objectContaining({ kind: "shell", status: "running", command: "sleep 60" }),
    ]);
    const { id } = Object(tasks)[0];
    const ended = await beside.post(`/tasks/${id}/cancel`, { kind: "shell" });
    expect([ended.status, ended.body]).toEqual([200, { cancelled: true }]);
    expect((await ran).body).toMatchObject({ exitCode: null, aborted: true });
    const again = await beside.post(`/tasks/${id}/cancel`);
    expect([again.status, again.body]).toEqual([200, { cancelled: false }]);
  });

  it("that nobody knows cannot be ended, whatever they are called", async () => {
    const beside = await SessionBeside.open();
    for (const id of ["unknown", encodeURIComponent("no id")]) {
      const { status, body } = await beside.post(`/tasks/${id}/cancel`);
      expect([status, body]).toEqual([200, { cancelled: false }]);
    }
  });

  it("are ended only on a server that wants a token", async () => {
    const beside = await SessionBeside.open({ needsToken: false });
    const { status, body } = await beside.post("/tasks/any/cancel");
    expect([status, body.code]).toEqual([401, "token_required"]);
  });
});
