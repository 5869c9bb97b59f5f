import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { checkProved } from "../../src/cli/connect/background.ts";
import { type ProcessIdentity, thisProcess } from "../../src/platform/process-identity.ts";
import { built, type Shell, shell } from "./command.fixture.ts";

beforeAll(built);

function runFile({ home }: Shell): string {
  const [name = ""] = readdirSync(join(home, "run"));
  return join(home, "run", name);
}

const pidIn = (path: string) => JSON.parse(readFileSync(path, "utf8")).process.pid;

/** A process that is no server. */
async function stranger(): Promise<number> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  return child.pid ?? expect.fail("it has no pid");
}

function record(person: Shell, identity: ProcessIdentity): void {
  mkdirSync(join(person.home, "run"), { mode: 0o700 });
  const said = { url: "http://127.0.0.1:9", version: "0.1.0", data: person.home, token: "secret" };
  const text = JSON.stringify({ ...said, process: identity, args: [], cwd: person.folder });
  writeFileSync(join(person.home, "run/a.1.json"), text, { mode: 0o600 });
}

describe("fermata restart", () => {
  it("P11: refuses to start a server again that would let everyone in", async () => {
    const person = shell({ FERMATA_TOKEN: "a-token-of-the-operator" });
    await person.run(["serve", "-d"]);
    const file = runFile(person);
    const pid = pidIn(file);
    const bare = shell({ FERMATA_HOME: person.home });
    const { exitCode, stderr } = await bare.run(["restart"]);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/came from FERMATA_TOKEN, not set here.*FERMATA_TOKEN=…/),
    });
    expect(pidIn(file)).toBe(pid);
    expect(process.kill(pid, 0)).toBe(true);
    expect(readFileSync(file, "utf8")).not.toContain("a-token-of-the-operator");
    expect((await person.run(["restart"])).stderr).toMatch(/listens on \S+ again/);
  });

  it("P11: refuses where the file of options asks for no token any more", async () => {
    const person = shell();
    const config = join(person.home, "config.json");
    writeFileSync(config, JSON.stringify({ token: "a-token-of-the-operator" }), { mode: 0o600 });
    await person.run(["serve", "-d"]);
    writeFileSync(config, "{}");
    const { exitCode, stderr } = await person.run(["restart"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/it asks for a token, and would not after a restart/);
    expect((await person.run(["status"])).exitCode).toBe(0);
  });
});

describe("a record that is not provably of a server here", () => {
  it.each([
    ["another machine's", { host: "elsewhere" }],
    ["an earlier process's", { startedAt: "1" }],
    ["one without a start", { startedAt: "" }],
  ])("is passed over: %s", async (_, wrong) => {
    const person = shell();
    const pid = await stranger();
    record(person, { ...thisProcess(), pid, ...wrong });
    expect((await person.run(["status"])).exitCode).toBe(3);
    for (const words of [["stop"], ["stop", "--all"], ["restart"]]) {
      expect((await person.run(words)).stderr).toMatch(/no server runs here/);
    }
    expect(process.kill(pid, 0)).toBe(true);
  });

  it("is never signalled where the system tells no start", () => {
    const identity = { ...thisProcess(), startedAt: "" };
    expect(() => checkProved(identity)).toThrow(/is not signalled/);
    expect(() => checkProved(thisProcess())).not.toThrow();
  });

  it("stays if it cannot be read: its server may live", async () => {
    const person = shell();
    await person.run(["serve", "-d"]);
    const file = runFile(person);
    chmodSync(file, 0o644);
    await person.run(["serve", "-d", "--data", join(person.folder, "data")]);
    expect(readdirSync(join(person.home, "run"))).toHaveLength(2);
    expect(existsSync(file)).toBe(true);
    chmodSync(file, 0o600);
  });
});

describe("a token", () => {
  it("P11: is not sent in clear text to another machine", async () => {
    const url = "http://192.0.2.1:4170";
    const flag = await shell({ FERMATA_TOKEN: "secret" }).run(["ls", "--url", url]);
    const variable = await shell({ FERMATA_TOKEN: "secret", FERMATA_URL: url }).run(["ls"]);
    for (const { exitCode, stderr } of [flag, variable]) {
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/plain http to another machine shows the token; use https/);
    }
  });
});

describe("fermata wait", () => {
  it("does not wait for a session that is not there", async () => {
    const person = shell();
    await person.run(["serve", "-d"]);
    const words = ["wait", "5e550000-0000-4000-8000-000000000001", "--timeout", "60s"];
    expect((await person.run(words)).exitCode).toBe(4);
  });

  it("does not wait for a closed one", async () => {
    const person = shell();
    const id = (await person.run(["new", "over", "say kept"])).stdout.trim();
    expect((await person.run(["wait", id, "--timeout", "60s"])).exitCode).toBe(0);
    await person.run(["close", id]);
    expect((await person.run(["wait", id, "--timeout", "60s"])).exitCode).toBe(0);
  });
});
