import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { value } from "../../store/kit/expect.ts";
import { HOST } from "../../store/sample.fixture.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";

type Command = (args: readonly string[]) => Promise<number>;

/** A data directory with a store that is open all the while, as a server has it. */
export async function servedFolder(): Promise<{ folder: string; store: SessionStore }> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-data-"));
  const store = sqliteStore();
  onTestFinished(async () => {
    await store.dispose();
    await rm(folder, { recursive: true, force: true });
  });
  await value(store.init(HOST, { active: true, path: join(folder, "sessions") }));
  await value(store.activate());
  return { folder, store };
}

/** What a program reads that gives this command, what a person is told, and how it ends. */
export async function runIn(folder: string, command: Command, ...args: readonly string[]) {
  let shown = "";
  let said = "";
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    shown += String(text);
    return true;
  });
  const error = vi.spyOn(console, "error").mockImplementation((text) => {
    said += String(text);
  });
  try {
    return { exitCode: await command([...args, "--data", folder]), shown, said };
  } finally {
    out.mockRestore();
    error.mockRestore();
  }
}
