import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fail, type Result } from "./result.ts";
import type { SessionKey } from "./store.ts";

/**
 * Which store has which session: one tiny file for each, outside all stores. A store finds only
 * its own sessions, so without this a session of another store would look as if it never was,
 * and whoever resumes it could not be told which store to activate.
 */
export class SessionLocator {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Whole or not at all: a name that appears has its content. */
  async note(key: SessionKey, storeId: string): Promise<void> {
    const file = this.#file(key);
    const draft = `${file}.${randomUUID()}`;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(draft, storeId, { mode: 0o600 });
    await rename(draft, file);
  }

  async forget(key: SessionKey): Promise<void> {
    await rm(this.#file(key), { force: true });
  }

  async find(key: SessionKey): Promise<string | null> {
    try {
      return await readFile(this.#file(key), "utf8");
    } catch {
      return null;
    }
  }

  /** Why the active store does not have this session: unknown, or another store's. */
  async explainMissing(key: SessionKey, active: string): Promise<Result<never>> {
    const stored = await this.find(key);
    if (stored === null || stored === active) {
      return fail("session_not_found", { sessionId: key.sessionId });
    }
    return fail("resume_mismatch", { stored, active });
  }

  #file({ tenantId, sessionId }: SessionKey): string {
    return join(this.#root, caseSafe(tenantId), caseSafe(sessionId));
  }
}

/** Ids that differ only by case stay apart on disks that do not see it. */
export function caseSafe(id: string): string {
  return id.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`);
}
