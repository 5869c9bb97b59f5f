import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { itWhere } from "../src/platform/machine.fixture.ts";
import { remount, whyNoDisks, withDisk } from "../src/store/sqlite/disk.fixture.ts";
import { runNode } from "./house/run.ts";
import { ENTRY } from "./server/program.fixture.ts";
import { ServeProcess, sharedServer } from "./server/serve.fixture.ts";

// Mistakes of the first five minutes, with the real command: what it says is enough to go on.

const server = sharedServer({ flags: ["--agent", "gemini"], env: { PATH: "/nowhere" } });

const noDisks = await whyNoDisks();

/** A server that does not start, over folders of its own. */
async function refusedStart(...args: readonly string[]) {
  const folder = newFolder();
  const env = { FERMATA_HOME: folder };
  const { exitCode, stderr } = await runNode([ENTRY, "serve", "--data", folder, ...args], env);
  return { exitCode, stderr };
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-mistake-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("a port in use", () => {
  it("by fermata is told with the way to it, to end it, and around it", async () => {
    const { exitCode, stderr } = await refusedStart("--port", `${server().port}`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/port is in use by another fermata.*use that one.*\(--port 0\)\.\n$/);
    if (process.platform === "linux") expect(stderr).toContain(`kill ${server().pid}`);
  });

  it("by another program is told with that program", async () => {
    const other = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const { exitCode, stderr } = await refusedStart("--port", `${port}`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/port is in use by another program.*stop it.*\(--port 0\)\.\n$/);
  });
});

describe("an agent that is not installed", () => {
  const INSTALL = "npm install -g @google/gemini-cli";

  it("is told at the start, with how to install it", async () => {
    await expect
      .poll(() => server().said)
      .toMatch(/\nNo session can start yet\. .*To install it: npm/);
  });

  it("is told to the client that creates a session", async () => {
    const response = await fetch(`${server().url}/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining(INSTALL) });
  });
});

describe("paths", () => {
  it("with spaces, quotes and Unicode serve as well", async () => {
    const folder = join(newFolder(), 'zwei Wörter, 日本 & "mehr"');
    mkdirSync(folder);
    const script = join(folder, "mein agent.mjs");
    writeFileSync(script, "process.exit(3);");
    const config = join(folder, "so steht's.json");
    writeFileSync(config, JSON.stringify({ "max-sessions": 3 }));
    const quoted = (path: string) => `'${path}'`;
    const own = await ServeProcess.start({
      flags: [
        ...["--config", config, "--data", join(folder, "däta"), "--workspace", folder],
        ...["--agent-command", `${quoted(process.execPath)} ${quoted(script)}`],
      ],
    });
    onTestFinished(() => own.end());
    const response = await fetch(`${own.url}/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ cwd: folder }),
    });
    expect(await response.json()).toMatchObject({ code: "agent_exited_early" });
  });

  it.each([
    ["/proc/fermata", /--data: \/proc\/fermata: the system makes no directories there; choose/],
    ["/dev/null/x", /--data: \/dev\/null: a file is in its place; choose another directory/],
  ])("as %s, where no data can be, are told with what to do", async (data, sentence) => {
    const { exitCode, stderr } = await refusedStart("--port", "0", "--data", data);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(sentence);
  });

  it("where permission is denied are told so: of the home, and of the data", async () => {
    const denied = /permission is denied; choose another directory, or make its parent writable/;
    const asHome = await runNode([ENTRY, "serve", "--port", "0"], { FERMATA_HOME: "/sys/fermata" });
    expect(asHome.exitCode).toBe(2);
    expect(asHome.stderr).toMatch(/^fermata: .*\/sys\/fermata: /);
    expect(asHome.stderr).toMatch(denied);
    const asData = await refusedStart("--port", "0", "--data", "/sys/fermata");
    expect(asData).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(denied) });
  });

  itWhere(noDisks, "on a read-only disk are told so", async () => {
    await withDisk(1, async (disk) => {
      await remount(disk, "ro");
      for (const data of [disk, join(disk, "new")]) {
        const { exitCode, stderr } = await refusedStart("--port", "0", "--data", data);
        expect(exitCode).toBe(2);
        expect(stderr).toContain(data);
        expect(stderr).toMatch(/read-only; choose another directory, or mount it writable/);
      }
    });
  });

  it("with a ~ that no shell has seen are told so", async () => {
    const { stderr } = await refusedStart("--workspace", "~/app");
    expect(stderr).toMatch(/no directory "~\/app"; write the whole path instead of ~/);
  });
});

describe("a half-written file", () => {
  it.each(["config.json", "agents.json", "mcp.json"])(
    "%s is told with where it ends, and no server starts",
    async (file) => {
      const home = newFolder();
      writeFileSync(join(home, file), '{\n  "one": {"comm');
      const run = await runNode([ENTRY, "serve", "--port", "0"], { FERMATA_HOME: home });
      expect([run.exitCode === 0, run.stdout]).toEqual([false, ""]);
      expect(run.stderr).toContain(join(home, file));
      expect(run.stderr).toMatch(/not JSON: line 2, column 16: .*found the end/);
    },
  );
});

it("a mistyped variable is told with the one that was meant", async () => {
  const env = { FERMATA_PROT: "1", FERMATA_HOME: newFolder() };
  const { stderr } = await runNode([ENTRY, "serve", "--port", "x"], env);
  expect(stderr).toMatch(/^fermata: FERMATA_PROT is no variable .*did you mean FERMATA_PORT\?\)\n/);
});
