// A server that is killed while it makes a session: the first commit is done, the agent is not up.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ECHO } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

describe("a create that was killed with its server", { timeout: 120_000 }, () => {
  it("P1: leaves nothing, and a repeated request makes it or says why not", async () => {
    const slow = { command: process.execPath, args: [ECHO, "--start-when", "/nowhere/never"] };
    const server = await ServeProcess.start({ agents: { slow } });
    onTestFinished(() => server.end());
    const ask = async (method: string, path: string, body?: object) => {
      const headers = { "content-type": "application/json", "idempotency-key": "once" };
      const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(`${server.url}${path}`, sent);
      return { status: response.status, body: JSON.parse(await response.text()) };
    };
    const create = () => ask("POST", "/session", { sessionScope: "thread", agent: "slow" });
    const listed = async () => {
      const path = `/workspace/${encodeURIComponent(server.workspace)}/sessions`;
      return (await ask("GET", path)).body.sessions;
    };
    const agentIs = (agent: object) => {
      writeFileSync(join(server.home, "agents.json"), JSON.stringify({ slow: agent }));
    };
    const lost = create().catch(() => "no answer");
    await expect.poll(listed).toMatchObject([{ status: "activating" }]);
    const [{ sessionId }] = await listed();
    await server.kill("SIGKILL");
    expect(await lost).toBe("no answer");
    agentIs({ command: "/nowhere/no-agent" });
    await server.restart();
    const refused = await create();
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.body).toMatchObject({ code: expect.stringMatching(/^agent_/) });
    expect(await listed()).toEqual([]);
    expect((await ask("GET", `/session/${sessionId}/status`)).status).toBe(404);
    await server.kill("SIGTERM");
    agentIs({ command: process.execPath, args: [ECHO] });
    await server.restart();
    expect(await create()).toMatchObject({ status: 200, body: { status: "ready" } });
    expect(await listed()).toHaveLength(1);
  });

  it("P5: is gone after the next start without being asked for", async () => {
    const slow = { command: process.execPath, args: [ECHO, "--start-when", "/nowhere/never"] };
    const server = await ServeProcess.start({ agents: { slow } });
    onTestFinished(() => server.end());
    const ask = async (path: string, body?: object) => {
      const headers = { "content-type": "application/json" };
      const sent = body && { method: "POST", body: JSON.stringify(body) };
      const response = await fetch(`${server.url}${path}`, { headers, ...sent });
      return JSON.parse(await response.text());
    };
    const path = `/workspace/${encodeURIComponent(server.workspace)}/sessions`;
    const listed = async () => (await ask(path)).sessions;
    const lost = ask("/session", { sessionScope: "thread", agent: "slow" }).catch(() => "none");
    await expect.poll(listed).toHaveLength(1);
    await server.kill("SIGKILL");
    expect(await lost).toBe("none");
    await server.restart();
    await expect.poll(listed).toEqual([]);
    const { status, recovery } = await ask("/health?deep");
    expect(status).toBe("ok");
    expect(recovery.setAside).toBe(0);
  });
});
