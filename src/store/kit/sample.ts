import type { SessionId, TenantId, UserId } from "../../core/id.ts";
import type { SessionName } from "../../core/session/name.ts";
import { type Holder, thisHolder } from "../holder.ts";
import type * as S from "../store.ts";
import type { Manifest } from "../store.ts";

/** Small valid values, each with the fields that a check is about put in by hand. */

/** Not parsed on purpose: many checks are about ids that are none. */
export function sessionId(text: string): SessionId {
  return text as SessionId;
}

export function userId(text: string): UserId {
  return text as UserId;
}

export function sessionName(text: string): SessionName {
  return text as SessionName;
}

export function tenantId(text: string): TenantId {
  return text as TenantId;
}

export const ACME = tenantId("acme");
export const GLOBEX = tenantId("globex");

export function keyOf(session: string, tenant: TenantId = ACME): S.SessionKey {
  return { tenantId: tenant, sessionId: sessionId(session) };
}

/** This process, under a name. */
export function holder(label = "kit"): Holder {
  return thisHolder(label);
}

/** A process that was here once: its pid is in use again, by one that started at another time. */
export function goneHolder(label = "gone"): Holder {
  return { ...thisHolder(label), startedAt: "1" };
}

/** Of another machine nothing can be proved, so it is there. */
export function remoteHolder(label = "remote"): Holder {
  return { ...thisHolder(label), host: "another-machine.example", startedAt: "1" };
}

export const CREATED_AT_MS = 1_700_000_000_000;

export function manifest(
  key: S.SessionKey,
  storeId: string,
  change: Partial<Manifest> = {},
): Manifest {
  return {
    sessionId: key.sessionId,
    storeId,
    mode: "ask",
    projectRoot: "/workspace/.fermata",
    createdAt: CREATED_AT_MS,
    updatedAt: CREATED_AT_MS,
    ...change,
  };
}

export function record(change: Partial<S.SessionRecord> = {}): S.SessionRecord {
  return {
    workspaceCwd: "/workspace",
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
    updatedAtMs: CREATED_AT_MS,
    ...change,
  };
}

/** `count` events from id `first`; each says its id, so that no two are alike. */
export function events(first: number, count: number): readonly S.StoredText[] {
  return Array.from({ length: count }, (_, index) => event(first + index));
}

export function event(id: number, text = `{"type":"session_update","n":${id}}`): S.StoredText {
  return { id, text };
}

export function message(text: string): string {
  return JSON.stringify({ role: "user", content: text });
}

export function slot(owner: string, payload: string | Uint8Array, version = "1.0.0"): S.Slot {
  return { owner, version, payload: typeof payload === "string" ? bytes(payload) : payload };
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function turn(firstId: number, lastId: number): S.FoldedTurn {
  return { firstId, lastId, text: `[{"folded":[${firstId},${lastId}]}]` };
}

export function entry(key: string, change: Partial<S.JournalEntry> = {}): S.JournalEntry {
  const text = `{"act":"${key}"}`;
  return { journal: "audit", key, sessionId: null, atMs: CREATED_AT_MS, text, ...change };
}

/** The first write of a document. */
export const DOCUMENT: S.DocumentWrite = {
  kind: "token",
  key: "a",
  expectedVersion: 0,
  value: { a: 1 },
};

/** A commit as the checks write it: its events say where they belong. */
export type CommitChange = Partial<Omit<S.Commit, "events">> & {
  readonly events?: readonly S.StoredText[];
};

export function commit({ events: added = [], ...change }: CommitChange = {}): S.Commit {
  const afterEventId = (added[0]?.id ?? 1) - 1;
  return { afterEventId, journal: [], ...change, events: added.map(({ text }) => text) };
}

export function snapshot(
  of: Manifest,
  expectedRevision: number,
  change: Partial<S.Snapshot> = {},
): S.Snapshot {
  return {
    expectedRevision,
    manifest: of,
    messages: [],
    slots: [],
    removedSlots: [],
    trimThrough: 0,
    ...change,
  };
}

export function newSession(of: Manifest, change: Partial<S.NewSession> = {}): S.NewSession {
  return {
    holder: holder(),
    manifest: of,
    record: record(),
    epoch: "epoch-1",
    commit: commit(),
    ...change,
  };
}
