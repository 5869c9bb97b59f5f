import { createHash } from "node:crypto";
import type { TenantId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import { BLOB_BYTES_MAX, DOCUMENT_BYTES_MAX, PAGE_ROWS_MAX } from "../core/limits.ts";
import type { Backend, DocumentQuery, DocumentRows } from "./backend.ts";
import * as check from "./check.ts";
import { type OptionRules, readConfig } from "./config.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { Holder } from "./holder.ts";
import { StoreLife } from "./phase.ts";
import { encodePlain } from "./plain.ts";
import { DONE, fail, ok, type Result } from "./result.ts";
import type * as S from "./store.ts";

/**
 * The half that all our stores share: a store's phase, every check that needs no disk, and the
 * promise that nothing is ever thrown. What is left to a backend is to put bytes somewhere.
 */
export class StoreSurface implements S.SessionStore {
  readonly contract: S.StoreContract;
  readonly #options: OptionRules;
  readonly #backend: Backend;
  readonly #life = new StoreLife();
  #host: S.StoreHost | null = null;
  #ending: Promise<Result<void>> | null = null;

  constructor(contract: S.StoreContract, options: OptionRules, backend: Backend) {
    this.contract = contract;
    this.#options = options;
    this.#backend = backend;
  }

  async init(host: S.StoreHost, config: unknown): Promise<Result<void>> {
    if (!this.#life.canBeInitialised) return DONE;
    const read = readConfig(config, this.#options);
    if (!read.ok) return read;
    await this.#ending;
    this.#ending = null;
    const opened = await this.#safely(() => this.#backend.open(read.value, host));
    if (!opened.ok) return opened;
    this.#host = host;
    this.#life.initialised(read.value.active);
    return DONE;
  }

  activate(): Promise<Result<void>> {
    return this.#safely(() => {
      const activated = this.#life.activate();
      if (activated.ok) this.#host?.persistenceSurface.announce(this.contract.storeId);
      return activated;
    });
  }

  deactivate(): Promise<Result<void>> {
    this.#life.deactivated();
    return this.#shut();
  }

  dispose(): Promise<Result<void>> {
    this.#life.disposed();
    return this.#shut();
  }

  create(key: S.SessionKey, session: S.NewSession) {
    const fits = () =>
      all(
        () => check.checkKey(key),
        () => check.checkOwner(session.holder, session.epoch),
        () => check.checkManifestOf(key, session.manifest, this.contract),
        () => check.checkCommit(key, { ...session.commit, record: session.record }, this.contract),
      );
    return this.#write(fits, () => this.#backend.create(key, session));
  }

  open(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    const fits = () =>
      all(
        () => check.checkKey(key),
        () => check.checkOwner(holder),
        () => check.checkEntries(audit, this.contract),
      );
    return this.#write(fits, () => this.#backend.acquire(key, holder, audit));
  }

  commit(key: S.SessionKey, term: number, commit: S.Commit) {
    const fits = () =>
      all(
        () => check.checkKey(key),
        () => check.checkCommit(key, commit, this.contract),
      );
    return this.#write(fits, () => this.#backend.commit(key, term, commit));
  }

  close(key: S.SessionKey, term: number) {
    const fits = () => check.checkKey(key);
    return this.#write(fits, () => this.#backend.release(key, term));
  }

  delete(key: S.SessionKey, audit: readonly S.JournalEntry[]) {
    const fits = () =>
      all(
        () => check.checkKey(key),
        () => check.checkEntries(audit, this.contract),
      );
    return this.#write(fits, () => this.#backend.remove(key, audit));
  }

  readRecord(key: S.SessionKey) {
    return this.#read(
      () => check.checkKey(key),
      () => this.#backend.readRecord(key),
    );
  }

  readManifest(key: S.SessionKey) {
    return this.#read(
      () => check.checkKey(key),
      () => this.#backend.readManifest(key),
    );
  }

  readEvents(key: S.SessionKey, range: S.Range) {
    const fits = () => inRange(check.checkKey(key), range.after);
    return this.#read(fits, () => this.#backend.readEvents(key, bounded(range)));
  }

  readTurns(key: S.SessionKey, range: S.BackwardRange) {
    const fits = () => inRange(check.checkKey(key), range.before);
    return this.#read(fits, () => this.#backend.readTurns(key, bounded(range)));
  }

  readMessages(key: S.SessionKey, range: S.Range) {
    const fits = () => inRange(check.checkKey(key), range.after);
    return this.#read(fits, () => this.#backend.readMessages(key, bounded(range)));
  }

  readSlots(key: S.SessionKey) {
    return this.#read(
      () => check.checkKey(key),
      () => this.#backend.readSlots(key),
    );
  }

  list(tenantId: TenantId, filter: S.ListFilter, page: S.ListPage): Promise<Result<S.Listing>> {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkFilter(filter),
        () => (page.cursor === null || readCursor(page.cursor) ? DONE : fail("invalid_cursor")),
      );
    return this.#read(fits, async () => {
      const after = page.cursor === null ? null : readCursor(page.cursor);
      const range = { limit: check.pageRows(page.limit), after };
      const listed = await this.#backend.list(tenantId, filter, range);
      if (!listed.ok) return listed;
      const { sessions, damaged, continuesAfter: last } = listed.value;
      return ok({ sessions, damaged, nextCursor: last === null ? null : writeCursor(last) });
    });
  }

  tenants() {
    return this.#read(
      () => DONE,
      () => this.#backend.tenants(),
    );
  }

  appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkEntries(entries, this.contract),
      );
    return this.#write(fits, () => this.#backend.appendJournal(tenantId, entries));
  }

  readJournal(tenantId: TenantId, query: S.JournalQuery) {
    const fits = () => inRange(check.checkTenant(tenantId), query.after);
    return this.#read(fits, () => this.#backend.readJournal(tenantId, bounded(query)));
  }

  async readDocument(tenantId: TenantId, kind: string, key: string) {
    const found = await this.#documents(tenantId, { kind, key });
    return found.ok ? ok(found.value[0] ?? null) : found;
  }

  listDocuments(tenantId: TenantId, kind: string, after: string | null) {
    return this.#documents(tenantId, { kind, after, limit: PAGE_ROWS_MAX });
  }

  writeDocument(tenantId: TenantId, write: S.DocumentWrite): Promise<Result<S.Document>> {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkNames({ kind: write.kind, key: write.key }),
        () => checkValue(write.value),
      );
    return this.#write(fits, async () => {
      const { kind, key, expectedVersion, value } = write;
      const text = value === null ? null : JSON.stringify(value);
      const document = { kind, key, expectedVersion, text };
      const written = await this.#backend.writeDocument(tenantId, document);
      return written.ok ? ok({ kind, key, version: written.value, value: value ?? {} }) : written;
    });
  }

  writeBlob(tenantId: TenantId, bytes: Uint8Array): Promise<Result<string>> {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => (bytes instanceof Uint8Array ? DONE : check.invalid("blob", "blobs are bytes")),
        () => check.checkBytes(bytes.byteLength, BLOB_BYTES_MAX),
      );
    return this.#write(fits, async () => {
      const hash = createHash("sha256").update(bytes).digest("hex");
      const written = await this.#backend.writeBlob(tenantId, hash, bytes);
      return written.ok ? ok(hash) : written;
    });
  }

  /** The content is its own checksum: bytes that do not have their name are damaged. */
  readBlob(tenantId: TenantId, hash: string): Promise<Result<Uint8Array>> {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => (HASH.test(hash) ? DONE : check.invalid("hash", "it is no SHA-256 in hexadecimal")),
      );
    return this.#read(fits, async () => {
      const found = await this.#backend.readBlob(tenantId, hash);
      if (!found.ok) return found;
      if (found.value === null) return fail("blob_not_found", { hash });
      const actual = createHash("sha256").update(found.value).digest("hex");
      return actual === hash
        ? ok(found.value)
        : fail("session_corrupt", { reason: `blob ${hash}` });
    });
  }

  #documents(tenantId: TenantId, query: DocumentQuery) {
    const fits = () => check.checkTenant(tenantId);
    return this.#read(fits, async () => {
      const found = await this.#backend.readDocuments(tenantId, query);
      return found.ok ? readAll(found.value) : found;
    });
  }

  #write<Value>(fits: () => Result<void>, act: () => Pending<Value>): Promise<Result<Value>> {
    return this.#safely(() => firstFault(this.#life.forWriting(), judged(fits)) ?? act());
  }

  #read<Value>(fits: () => Result<void>, act: () => Pending<Value>): Promise<Result<Value>> {
    return this.#safely(() => firstFault(this.#life.forReading(), judged(fits)) ?? act());
  }

  async #safely<Value>(act: () => Pending<Value>): Promise<Result<Value>> {
    try {
      return await act();
    } catch (thrown) {
      return this.#backend.explain(thrown);
    }
  }

  /** However often it is told to, it ends once, and everybody waits for that end. */
  #shut(): Promise<Result<void>> {
    this.#ending ??= this.#safely(async () => {
      await this.#backend.shut();
      return DONE;
    });
    return this.#ending;
  }
}

