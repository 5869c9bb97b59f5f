import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fail, type Result } from "../../core/result.ts";
import type { StoreSteps } from "../../store/operation.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";

type StoreAct<Value> = (store: SessionStore) => Promise<Result<Value>>;

/** Where the store is in a data directory. */
export function storeFolder(data: string): string {
  return join(data, "sessions");
}

/** Nothing is made where nothing is: a mistyped directory must not look like an empty store. */
export async function inStore<Value>(
  data: string,
  act: StoreAct<Value>,
  steps: StoreSteps = {},
): Promise<Result<Value>> {
  const folder = storeFolder(data);
  if (existsSync(folder)) return inOpened(folder, act, steps);
  return fail("store_unavailable", { reason: `there is no ${folder}` });
}

/** The same for what may come before any server: it makes the directory that is not there yet. */
export async function inMadeStore<Value>(
  data: string,
  act: StoreAct<Value>,
): Promise<Result<Value>> {
  const folder = storeFolder(data);
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("store_unavailable", { reason });
  }
  return inOpened(folder, act);
}

async function inOpened<Value>(
  path: string,
  act: StoreAct<Value>,
  steps: StoreSteps = {},
): Promise<Result<Value>> {
  const store = sqliteStore(undefined, steps);
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: () => {},
  };
  try {
    const opened = await store.init(host, { active: true, path });
    if (!opened.ok) return opened;
    const active = await store.activate();
    return active.ok ? await act(store) : active;
  } finally {
    await store.dispose();
  }
}
