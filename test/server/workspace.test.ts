// Where sessions work if no workspace is named: the current directory, under `npm start` the one
// in which it was typed, and never Fermata's own sources by accident.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { ROOT } from "../house/files.ts";
import { ENTRY } from "./program.fixture.ts";

interface Place {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly flags?: readonly string[];
}

const NPM = { npm_lifecycle_event: "start" };

/** A server with the default workspace of this place. */
async function serve(folder: string, { cwd, env = {}, flags = [] }: Place) {
  const own = { PATH: process.env.PATH, FERMATA_HOME: join(folder, "home") };
  const args = [ENTRY, "serve", "--port", "0", ...flags];
  const child = spawn(process.execPath, args, { cwd, env: { ...own, ...env } });
  onTestFinished(async () => {
    const gone = child.exitCode === null ? once(child, "exit") : null;
    child.kill("SIGTERM");
    await gone;
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  // The line on agents is the last that a start prints.
  await expect.poll(() => said, { timeout: 60_000 }).toContain("echo repeats each prompt");
  const [, url = ""] = /listening on (\S+)/.exec(said) ?? [];
  const call = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return JSON.parse(await answer.text());
  };
  const { sessionId, workspaceCwd }: JsonObject = await call("/session", { mode: "yolo" });
  const prompt = (text: string) =>
    call(`/session/${sessionId}/prompt`, { prompt: [{ type: "text", text }] });
  return { workspaceCwd, prompt, said };
}

function folderOf(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-place-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "here"));
  return folder;
}

describe("the workspace that nobody named", () => {
  it("is the current directory", async () => {
    const folder = folderOf();
    const cwd = join(folder, "here");
    // What another program's npm has left in the environment is no word of ours.
    const env = { ...NPM, INIT_CWD: folder };
    const { workspaceCwd, said } = await serve(folder, { cwd, env });
    expect(workspaceCwd).toBe(cwd);
    expect(said).not.toContain("--workspace");
  });

  it("is under `npm start` the folder where npm was called", async () => {
    const folder = folderOf();
    const called = join(folder, "here");
    const env = { ...NPM, INIT_CWD: called };
    const { workspaceCwd } = await serve(folder, { cwd: ROOT, env });
    expect(workspaceCwd).toBe(called);
  });

  it("is under `npm start` named from where npm was called", async () => {
    const folder = folderOf();
    const env = { ...NPM, INIT_CWD: folder };
    const flags = ["--workspace", "here"];
    const { workspaceCwd } = await serve(folder, { cwd: ROOT, env, flags });
    expect(workspaceCwd).toBe(join(folder, "here"));
  });

  it("is a scratch folder in Fermata's own clone, where agents work; and it says so", async () => {
    const folder = folderOf();
    const scratch = join(folder, "home/scratch");
    const env = { ...NPM, INIT_CWD: join(ROOT, "src") };
    const { workspaceCwd, said, prompt } = await serve(folder, { cwd: ROOT, env });
    expect(workspaceCwd).toBe(scratch);
    expect(said).toContain(
      `This is Fermata's own folder, so agents work in ${scratch}; ` +
        "for another folder use --workspace DIR\n",
    );
    await prompt("write ./note.txt hello");
    await expect.poll(() => existsSync(join(scratch, "note.txt")), { timeout: 60_000 }).toBe(true);
    await prompt("write ../sessions/planted hello");
    await prompt("write ./last.txt hello");
    await expect.poll(() => existsSync(join(scratch, "last.txt")), { timeout: 60_000 }).toBe(true);
    expect(existsSync(join(folder, "home/sessions/planted"))).toBe(false);
  });

  it("is Fermata's own clone only for those who name it", async () => {
    const folder = folderOf();
    const { workspaceCwd } = await serve(folder, { cwd: ROOT, flags: ["--workspace", "."] });
    expect(workspaceCwd).toBe(ROOT.replace(/\/$/, ""));
  });
});
