import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { runNode } from "../house/run.ts";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

const MIB = 1_048_576;

async function served() {
  const server = await ServeProcess.start();
  onTestFinished(() => server.end());
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    return JSON.parse(await (await fetch(`${server.url}${path}`, request)).text());
  };
  const database = join(server.data, "sessions", "tenants", "local", "sessions.db");
  /** Makes a session that takes several MiB, and deletes it. */
  const makeAndDelete = async () => {
    const { sessionId } = await post("/session", { sessionScope: "thread" });
    const prompt = [{ type: "text", text: `say hi\n# ${"x".repeat(6 * MIB)}` }];
    const { promptId } = await post(`/session/${sessionId}/prompt`, { prompt });
    const state = async () => {
      const turn = await fetch(`${server.url}/session/${sessionId}/turns/${promptId}`);
      return JSON.parse(await turn.text()).state;
    };
    await expect.poll(state, { timeout: 30_000 }).toBe("completed");
    await post("/sessions/delete", { sessionIds: [sessionId] });
  };
  const vacuum = () =>
    runNode([ENTRY, "vacuum", "--data", server.data], { FERMATA_HOME: server.home });
  return { server, database, makeAndDelete, vacuum };
}

describe("the disk of deleted sessions", { timeout: 120_000 }, () => {
  it("P10: comes back by itself, while the server runs", async () => {
    const { database, makeAndDelete } = await served();
    await makeAndDelete();
    const size = () => statSync(database).size;
    await expect.poll(size, { timeout: 30_000 }).toBeLessThan(3 * MIB);
  });

  it("comes back by a command where an earlier version made the database", async () => {
    const { server, database, makeAndDelete, vacuum } = await served();
    await makeAndDelete();
    await server.kill("SIGTERM");
    const old = new Database(database);
    old.pragma("auto_vacuum = NONE");
    old.exec("VACUUM");
    old.close();
    await server.restart();
    await makeAndDelete();
    const beside = await vacuum();
    expect([beside.exitCode, beside.stderr]).toEqual([1, expect.stringContaining("stop the")]);
    await server.kill("SIGTERM");
    const before = statSync(database).size;
    const { exitCode, stdout } = await vacuum();
    const gained = Number(/(\d+) bytes given back/.exec(stdout)?.[1]);
    expect([exitCode, gained]).toEqual([0, before - statSync(database).size]);
    expect(gained).toBeGreaterThan(6 * MIB);
    const now = new Database(database, { readonly: true });
    expect(now.pragma("auto_vacuum", { simple: true })).toBe(2);
    now.close();
  });
});
