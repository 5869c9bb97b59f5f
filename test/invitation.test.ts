import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENTRY } from "./server/program.fixture.ts";
import { ServeProcess } from "./server/serve.fixture.ts";

/** The command, in a home of its own. */
function commands() {
  const folder = mkdtempSync(join(tmpdir(), "fermata-invitation-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH, FERMATA_HOME: join(folder, "home") };
  const run = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, [ENTRY, ...args], { env });
    const ended = once(child, "close");
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { exitCode: child.exitCode, stdout: stdout.trim(), stderr };
  };
  return { folder, run };
}

async function served() {
  const server = await ServeProcess.start({ workspaceRoot: null });
  onTestFinished(() => server.end());
  return server;
}

describe("fermata members invite, and fermata join", () => {
  it("make a colleague a member, with a token that only they can read", async () => {
    const { folder, run } = commands();
    const server = await served();
    const data = ["--data", server.data, "--tenant", "acme"];
    await run("tokens", "create", "--user", "ada", "--role", "owner", ...data);
    await server.kill("SIGTERM");
    await server.restart();
    const invited = await run("members", "invite", "ben", "member", "--expires", "1h", ...data);
    expect(invited).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^fmi_acme_/) });
    expect(invited.stderr).toContain(`fermata join ${invited.stdout} --url URL`);
    const joined = await run("join", invited.stdout, "--url", server.url);
    const file = join(folder, "home", "tokens", new URL(server.url).host.replace(":", "_"));
    expect(joined).toMatchObject({ exitCode: 0, stderr: "" });
    expect(joined.stdout).toContain(`You are ben (member) of acme.\nYour token is in ${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, "utf8").trim();
    const headers = { authorization: `Bearer ${token}` };
    const me = await fetch(`${server.url}/tenant`, { headers });
    expect(await me.json()).toMatchObject({ tenantId: "acme", user: "ben", role: "member" });
    // The file is there, so the code is not even sent.
    const second = await run("join", "any", "--url", server.url);
    expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining("it exists")]);
    const other = join(folder, "other");
    const again = await run("join", invited.stdout, "--url", server.url, "--save", other);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain("No open invitation has this code");
    expect(() => statSync(other)).toThrow("ENOENT");
    const { stdout } = await run("members", "invitations", ...data);
    expect(stdout).toMatch(/^[0-9a-f]{8} +ben +member +redeemed +- /m);
  });

  it("refuses to send a token over plain http to another machine", async () => {
    const { run } = commands();
    const { exitCode, stderr } = await run("join", "any", "--url", "http://fermata.example");
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("use https or --insecure")]);
  });
});

describe("P8: a second tenant", () => {
  it("needs --workspace-root: at start, and for new workspaces of a running server", async () => {
    const { folder, run } = commands();
    const server = await served();
    const data = ["--data", server.data];
    const made = async (tenant: string, user: string) => {
      const whose = ["--tenant", tenant, "--user", user, "--role", "owner"];
      return run("tokens", "create", ...whose, ...data);
    };
    const { stdout: token } = await made("acme", "ada");
    await server.kill("SIGTERM");
    await server.restart();
    const add = async (url: string) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const body = JSON.stringify({ cwd: folder });
      const response = await fetch(`${url}/workspaces`, { method: "POST", headers, body });
      return [response.status, Object(await response.json()).code];
    };
    const second = await made("other", "eve");
    expect(second.stderr).toContain("There are 2 tenants now: start the server with");
    expect(await add(server.url)).toEqual([409, "second_tenant"]);
    await server.kill("SIGTERM");
    await expect(server.restart()).rejects.toThrow(/--workspace-root.*2 tenants \(acme, other\)/);
    const rooted = await run("serve", "--workspace-root", "/nowhere", "--port", "0", ...data);
    expect(rooted.stderr).toContain("there is no directory");
  });
});
