import { join, resolve } from "node:path";
import { fail, type Result } from "../../core/result.ts";
import { makeFolders } from "../../platform/folder.ts";
import {
  activateStore,
  type SecretGuard,
  SessionLocator,
  type SessionStore,
  type StoreSteps,
} from "../../store/index.ts";
import { homeOf, messageOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

/** A store that a server can be told to use. */
interface StoreKind {
  /** Loaded when it is chosen: its database need not be there for another one. */
  make(steps: StoreSteps): Promise<SessionStore>;
  config(chosen: Pick<ServeOptions, "durability">, path: string): object;
  /** Whether sessions outlive the process. */
  readonly isLasting: boolean;
}

const sqlite: StoreKind = {
  make: async (steps) =>
    (await import("../../store/sqlite/store.ts")).sqliteStore(undefined, steps),
  config: ({ durability }, path) => ({ path, durability }),
  isLasting: true,
};

const memory: StoreKind = {
  make: async (steps) =>
    (await import("../../store/memory/store.ts")).memoryStore(undefined, steps),
  config: () => ({}),
  isLasting: false,
};

/** The stores that `--store` can name. */
export const STORES = { sqlite, memory } as const;

export const STORE_NAMES = Object.keys(STORES).filter(isStoreName);

function isStoreName(name: string): name is keyof typeof STORES {
  return Object.hasOwn(STORES, name);
}

/** Where this server keeps its data. */
export function dataFolder({ data }: ServeOptions, env: NodeJS.ProcessEnv): string {
  return data ?? homeOf(env);
}

/** Where a lasting store keeps its sessions in that folder. */
export function sessionsFolder(folder: string): string {
  return join(folder, "sessions");
}

/** Where it is noted, outside of all stores, which store has which session. */
export function locatedFolder(folder: string): string {
  return join(folder, "located");
}

/** The notes of a lasting store's sessions; null where they end with the process. */
export function locatorOf({ store }: ServeOptions, folder: string): SessionLocator | null {
  return STORES[store].isLasting ? new SessionLocator(locatedFolder(folder)) : null;
}

/** The chosen store, which keeps secrets off the disk and its paths out of answers to callers. */
export async function openStore(
  chosen: ServeOptions,
  folder: string,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<Result<SessionStore>> {
  try {
    await makeFolders(resolve(folder));
  } catch (thrown) {
    return fail("invalid_server_config", { path: "--data", reason: messageOf(thrown) });
  }
  const { make, config, isLasting } = STORES[chosen.store];
  const locator = new SessionLocator(locatedFolder(folder));
  const store = await make({ guard, location: { locator, isLasting }, log });
  const candidate = { store, config: { active: true, ...config(chosen, sessionsFolder(folder)) } };
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: ({ act }: { readonly act: string }) => log("store acted", { act }),
  };
  return activateStore([candidate], host, (storeId, why) => {
    log("store not loaded", { storeId, because: why.code });
  });
}
