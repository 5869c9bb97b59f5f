import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Refusal } from "../../core/error.ts";
import { fail, type Result } from "../../core/result.ts";
import { makeFolders } from "../../platform/folder.ts";
import {
  activateStore,
  type Candidate,
  GuardedStore,
  type SecretGuard,
  SessionLocator,
  type SessionStore,
  type StoreHost,
  type StoreSteps,
} from "../../store/index.ts";
import { homeOf, messageOf } from "../home.ts";
import { version } from "../output.ts";
import { markStore } from "../store-marker.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";
import { loadStore, moduleConfig, ofModule } from "./store-module.ts";

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

/** The bundled stores, by the names that `--store` has for them. */
const STORES: Readonly<Record<string, StoreKind>> = { sqlite, memory };

/** A bundled store; undefined for a store of a third party. */
function bundled(name: string): StoreKind | undefined {
  return Object.hasOwn(STORES, name) ? STORES[name] : undefined;
}

/** Whether sessions outlive the process: a store of a third party is expected to keep them. */
export function isLasting({ store }: Pick<ServeOptions, "store">): boolean {
  return bundled(store)?.isLasting ?? true;
}

/** Where this server keeps its data. */
export function dataFolder({ data }: ServeOptions, env: NodeJS.ProcessEnv): string {
  return data ?? homeOf(env);
}

/** Where the sessions of a server are, in words; null where they end with the process. */
export function keptIn(options: ServeOptions, folder: string): string | null {
  if (!isLasting(options)) return null;
  return bundled(options.store) === undefined ? `the store ${options.store}` : resolve(folder);
}

/** Where a lasting store keeps its sessions in that folder. */
export function sessionsFolder(folder: string): string {
  return join(folder, "sessions");
}

/** Whether a store exists that may hold tokens; of one that is not bundled that is not known. */
export function mayHaveTokens(options: ServeOptions, folder: string): boolean {
  if (options.store !== "sqlite") return isLasting(options);
  return existsSync(sessionsFolder(folder));
}

/** Where it is noted, outside of all stores, which store has which session. */
export function locatedFolder(folder: string): string {
  return join(folder, "located");
}

/** The notes of a lasting store's sessions; null where they end with the process. */
export function locatorOf(options: ServeOptions, folder: string): SessionLocator | null {
  return isLasting(options) ? new SessionLocator(locatedFolder(folder)) : null;
}

/** The chosen store, which keeps secrets off the disk and its paths out of answers to callers. */
export async function openStore(
  chosen: ServeOptions,
  folder: string,
  guard: SecretGuard,
  { log }: ServerLog,
  env: NodeJS.ProcessEnv,
): Promise<Result<SessionStore>> {
  try {
    await makeFolders(resolve(folder));
  } catch (thrown) {
    return fail("invalid_server_config", { path: "--data", reason: messageOf(thrown) });
  }
  const locator = new SessionLocator(locatedFolder(folder));
  const steps = { guard, location: { locator, isLasting: isLasting(chosen) }, log };
  const host = hostOf(guard, log, env);
  const kind = bundled(chosen.store);
  if (kind === undefined) return openModule(chosen, folder, steps, host, env);
  if (chosen["store-option"].length > 0) {
    const reason = `the store ${chosen.store} has none; it goes by --data and --durability`;
    return fail("invalid_server_config", { path: "--store-option", reason });
  }
  const store = await kind.make(steps);
  const config = { active: true, ...kind.config(chosen, sessionsFolder(folder)) };
  const opened = await activated({ store, config }, host, log);
  if (opened.ok && kind.isLasting) await markStore(folder, null);
  return opened;
}

/** Loads a store of a third party, with the steps of the server around it. */
async function openModule(
  chosen: ServeOptions,
  folder: string,
  steps: StoreSteps & { readonly log: ServerLog["log"] },
  host: StoreHost,
  env: NodeJS.ProcessEnv,
): Promise<Result<SessionStore>> {
  const loaded = await loadStore(chosen.store, homeOf(env), version());
  if (!loaded.ok) return loaded;
  const { store, file } = loaded.value;
  const config = moduleConfig(store, chosen["store-option"], folder);
  if (!config.ok) return config;
  await makeFolders(resolve(folder, "stores"));
  const guarded = new GuardedStore(store, steps);
  const candidate = { store: guarded, config: config.value };
  const opened = await activated(candidate, host, steps.log);
  if (opened.ok) await markStore(folder, { storeId: store.contract.storeId, file });
  return ofModule(loaded.value, opened);
}

function activated(candidate: Candidate, host: StoreHost, log: ServerLog["log"]) {
  const warn = (storeId: string, { code }: Refusal) =>
    log("store not loaded", { storeId, because: code });
  return activateStore([candidate], host, warn, version());
}

/** What a value of the environment is for a store: a credential, so the guard has to know it. */
function hostOf(guard: SecretGuard, log: ServerLog["log"], env: NodeJS.ProcessEnv): StoreHost {
  return {
    persistenceSurface: { announce: (storeId) => log("store active", { storeId }) },
    env: {
      get: (name) => {
        const value = env[name];
        return value !== undefined && guard.know(value).ok ? value : undefined;
      },
    },
    audit: ({ act }) => log("store acted", { act }),
  };
}
