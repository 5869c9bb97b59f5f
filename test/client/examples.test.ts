import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ROOT, readText } from "../house/files.ts";
import { sharedServer } from "../server/serve.fixture.ts";

const server = sharedServer();
const folder = mkdtempSync(join(tmpdir(), "fermata-client-examples-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of someone who has installed the package. */
function ran(path: string, args: readonly string[] = [], input = ""): Promise<Ran> {
  const text = readText(path).replaceAll('"fermata/client"', JSON.stringify(CLIENT));
  return played(text, args, input);
}

const CLIENT = join(ROOT, "src/client/index.ts");

function played(text: string, args: readonly string[] = [], input = ""): Promise<Ran> {
  const file = join(folder, `played-${Math.random().toString(36).slice(2)}.mts`);
  writeFileSync(file, text);
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const env = { PATH: process.env.PATH, FERMATA_URL: server().url };
  const child = spawn(process.execPath, [file, ...args], { env });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    stdout += piece;
  });
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    stderr += piece;
  });
  child.once("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
  child.stdin.end(input);
  return promise;
}

describe("the examples of the client", { timeout: 60_000 }, () => {
  it("a bot answers each line, and refuses what a person would have to allow", async () => {
    const lines = ["say Hello", "ask kind=execute title=Run", "fail -32001 no luck"];
    const bot = await ran("examples/client/bot.ts", [], `${lines.join("\n")}\n`);
    expect(bot, bot.stderr).toMatchObject({ exitCode: 0 });
    expect(bot.stdout.split("\n")).toEqual([
      "Hello",
      expect.stringContaining("reject_once"),
      "",
      " [-32001: no luck]",
      "",
    ]);
  });

  it("a dashboard shows in one line how sessions are", async () => {
    const line = await ran("examples/client/dashboard.ts", ["--once"]);
    expect(line, line.stderr).toMatchObject({ exitCode: 0 });
    expect(line.stdout).toMatch(/^\d+ at work, \d+ need you, \d+ rest\n$/);
  });

  it.each([
    [["say It works"], 0, "It works\n"],
    [["fail -32001 no luck"], 1, "\n"],
    [[], 2, ""],
    [["ask kind=execute title=Run"], 7, expect.stringContaining("reject_once")],
  ])("a CI step with %j ends with %d", async (args, exitCode, stdout) => {
    const step = await ran("examples/client/ci-step.ts", args);
    expect(step, step.stderr).toMatchObject({ exitCode, stdout });
  });
});

describe("docs/client.md", { timeout: 60_000 }, () => {
  const page = readText("docs/client.md");

  it("has a first program that runs, and prints what the page says", async () => {
    const [, program = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
    const [, shown = ""] = /```text\n(.*?)```/s.exec(page) ?? [];
    const runs = program
      .replaceAll('"fermata/client"', JSON.stringify(CLIENT))
      .replaceAll('"http://127.0.0.1:4170"', "process.env.FERMATA_URL");
    const done = await played(runs);
    expect(done, done.stderr).toMatchObject({ exitCode: 0, stdout: shown });
  });

  it("names examples that there are", () => {
    const named = [...page.matchAll(/\]\(\.\.\/(examples\/[^)]+)\)/g)].map(([, path = ""]) => path);
    expect(named).toHaveLength(3);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
