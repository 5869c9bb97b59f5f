// Two tenants at a real server: what one of them uses up is not taken from the other.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { ECHO, ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

const run = promisify(execFile);

/** A process for each session, so that sessions use them up. */
const solo = { command: process.execPath, args: [ECHO], limits: { sessionsPerProcess: 1 } };

async function opened(...flags: readonly string[]) {
  const server = await ServeProcess.start({
    flags: [
      "--token",
      "the-operators-own",
      "--agent",
      "solo",
      "--tenant-credits",
      "unlimited",
      "--session-scope",
      "thread",
      ...flags,
    ],
    agents: { solo },
  });
  onTestFinished(() => server.end());
  const owner = async (tenant: string) => {
    const about = ["--user", "own", "--role", "owner", "--tenant", tenant, "--data", server.data];
    const { stdout } = await run(process.execPath, [ENTRY, "tokens", "create", ...about]);
    return caller(server, stdout.trim());
  };
  const operator = caller(server, "the-operators-own");
  return { loud: await owner("loud"), quiet: await owner("quiet"), operator };
}

function caller(server: ServeProcess, token: string) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return async (path: string, body: object) => {
    const sent = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${server.url}${path}`, sent);
    const retryAfter = response.headers.get("retry-after");
    return { status: response.status, retryAfter, body: Object(await response.json()) };
  };
}

describe("P10: a tenant that takes all it can", { timeout: 120_000 }, () => {
  it("leaves agents to another tenant and the operator, and is told why", async () => {
    const { loud, quiet, operator } = await opened("--max-agents", "8");
    const answers = [];
    for (let n = 0; n < 8; n += 1) {
      const made = await loud("/session", {});
      answers.push(made);
      if (made.status !== 200) continue;
      const prompt = [{ type: "text", text: "hang" }];
      await loud(`/session/${made.body.sessionId}/prompt`, { prompt });
    }
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
    expect(refused[0]?.body).toMatchObject({ code: "agent_capacity", scope: "user" });
    expect((await quiet("/session", {})).status).toBe(200);
    expect((await operator("/session", {})).status).toBe(200);
  });

  it("has a quota of the disk, and another tenant goes on", async () => {
    const { loud, quiet } = await opened("--tenant-disk-max-mb", "4");
    const made = await loud("/session", {});
    const prompt = [{ type: "text", text: `# ${"x".repeat(3_000_000)}` }];
    const path = `/session/${made.body.sessionId}/prompt`;
    await expect
      .poll(async () => (await loud(path, { prompt })).body.code, { timeout: 60_000 })
      .toBe("disk_quota_exceeded");
    const refused = await loud("/session", {});
    expect([refused.status, refused.body.limitBytes]).toEqual([507, 4 * 1_024 * 1_024]);
    expect((await quiet("/session", {})).status).toBe(200);
  });
});
