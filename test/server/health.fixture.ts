import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { HEALTH_LOOK_AGE_MS_MAX } from "../../src/core/limits.ts";
import { runNode } from "../house/run.ts";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

/** A server for one test, and what is asked of it about its health. */
export async function served(options: Parameters<typeof ServeProcess.start>[0] = {}) {
  const server = await ServeProcess.start(options);
  onTestFinished(() => server.end());
  const ask = async (path: string, body?: object) => {
    const headers = { "content-type": "application/json" };
    const post = body && { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${server.url}${path}`, post);
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const create = () => ask("/session", { sessionScope: "thread" });
  /** What it says of itself, once it says that it is so. */
  const health = async (status: "ok" | "degraded") => {
    let last = await ask("/health?deep");
    await expect
      .poll(
        async () => {
          last = await ask("/health?deep");
          return last.body.status;
        },
        { timeout: 30_000, interval: HEALTH_LOOK_AGE_MS_MAX },
      )
      .toBe(status);
    return last;
  };
  const database = join(server.data, "sessions", "tenants", "local", "sessions.db");
  const command = (...args: readonly string[]) =>
    runNode([ENTRY, ...args, "--data", server.data], { FERMATA_HOME: server.home });
  return { server, ask, create, health, database, command };
}
