// Colleagues at a real server: what one of them does is the others' only if it is shared.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

const run = promisify(execFile);

type Ask = Awaited<ReturnType<typeof opened>>["ada"];

function caller(server: ServeProcess, token: string | null) {
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, body: text === "" ? {} : JSON.parse(text) };
  };
}

async function opened() {
  const server = await ServeProcess.start({ flags: ["--token", "the-operators-own"] });
  onTestFinished(() => server.end());
  const member = async (name: string, role: string) => {
    const about = ["--user", name, "--role", role, "--tenant", "acme", "--data", server.data];
    const { stdout } = await run(process.execPath, [ENTRY, "tokens", "create", ...about]);
    return caller(server, stdout.trim());
  };
  const own = await member("own", "owner");
  return { server, own, ada: await member("ada", "member"), bob: await member("bob", "member") };
}

async function statusOf(ask: Ask, path: string): Promise<number> {
  return (await ask("GET", `${path}/status`)).status;
}

describe("P8: a session at a server with tokens", { timeout: 60_000 }, () => {
  it("is its creator's and the owners', also after the server was killed", async () => {
    const { server, own, ada, bob } = await opened();
    const made = await ada("POST", "/session", {});
    const path = `/session/${made.body.sessionId}`;
    const theirs = await bob("POST", "/session", {});
    expect(theirs.body.sessionId).not.toBe(made.body.sessionId);
    const seen = async () => [
      await statusOf(ada, path),
      await statusOf(bob, path),
      await statusOf(own, path),
    ];
    expect(await seen()).toEqual([200, 404, 200]);
    await server.kill("SIGKILL");
    await server.restart();
    expect(await seen()).toEqual([200, 404, 200]);
    const again = await ada("POST", "/session", {});
    expect(again.body).toMatchObject({ sessionId: made.body.sessionId, attached: true });
    const sharing = { visibility: "private", sharedWith: ["bob"] };
    const shared = await ada("POST", `${path}/visibility`, sharing);
    expect(shared.body).toMatchObject({ createdBy: "ada", ...sharing });
    await server.kill("SIGKILL");
    await server.restart();
    expect(await seen()).toEqual([200, 200, 200]);
  });
});

describe("a session at a server without tokens", { timeout: 60_000 }, () => {
  it("is visible as before, and one for its workspace", async () => {
    const server = await ServeProcess.start();
    onTestFinished(() => server.end());
    const ask = caller(server, null);
    const made = await ask("POST", "/session", {});
    const again = await ask("POST", "/session", {});
    expect(again.body).toMatchObject({ sessionId: made.body.sessionId, attached: true });
    const { body } = await ask("GET", `/session/${made.body.sessionId}/visibility`);
    expect(body).toMatchObject({ visibility: "tenant", createdBy: null, sharedWith: [] });
  });
});
