import { randomUUID } from "node:crypto";
import { access, readdir } from "node:fs/promises";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { COMMIT_BYTES_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { Backend, Claim, DocumentQuery, DocumentText, ListRange } from "../backend.ts";
import { idOfCaseSafe } from "../case-safe.ts";
import { configSchema, type OptionRules, textOption } from "../config.ts";
import { type Holder, thisHolder } from "../holder.ts";
import type * as S from "../store.ts";
import { StoreSurface } from "../surface.ts";
import { databaseFile, tenantsFolder } from "./database.ts";
import { explain } from "./explain.ts";
import type { ReaderData, ReaderOps } from "./reader.ts";
import { Thread, threadScript } from "./thread.ts";
import type { WriterData, WriterOps } from "./writer.ts";

const STORE_ID = "sqlite";

const OPTIONS: OptionRules = {
  path: textOption(true),
  durability: textOption(false, /^(?:full|relaxed)$/),
};

/**
 * The default store: one database for each tenant under one directory. One thread writes, with
 * everything that waits in one transaction; another reads. The event loop never waits for a disk.
 */
export function sqliteStore(snapshotBytesLimit: number = COMMIT_BYTES_MAX): S.SessionStore {
  const contract: S.StoreContract = {
    kind: "SessionStore",
    contractVersion: "1.0.0",
    requiredCoreVersion: ">=0.1.0",
    configSchema: configSchema(OPTIONS),
    loadedCardinality: "unlimited",
    activeCardinality: "one",
    stateSlot: null,
    discoveryRules: { folder: "session-stores", key: STORE_ID },
    reloadBehavior: "never",
    capabilities: {
      journaling: true,
      snapshotBytesLimit,
      largeSlotStreaming: false,
      concurrentReaders: true,
    },
    storeId: STORE_ID,
  };
  return new StoreSurface(contract, OPTIONS, new SqliteBackend());
}

class SqliteBackend implements Backend {
  #root = "";
  #writer: Thread<WriterOps> | null = null;
  #reader: Thread<ReaderOps> | null = null;

  async open(config: Readonly<Record<string, unknown>>, host: S.StoreHost): Promise<Result<void>> {
    const root = String(config.path);
    const durability = config.durability === "relaxed" ? "relaxed" : "full";
    const opener = thisHolder(randomUUID());
    const writing: WriterData = { storeId: STORE_ID, root, durability, opener };
    const reading: ReaderData = { root };
    this.#root = root;
    this.#writer = new Thread(threadScript("writer", import.meta.url), writing, {
      // Opening a session brings its slots along.
      isHeavy: (op) => op === "acquire",
      // What became of a write nobody knows, so nobody repeats it but whoever made it.
      isRepeatable: () => false,
      hasEnded: tells(host, "writer"),
    });
    this.#reader = new Thread(threadScript("reader", import.meta.url), reading, {
      isHeavy: () => true,
      isRepeatable: () => true,
      hasEnded: tells(host, "reader"),
    });
    const probed = await this.#write.call("probe").catch(explain);
    if (!probed.ok) await this.shut();
    return probed;
  }

  async shut() {
    const writer = this.#writer;
    const reader = this.#reader;
    this.#writer = null;
    this.#reader = null;
    // The last to leave puts the log away, and only the writer can.
    await reader?.end();
    await writer?.end();
  }

  explain = explain;

  create(key: S.SessionKey, session: S.NewSession) {
    const { holder, manifest, record, epoch, commit } = session;
    const copied = structuredClone({ holder, manifest, record });
    const own = { ...copied, epoch, commit: copyCommit(commit) };
    return this.#write.call("create", key.tenantId, { ...key }, own);
  }

  acquire(key: S.SessionKey, claim: Claim) {
    const [ownKey, ownClaim] = structuredClone([key, claim] as const);
    return this.#write.call("acquire", key.tenantId, ownKey, STORE_ID, ownClaim);
  }

  commit(key: S.SessionKey, term: number, commit: S.Commit) {
    const { tenantId } = key;
    return this.#write.call("commit", tenantId, { ...key }, STORE_ID, term, copyCommit(commit));
  }

  release(key: S.SessionKey, term: number) {
    return this.#write.call("release", key.tenantId, { ...key }, STORE_ID, term);
  }

  cutLog(key: S.SessionKey, term: number, cut: S.LogCut) {
    const [ownKey, ownCut] = structuredClone([key, cut] as const);
    return this.#write.call("cutLog", key.tenantId, ownKey, STORE_ID, term, ownCut);
  }

  remove(key: S.SessionKey, claim: Claim) {
    const [ownKey, ownClaim] = structuredClone([key, claim] as const);
    return this.#write.call("remove", key.tenantId, ownKey, STORE_ID, ownClaim);
  }

  readRecord(key: S.SessionKey) {
    return this.#read.call("readRecord", key.tenantId, key, STORE_ID);
  }

  readManifest(key: S.SessionKey) {
    return this.#read.call("readManifest", key.tenantId, key, STORE_ID);
  }

  readEvents(key: S.SessionKey, range: S.Range) {
    return this.#read.call("readEvents", key.tenantId, key, STORE_ID, range);
  }

  readTurns(key: S.SessionKey, range: S.BackwardRange) {
    return this.#read.call("readTurns", key.tenantId, key, STORE_ID, range);
  }

  readMessages(key: S.SessionKey, range: S.Range) {
    return this.#read.call("readMessages", key.tenantId, key, STORE_ID, range);
  }

  readSlots(key: S.SessionKey) {
    return this.#read.call("readSlots", key.tenantId, key, STORE_ID);
  }

  list(tenantId: TenantId, filter: S.ListFilter, range: ListRange) {
    return this.#read.call("list", tenantId, structuredClone(filter), STORE_ID, range);
  }

  async tenants(): Promise<Result<readonly TenantId[]>> {
    const names = await readdir(tenantsFolder(this.#root));
    const ids = names
      .map((name) => parseTenantId(idOfCaseSafe(name) ?? ""))
      .filter((id) => id !== null);
    const there = await Promise.all(ids.map((id) => exists(databaseFile(this.#root, id))));
    return ok(ids.filter((_, index) => there[index]).sort());
  }

  async removeTenant(tenantId: TenantId, holder: Holder): Promise<Result<void>> {
    const removed = await this.#write.call("removeTenant", tenantId, { ...holder });
    if (!removed.ok) return removed;
    // It must not miss what is gone. A reading thread that has ended has nothing to forget.
    await this.#read.call("forget", tenantId).catch(() => DONE);
    // Until now the reader had to be able to tell that it was removed.
    await this.#write.call("clearRemoved").catch(() => DONE);
    return removed;
  }

  appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    return this.#write.call("appendJournal", tenantId, structuredClone(entries));
  }

  readJournal(tenantId: TenantId, query: S.JournalQuery) {
    return this.#read.call("readJournal", tenantId, query);
  }

  readDocuments(tenantId: TenantId, query: DocumentQuery) {
    return this.#read.call("readDocuments", tenantId, query);
  }

  writeDocument(tenantId: TenantId, document: DocumentText) {
    const entries = structuredClone(document.entries);
    return this.#write.call("writeDocument", tenantId, { ...document, entries });
  }

  writeBlob(tenantId: TenantId, hash: string, bytes: Uint8Array) {
    return this.#write.call("writeBlob", tenantId, hash, Uint8Array.from(bytes));
  }

  readBlob(tenantId: TenantId, hash: string) {
    return this.#read.call("readBlob", tenantId, hash);
  }

  get #write(): Thread<WriterOps> {
    return opened(this.#writer);
  }

  get #read(): Thread<ReaderOps> {
    return opened(this.#reader);
  }
}

/**
 * The caller may change its values as soon as it has made the call, and the thread copies them a
 * moment later. Texts cannot change, so only what holds them is copied.
 */
function copyCommit(commit: S.Commit): S.Commit {
  const { afterEventId, events, record, snapshot, journal } = commit;
  return {
    afterEventId,
    events: [...events],
    journal: journal.map((entry) => ({ ...entry })),
    ...(record && { record: { ...record } }),
    ...(snapshot && { snapshot: structuredClone(snapshot) }),
  };
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}

function tells(host: S.StoreHost, thread: "writer" | "reader"): (why: Error) => void {
  return (why) => host.audit({ act: `${thread}_thread_ended`, details: { reason: why.message } });
}

/** The surface turns a throw into a refusal, and does not let it come to this. */
function opened<Ops extends WriterOps | ReaderOps>(thread: Thread<Ops> | null): Thread<Ops> {
  if (thread === null) throw new Error("it is closed");
  return thread;
}
