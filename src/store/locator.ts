import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseSessionId, parseTenantId, type SessionId, type TenantId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { caseSafe, idOfCaseSafe } from "../platform/case-safe.ts";
import { checkKey, checkTenant, invalid } from "./check.ts";
import type { SessionKey } from "./store.ts";

/**
 * Which store has which session: one tiny file for each, outside all stores. A store finds only
 * its own sessions, so without this a session of another store would look as if it never was, and
 * a client that resumes it would not learn which store to activate.
 *
 * It is a hint that can be made again from the stores' own lists, so nothing here is flushed to
 * the disk: what a power cut takes away is a better sentence, and no session.
 */
export class SessionLocator {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  note(key: SessionKey, storeId: string): Promise<Result<void>> {
    return this.#at(key, (file) => written(file, storeId));
  }

  /** Notes a session while it is made, and forgets it again if that is refused. */
  async noteMade<Made>(
    key: SessionKey,
    storeId: string,
    making: Promise<Result<Made>>,
  ): Promise<Result<Made>> {
    // The note is a hint: that it could not be written is no reason against the session.
    const [made] = await Promise.all([making, this.note(key, storeId)]);
    const isThere = made.ok || made.refusal.code === "session_id_conflict";
    if (!isThere) await this.forget(key);
    return made;
  }

  /** That a store has a tenant at all: it may have members and tokens, and no session. */
  noteTenant(tenantId: TenantId, storeId: string): Promise<Result<void>> {
    return this.#ofTenant(tenantId, (file) => written(file, storeId));
  }

  /** Null if no store has noted the tenant itself. */
  findTenant(tenantId: TenantId): Promise<Result<string | null>> {
    return this.#ofTenant(tenantId, contentOf);
  }

  /** The notes of its sessions stay; if there are none, so does no name of the tenant. */
  forgetTenantItself(tenantId: TenantId): Promise<Result<void>> {
    return this.#ofTenant(tenantId, async (file) => {
      await rm(file, { force: true });
      await rmdir(dirname(file)).catch(() => {});
      return DONE;
    });
  }

  forget(key: SessionKey): Promise<Result<void>> {
    return this.#at(key, async (file) => {
      await rm(file, { force: true });
      return DONE;
    });
  }

  /** All that was noted of a tenant: not even the names of its sessions are to stay. */
  forgetTenant(tenantId: TenantId): Promise<Result<void>> {
    return this.#ofTenant(tenantId, async (file) => {
      await rm(dirname(file), { recursive: true, force: true });
      return DONE;
    });
  }

  /** Null if no store has noted it. A file that lost its content in a power cut says nothing. */
  find(key: SessionKey): Promise<Result<string | null>> {
    return this.#at(key, contentOf);
  }

  /** The tenants of which anything is noted. */
  tenants(): Promise<Result<readonly TenantId[]>> {
    return this.#named(this.#root, parseTenantId);
  }

  /** The sessions of a tenant that are noted, whichever store has them. */
  sessionsOf(tenantId: TenantId): Promise<Result<readonly SessionId[]>> {
    return this.#named(join(this.#root, caseSafe(tenantId)), parseSessionId);
  }

  #named<Id>(folder: string, parse: (name: string) => Id | null): Promise<Result<readonly Id[]>> {
    return this.#safely(async () => {
      const names = await readdir(folder).catch((thrown: unknown) => {
        if (isMissing(thrown)) return [];
        throw thrown;
      });
      const ids = names.map((name) => parse(idOfCaseSafe(name) ?? ""));
      return ok(ids.filter((id) => id !== null));
    });
  }

  /** Why the active store does not have this session: unknown, or another store's. */
  async explainMissing(key: SessionKey, active: string): Promise<Result<never>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    const stored = found.value;
    if (stored === null || stored === active) {
      return fail("session_not_found", { sessionId: key.sessionId });
    }
    return fail("resume_mismatch", { stored, active });
  }

  /** Ids become paths here, so what is not an id goes no further. */
  async #at<Value>(
    key: SessionKey,
    act: (file: string) => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    const fits = isObject(key) ? checkKey(key) : invalid("key", "it names no session");
    if (!fits.ok) return fits;
    const file = join(this.#root, caseSafe(key.tenantId), caseSafe(key.sessionId));
    return this.#safely(() => act(file));
  }

  async #ofTenant<Value>(
    tenantId: TenantId,
    act: (file: string) => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    const fits = checkTenant(tenantId);
    if (!fits.ok) return fits;
    return this.#safely(() => act(join(this.#root, caseSafe(tenantId), OF_TENANT)));
  }

  async #safely<Value>(act: () => Promise<Result<Value>>): Promise<Result<Value>> {
    try {
      return await act();
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return fail("store_unavailable", { reason: `its index of sessions: ${reason}` });
    }
  }
}

/** No id has a plus, so it is taken for no session; nor is a draft that a crash leaves behind. */
const OF_TENANT = "+tenant";

/** Whole or not at all: a name that appears has its content. */
async function written(file: string, text: string): Promise<Result<void>> {
  const draft = `${file}+draft-${randomUUID()}`;
  const write = () => writeFile(draft, text, { mode: 0o600 });
  try {
    await write().catch(async (thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown;
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await write();
    });
    await rename(draft, file);
  } catch (thrown) {
    await rm(draft, { force: true });
    throw thrown;
  }
  return DONE;
}

async function contentOf(file: string): Promise<Result<string | null>> {
  try {
    return ok((await readFile(file, "utf8")) || null);
  } catch (thrown) {
    if (isMissing(thrown)) return ok(null);
    throw thrown;
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}
