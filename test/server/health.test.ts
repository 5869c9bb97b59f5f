import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { served } from "./health.fixture.ts";

describe("the health of a real server", { timeout: 120_000 }, () => {
  it("is degraded while its database is cut short or emptied, and ok when it is back", async () => {
    const { server, create, health, database } = await served();
    expect((await create()).status).toBe(200);
    await server.kill("SIGTERM");
    const whole = readFileSync(database);
    await server.restart();
    expect((await health("ok")).status).toBe(200);
    for (const size of [0, whole.length / 2]) {
      truncateSync(database, size);
      const { status, body } = await health("degraded");
      expect(status).toBe(503);
      expect(body).toMatchObject({ reason: "database_damaged", reasons: [{ tenantId: "local" }] });
      writeFileSync(database, whole);
      await health("ok");
    }
    rmSync(database);
    expect((await health("degraded")).body).toMatchObject({ reason: "database_missing" });
    expect(server.said).toMatch(/"reason":"database_damaged".*"msg":"degraded"/);
    expect(server.said).toContain("no longer degraded");
  });

  it("is degraded while nothing can be written, and ok when it can", async () => {
    const { server, health } = await served();
    const inTheWay = join(server.data, "sessions", ".health-probe");
    // The server may look just now, and have its own file there.
    await expect.poll(() => mkdirSync(inTheWay)).toBeUndefined();
    const { status, body } = await health("degraded");
    expect([status, body.reason]).toEqual([503, "store_unwritable"]);
    rmdirSync(inTheWay);
    await health("ok");
    expect(existsSync(inTheWay)).toBe(false);
  });

  it("counts the sessions that a lost log took away, until they are given up", async () => {
    const { server, create, health, database, command } = await served();
    for (let n = 0; n < 6; n += 1) expect((await create()).status).toBe(200);
    await server.kill("SIGKILL");
    rmSync(`${database}-wal`);
    await server.restart();
    const { status, body } = await health("degraded");
    expect([status, body.reason]).toEqual([200, "sessions_missing"]);
    expect(body.reasons).toMatchObject([{ sessions: 6, tenantId: "local" }]);
    expect(server.said).toContain("6 sessions are missing");
    const listed = await command("missing");
    expect([listed.exitCode, listed.stdout.trim().split("\n").length]).toEqual([1, 6]);
    expect((await command("missing", "--forget")).exitCode).toBe(0);
    await health("ok");
  });

  it("does not miss sessions that were deleted", async () => {
    const { server, ask, create, health } = await served();
    const { sessionId } = (await create()).body;
    expect((await ask("/sessions/delete", { sessionIds: [sessionId] })).status).toBe(200);
    await server.kill("SIGKILL");
    await server.restart();
    await health("ok");
  });

  it("names an agent that fails again and again, and still serves", async () => {
    const { ask, health } = await served({ agents: { broken: { command: "false" } } });
    for (let n = 0; n < 6; n += 1) {
      await ask("/session", { sessionScope: "thread", agent: "broken" });
    }
    const { status, body } = await health("degraded");
    expect([status, body.reason]).toEqual([200, "agent_failing"]);
    expect(body.reasons[0].message).toMatch(/agent "broken" failed \d+ times in a row/);
  });
});
