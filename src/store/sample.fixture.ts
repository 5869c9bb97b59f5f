import { parseSessionId, parseTenantId } from "../core/id.ts";
import type { Backend } from "./backend.ts";
import { thisHolder } from "./holder.ts";
import { MemoryBackend, memoryStore } from "./memory/store.ts";
import type { StoreSteps } from "./operation.ts";
import type * as S from "./store.ts";
import { StoreSurface } from "./surface.ts";

/** Small valid values for tests of what surrounds the stores. */

export const HOST: S.StoreHost = {
  persistenceSurface: { announce: () => {} },
  env: { get: () => undefined },
  audit: () => {},
};

export async function openMemoryStore(steps: StoreSteps = {}): Promise<S.SessionStore> {
  return openSurface(new MemoryBackend(), steps);
}

/** An active store over a backend whose operations a test may replace. */
export async function openSurface(backend: Backend, steps: StoreSteps): Promise<S.SessionStore> {
  const store = new StoreSurface(memoryStore().contract, {}, backend, steps);
  await store.init(HOST, { active: true });
  await store.activate();
  return store;
}

export function keyOf(session: string): S.SessionKey {
  const tenantId = parseTenantId("acme");
  const sessionId = parseSessionId(session);
  if (tenantId === null || sessionId === null) throw new Error(`"${session}" is no id`);
  return { tenantId, sessionId };
}

export function manifest(change: Partial<S.Manifest> = {}): S.Manifest {
  const { sessionId } = keyOf("s1");
  const times = { createdAt: 1, updatedAt: 1 };
  const root = { mode: "ask", projectRoot: "/w/.fermata" } as const;
  return { sessionId, storeId: "memory", ...root, ...times, ...change };
}

export function record(change: Partial<S.SessionRecord> = {}): S.SessionRecord {
  return {
    workspaceCwd: "/w",
    status: "inactive",
    displayName: null,
    name: null,
    parentSessionId: null,
    sourceType: null,
    sourceId: null,
    closed: false,
    shared: false,
    pendingPrompts: 0,
    agent: null,
    createdBy: null,
    audience: null,
    updatedAtMs: 1,
    ...change,
  };
}

export function snapshotOf(change: Partial<S.Snapshot>): S.Snapshot {
  const empty = { messages: [], slots: [], removedSlots: [], trimThrough: 0 };
  return { expectedRevision: 0, manifest: manifest(), ...empty, ...change };
}

export function commitOf(change: Partial<S.Commit>): S.Commit {
  return { afterEventId: 0, events: [], journal: [], ...change };
}

export function newSession(session: string, change: Partial<S.NewSession> = {}): S.NewSession {
  return {
    holder: thisHolder("test"),
    manifest: manifest({ sessionId: keyOf(session).sessionId }),
    record: record(),
    epoch: "e",
    commit: commitOf({}),
    ...change,
  };
}
