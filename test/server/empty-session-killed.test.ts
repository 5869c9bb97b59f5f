// A server that is killed after a session without a prompt was closed, and before it was deleted.

import { describe, expect, it, onTestFinished } from "vitest";
import { ServeProcess } from "./serve.fixture.ts";

/** Before the first table is emptied, and when only the session's own row is left to commit. */
const POINTS = ["sqlite-amid-removal:1", "sqlite-amid-removal:5"];

const ID = "0b7e6a52-6d3a-4f6e-9a5e-1c5d7f3b2a10";

describe("P5: a close that was killed before its deletion", { timeout: 120_000 }, () => {
  it("leaves the session closed or its id free, and never a half of it", async () => {
    const env = { FERMATA_FAILPOINT: "" };
    const server = await ServeProcess.start({ env });
    onTestFinished(() => server.end());
    const ask = async (method: string, path: string, body?: object) => {
      const headers = { "content-type": "application/json" };
      const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(`${server.url}${path}`, sent);
      const text = await response.text();
      return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
    };
    const restart = async (point: string) => {
      env.FERMATA_FAILPOINT = point;
      await server.restart();
    };
    const create = () => ask("POST", "/session", { sessionScope: "thread", sessionId: ID });
    const listed = async (): Promise<readonly object[]> => {
      const path = `/workspace/${encodeURIComponent(server.workspace)}/sessions`;
      return (await ask("GET", path)).body.sessions;
    };
    const epochs = new Set<string>();
    for (const point of POINTS) {
      await server.kill("SIGTERM");
      await restart(point);
      const made = await create();
      expect(made).toMatchObject({ status: 200, body: { sessionId: ID } });
      epochs.add(String(made.body.eventEpoch));
      await expect(ask("DELETE", `/session/${ID}`)).rejects.toThrow();
      await expect.poll(() => server.pid).toBe(0);
      await restart("");
      // The start deletes what a killed server had closed; until then it is there, and closed.
      await expect
        .poll(async () => {
          const rows = await listed();
          for (const row of rows) expect(row).toMatchObject({ sessionId: ID, closed: true });
          return rows.length;
        })
        .toBe(0);
      expect((await ask("GET", `/session/${ID}/status`)).status).toBe(404);
      const again = await create();
      expect(again.status).toBe(200);
      epochs.add(String(again.body.eventEpoch));
      const prompt = [{ type: "text", text: "say hello" }];
      expect((await ask("POST", `/session/${ID}/prompt`, { prompt })).status).toBe(202);
      expect((await ask("POST", "/sessions/delete", { sessionIds: [ID] })).status).toBe(200);
      const health = await ask("GET", "/health?deep");
      expect(health.body.status).toBe("ok");
    }
    expect(epochs.size).toBe(2 * POINTS.length);
  });
});
