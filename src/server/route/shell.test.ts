import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionBeside, WITH_SHELL } from "./beside.fixture.ts";

const AS_ADA = { clientId: "ada" };

describe("POST /session/:id/shell", () => {
  it("runs the command where the session is, and tells what came of it", async () => {
    const beside = await SessionBeside.open(WITH_SHELL);
    const { status, body } = await beside.post("/shell", { command: "pwd; exit 3" }, AS_ADA);
    expect(status).toBe(200);
    const output = `${beside.world.stage.folder}\n`;
    expect(body).toEqual({ exitCode: 3, output, aborted: false });
  });

  it("is off unless it was switched on", async () => {
    const beside = await SessionBeside.open();
    const { status, body } = await beside.post("/shell", { command: "true" }, AS_ADA);
    const code = "session_shell_disabled";
    expect([status, body]).toEqual([403, { error: expect.any(String), code, errorKind: code }]);
  });

  it("is only for a server that wants a token", async () => {
    const beside = await SessionBeside.open({ ...WITH_SHELL, needsToken: false });
    const { status, body } = await beside.post("/shell", { command: "true" }, AS_ADA);
    expect([status, body.code]).toEqual([401, "token_required"]);
  });

  it("is only for clients that the session knows by name", async () => {
    const beside = await SessionBeside.open(WITH_SHELL);
    const anonymous = await beside.post("/shell", { command: "true" });
    const code = "client_id_required";
    expect([anonymous.status, anonymous.body]).toEqual([
      403,
      { error: expect.any(String), code, errorKind: code },
    ]);
    const unknown = await beside.post("/shell", { command: "true" }, { clientId: "bob" });
    expect([unknown.status, unknown.body]).toEqual([
      400,
      {
        error: `Client id "bob" is not registered for session ${beside.sessionId}`,
        code: "invalid_client_id",
        sessionId: beside.sessionId,
        clientId: "bob",
      },
    ]);
  });

  it("is refused without a command, or with a blank one", async () => {
    const beside = await SessionBeside.open(WITH_SHELL);
    for (const body of [{}, { command: 7 }, { command: "  " }]) {
      const refused = await beside.post("/shell", body, AS_ADA);
      expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"]);
    }
  });

  it("P2: runs once under one key, and answers a retry by what came of the first", async () => {
    const beside = await SessionBeside.open(WITH_SHELL);
    const keyed = { ...AS_ADA, headers: { "idempotency-key": "k-1" } };
    const once = { command: "echo one >> count; wc -l < count" };
    const first = await beside.post("/shell", once, keyed);
    expect(first.body.output).toMatch(/^\s*1\n$/);
    expect((await beside.post("/shell", once, keyed)).body).toEqual(first.body);
    const other = await beside.post("/shell", { command: "true" }, keyed);
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
  });

  it("P10: ends with the client that leaves", async () => {
    const beside = await SessionBeside.open(WITH_SHELL);
    const live = await beside.live();
    const leaving = new AbortController();
    const { signal } = leaving;
    const command = "touch begun; sleep 60; touch done";
    const ran = beside.post("/shell", { command }, { ...AS_ADA, signal }).catch(() => "left");
    await live.until(({ shells }) => shells.size === 1);
    leaving.abort();
    expect(await ran).toBe("left");
    await live.until(({ shells }) => shells.size === 0);
    expect(existsSync(join(beside.world.stage.folder, "done"))).toBe(false);
  });
});
