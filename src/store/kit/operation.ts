import type { Result } from "../../core/result.ts";
import type * as S from "../store.ts";
import * as sample from "./sample.ts";

interface NamedOperation {
  readonly name: string;
  readonly act: () => Promise<Result<unknown>>;
}

/** Every operation that reads a session, with arguments that are otherwise good. */
export function sessionReads(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  const range = { after: 0, limit: 10 };
  return [
    { name: "readRecord", act: () => store.readRecord(key) },
    { name: "readManifest", act: () => store.readManifest(key) },
    { name: "readEvents", act: () => store.readEvents(key, range) },
    { name: "readTurns", act: () => store.readTurns(key, { before: 9, limit: 10 }) },
    { name: "readMessages", act: () => store.readMessages(key, range) },
    { name: "readSlots", act: () => store.readSlots(key) },
  ];
}

/** Every operation that changes a session which is there already. */
export function sessionWrites(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  const events = sample.events(1, 1);
  return [
    { name: "open", act: () => store.open(key, sample.holder(), []) },
    { name: "commit", act: () => store.commit(key, 1, sample.commit({ events })) },
    { name: "seize", act: () => store.seize(key, sample.holder(), [sample.entry("seized")]) },
    ...branching(store, key),
    { name: "cutLog", act: () => store.cutLog(key, 1, { lastEventId: 0, epoch: "e", audit: [] }) },
    { name: "delete", act: () => store.delete(key, sample.holder(), []) },
  ];
}

/** A store of a third party may be without it. */
function branching(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  if (typeof store.copyPast !== "function") return [];
  const goal = { messages: 1, afterEventId: 0, throughEventId: 1, expectedRevision: 0 };
  const step = { from: sample.sessionId("source"), epoch: "epoch-1", ...goal };
  return [{ name: "copyPast", act: () => store.copyPast(key, 1, step) }];
}

function createAndClose(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  const manifest = sample.manifest(key, store.contract.storeId);
  return [
    { name: "create", act: () => store.create(key, sample.newSession(manifest)) },
    { name: "close", act: () => store.close(key, 1) },
  ];
}

export function tenantReads(
  store: S.SessionStore,
  { tenantId }: S.SessionKey,
): readonly NamedOperation[] {
  const query: S.JournalQuery = { journal: "audit", after: 0, limit: 10 };
  const hash = "0".repeat(64);
  return [
    { name: "list", act: () => store.list(tenantId, {}, { limit: 10, cursor: null }) },
    { name: "readJournal", act: () => store.readJournal(tenantId, query) },
    { name: "readDocument", act: () => store.readDocument(tenantId, "token", "a") },
    { name: "listDocuments", act: () => store.listDocuments(tenantId, "token", null) },
    { name: "readBlob", act: () => store.readBlob(tenantId, hash) },
  ];
}

export function tenantWrites(
  store: S.SessionStore,
  { tenantId }: S.SessionKey,
): readonly NamedOperation[] {
  return [
    { name: "appendJournal", act: () => store.appendJournal(tenantId, [sample.entry("a")]) },
    { name: "writeDocument", act: () => store.writeDocument(tenantId, sample.DOCUMENT) },
    { name: "writeBlob", act: () => store.writeBlob(tenantId, sample.bytes("a")) },
  ];
}

/** What ends a tenant. It is not among the others, which some checks look for afterwards. */
export function tenantRemoval(store: S.SessionStore, { tenantId }: S.SessionKey): NamedOperation {
  return { name: "removeTenant", act: () => store.removeTenant(tenantId, sample.holder()) };
}

/** All operations that change something. */
export function writes(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  return [...createAndClose(store, key), ...sessionWrites(store, key), ...tenantWrites(store, key)];
}

/** Every operation there is, but the one that leaves nothing to be looked at. */
export function operations(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  const tenants = { name: "tenants", act: () => store.tenants() };
  return [...sessionReads(store, key), ...writes(store, key), ...tenantReads(store, key), tenants];
}

/** All that takes a session's key, and so must look at it. */
export function keyed(store: S.SessionStore, key: S.SessionKey): readonly NamedOperation[] {
  return [...createAndClose(store, key), ...sessionReads(store, key), ...sessionWrites(store, key)];
}
