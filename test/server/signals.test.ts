import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-signals-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function serve(home: string, ...flags: readonly string[]) {
  const args = [ENTRY, "serve", "--port", "0", "--workspace", scratch(), ...flags];
  const env = { PATH: process.env.PATH, FERMATA_HOME: home, FERMATA_RUN_DIR: home };
  const child = spawn(process.execPath, args, { env });
  const said = text(child.stderr);
  onTestFinished(() => void (child.pid !== undefined && child.kill("SIGKILL")));
  return { child, ended: once(child, "exit"), said };
}

async function post(url: string, body: object) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return JSON.parse(await response.text());
}

describe("a server that is told to stop", { timeout: 120_000 }, () => {
  it("P2: drains when its terminal is closed, for as long as the operator says", async () => {
    const server = await ServeProcess.start({ flags: ["--drain-ms", "0"] });
    onTestFinished(() => server.end());
    const { sessionId } = await post(`${server.url}/session`, {});
    const prompt = [{ type: "text", text: "hang" }];
    const { promptId } = await post(`${server.url}/session/${sessionId}/prompt`, { prompt });
    expect(await server.kill("SIGHUP")).toBe(0);
    await server.restart();
    const ended = await fetch(`${server.url}/session/${sessionId}/turns/${promptId}`);
    expect(await ended.text()).toContain("daemon_shutdown");
  });

  it("P5: ends a start that hangs", async () => {
    const home = scratch();
    const prices = join(home, "prices");
    execFileSync("sh", ["-c", 'mkfifo "$0"', prices]);
    const { child, ended, said } = serve(home, "--data", join(home, "data"), "--prices", prices);
    // It can be opened for writing once the server reads it, which then waits for ever.
    const flags = constants.O_WRONLY | constants.O_NONBLOCK;
    const opened = () => open(prices, flags).catch(() => null);
    let pipe = await opened();
    const isRead = async () => {
      pipe ??= await opened();
      return pipe !== null;
    };
    await expect.poll(isRead, { timeout: 60_000 }).toBe(true);
    child.kill("SIGTERM");
    const [, signal] = await ended;
    await pipe?.close();
    expect(signal).toBe("SIGKILL");
    expect(await said).toContain("stopped before the server was up");
  });
});

describe("a data directory", { timeout: 120_000 }, () => {
  it("P10: that cannot be made is refused with what to do, and not tried for ever", async () => {
    const home = scratch();
    const { ended, said } = serve(home, "--data", "/proc/fermata");
    const [exitCode] = await ended;
    expect(exitCode).toBe(2);
    expect(await said).toContain("the system makes no directories there; choose another");
  });
});

describe("the operator's token", { timeout: 120_000 }, () => {
  it("P11: comes from a file, and is then in no list of processes", async () => {
    const file = join(scratch(), "token");
    writeFileSync(file, "a-token-from-a-file\n");
    const server = await ServeProcess.start({ flags: ["--token-file", file] });
    onTestFinished(() => server.end());
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${server.url}/capabilities`, { headers })).status;
    };
    expect([await ask("a-token-from-a-file"), await ask("another")]).toEqual([200, 401]);
  });

  it.each([
    ["is empty", "", [], "is empty; write the token into it"],
    ["is given twice", "token", ["--token", "other"], "--token or --token-file, not both"],
  ])("is refused if it %s", async (_, content, flags, reason) => {
    const home = scratch();
    const file = join(home, "token");
    writeFileSync(file, content);
    const { ended, said } = serve(home, "--token-file", file, ...flags);
    expect((await ended)[0]).toBe(2);
    expect(await said).toContain(reason);
  });
});