type Pending<Value> = Result<Value> | Promise<Result<Value>>;

const HASH = /^[0-9a-f]{64}$/;

function firstFault(...results: readonly Result<void>[]): Result<never> | null {
  for (const result of results) if (!result.ok) return result;
  return null;
}

/** The first fault of several; what comes after it is not asked, and may rely on that. */
function all(...checks: readonly (() => Result<void>)[]): Result<void> {
  for (const one of checks) {
    const result = one();
    if (!result.ok) return result;
  }
  return DONE;
}

/** A check trips over what is not even of the right shape; that is an answer too. */
function judged(fits: () => Result<void>): Result<void> {
  try {
    return fits();
  } catch {
    return check.invalid("input", "it is not of the shape that this operation takes");
  }
}

function inRange(fits: Result<void>, place: number): Result<void> {
  return fits.ok ? check.checkPlace(place) : fits;
}

function checkValue(value: S.DocumentWrite["value"]): Result<void> {
  if (value === null) return DONE;
  if (!isObject(value)) return check.invalid("value", "a document is an object");
  const text = encodePlain(value);
  return text.ok ? check.checkBytes(Buffer.byteLength(text.value), DOCUMENT_BYTES_MAX) : text;
}

function bounded<Page extends { readonly limit: number }>(page: Page): Page {
  return { ...page, limit: check.pageRows(page.limit) };
}

function readAll(rows: DocumentRows): Result<readonly S.Document[]> {
  const documents: S.Document[] = [];
  for (const { kind, key, version, text } of rows) {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return fail("session_corrupt", { reason: `document ${kind}/${key}` });
    documents.push({ kind, key, version, value });
  }
  return ok(documents);
}
