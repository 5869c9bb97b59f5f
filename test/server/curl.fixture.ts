import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { ENTRY } from "./program.fixture.ts";

/** Commands of a document, and what it says that they print. */
export interface Example {
  /** The bold or other first words above them. */
  readonly title: string;
  readonly commands: string;
  /** Null if it does not say. */
  readonly shown: string | null;
}

/** What came of them: what each printed, or how far they came. */
export interface Played {
  readonly printed: readonly string[];
  readonly exitCode: number | null;
  readonly complaints: string;
}

/** The `sh` blocks of a Markdown text in order, each with the `text` block right behind it. */
export function examplesIn(page: string): readonly Example[] {
  const blocks = page.matchAll(/^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?/gms);
  return [...blocks].map(({ index, 1: commands = "", 2: shown = null }) => {
    const before = page.slice(0, index).trimEnd().split("\n\n").at(-1) ?? "";
    const title = /^\*\*(.+?)\*\*/.exec(before)?.[1] ?? before.split("\n")[0] ?? "";
    return { title: title.replace(/[.:]$/, ""), commands, shown };
  });
}

const MARK = "----- the next example -----";

/** More than it ever takes, on a machine with much else to do. */
const STORY_MS_MAX = 50_000;

/**
 * Runs the commands one after the other in one shell and an empty folder, where `fermata` is this
 * repository's. Processes that they have started end with them.
 */
export async function play(examples: readonly Example[]): Promise<Played> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-story-")));
  const bin = join(folder, "bin");
  const workspace = join(folder, "workspace");
  for (const made of [bin, workspace]) mkdirSync(made);
  const command = `#!/bin/sh\nexec "${process.execPath}" "${ENTRY}" "$@"\n`;
  writeFileSync(join(bin, "fermata"), command);
  chmodSync(join(bin, "fermata"), 0o755);
  const script = examples.map(({ commands }) => `${commands}\necho\necho "${MARK}"`).join("\n");
  const PATH = `${bin}${delimiter}${process.env.PATH}`;
  const env = { PATH, HOME: folder, FERMATA_HOME: join(folder, "home") };
  try {
    return await shell(`set -eu\n${script}`, workspace, env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A shell with a process group of its own, so that none of its children outlives it. */
function shell(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Played> {
  const { promise, resolve } = Promise.withResolvers<Played>();
  const bash = spawn("bash", ["-c", script], { cwd, env, detached: true });
  const endGroup = () => {
    try {
      if (bash.pid !== undefined) process.kill(-bash.pid, "SIGKILL");
    } catch {
      // All of them have ended by themselves.
    }
  };
  const timer = setTimeout(endGroup, STORY_MS_MAX);
  let said = "";
  let complaints = "";
  bash.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  bash.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  bash.once("exit", endGroup);
  bash.once("error", (error) => {
    complaints += error.message;
  });
  bash.once("close", (exitCode) => {
    clearTimeout(timer);
    resolve({ printed: said.split(`\n${MARK}\n`).slice(0, -1), exitCode, complaints });
  });
  return promise;
}

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{4}…/g;

/**
 * The same text for every run. An id becomes the number of its first appearance in all texts, so
 * that it is still the same one wherever it was the same before.
 */
export function masked(texts: readonly (string | null)[]): readonly (string | null)[] {
  const known = new Map<string, string>();
  const numberOf = (id: string) => {
    const number = known.get(id) ?? `#${known.size + 1}`;
    known.set(id, number);
    return number;
  };
  return texts.map((text) => {
    if (text === null) return null;
    return text
      .trim()
      .replaceAll(ID, numberOf)
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "(time)")
      .replaceAll(/\b1[78]\d{11}\b/g, "(ms)")
      .replaceAll(/("workspaceCwd":)"[^"]*"/g, '$1"(folder)"');
  });
}
