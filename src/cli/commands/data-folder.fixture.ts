import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { value } from "../../store/kit/expect.ts";
import { HOST } from "../../store/sample.fixture.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";

type Command = (args: readonly string[]) => Promise<number>;

/** A data directory with nothing in it. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-data-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The store of a running server, which stays open while commands run. */
export async function serverIn(folder: string): Promise<SessionStore> {
  const store = sqliteStore();
  onTestFinished(async () => void (await store.dispose()));
  await value(store.init(HOST, { active: true, path: join(folder, "sessions") }));
  await value(store.activate());
  return store;
}

/** A data directory that a running server has open. */
export async function servedFolder(): Promise<{ folder: string; store: SessionStore }> {
  const folder = await emptyFolder();
  return { folder, store: await serverIn(folder) };
}

/** Runs a command over a data directory. */
export function runIn(folder: string, command: Command, ...args: readonly string[]) {
  return run(command, ...args, "--data", folder);
}

/** Runs a command, and returns its output, its error output and its exit code. */
export async function run(command: Command, ...args: readonly string[]) {
  let shown = "";
  let stderr = "";
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    shown += String(text);
    return true;
  });
  const error = vi.spyOn(console, "error").mockImplementation((text) => {
    stderr += String(text);
  });
  try {
    return { exitCode: await command(args), shown, stderr };
  } finally {
    out.mockRestore();
    error.mockRestore();
  }
}

/** All names and contents of the files below a folder. */
export function bytesIn(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => {
      const path = join(folder, entry.name);
      const inside = entry.isDirectory() ? bytesIn(path) : readFileSync(path, "latin1");
      return `${entry.name}\n${inside}`;
    })
    .join("");
}
