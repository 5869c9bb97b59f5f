import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fail, ok, type Result } from "../../core/result.ts";
import { withoutPaths } from "../../server/discreet-store.ts";
import { guardSecrets, type SecretGuard, type SessionStore } from "../../store/index.ts";
import { withLocator } from "../../store/located.ts";
import { SessionLocator } from "../../store/locator.ts";
import { memoryStore } from "../../store/memory/store.ts";
import { activateStore } from "../../store/roster.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import { homeOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

/** Where this server keeps what it has to remember. */
export function dataFolder({ data }: ServeOptions, env: NodeJS.ProcessEnv): string {
  return data ?? homeOf(env);
}

/** The chosen store, behind the guard that keeps secrets out of it; it tells nobody its place. */
export async function openStore(
  options: ServeOptions,
  folder: string,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<Result<SessionStore>> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("invalid_server_config", { path: folder, reason });
  }
  const isSqlite = options.store === "sqlite";
  const place = { path: join(folder, "sessions"), durability: options.durability };
  const candidate = isSqlite
    ? { store: sqliteStore(), config: { active: true, ...place } }
    : { store: memoryStore(), config: { active: true } };
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: ({ act }: { readonly act: string }) => log("store acted", { act }),
  };
  const opened = await activateStore([candidate], host, (storeId, why) => {
    log("store not loaded", { storeId, because: why.code });
  });
  if (!opened.ok) return opened;
  const locator = new SessionLocator(join(folder, "located"));
  const located = withLocator(opened.value, locator, { isLasting: isSqlite });
  return ok(withoutPaths(guardSecrets(located, guard), log));
}
