import { createHash } from "node:crypto";
import type { TenantId } from "../core/id.ts";
import { BLOB_BYTES_MAX, PAGE_ROWS_MAX, STORE_BYTES_WAITING_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { Backend, Claim, DocumentQuery } from "./backend.ts";
import * as check from "./check.ts";
import { type OptionRules, readConfig } from "./config.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { checkWrite, readDocuments } from "./document.ts";
import type { Holder } from "./holder.ts";
import { StoreLife } from "./phase.ts";
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
  #mayBeOpen = false;
  #last: Promise<unknown> = Promise.resolve();
  #bytesWaiting = 0;

  constructor(contract: S.StoreContract, options: OptionRules, backend: Backend) {
    this.contract = contract;
    this.#options = options;
    this.#backend = backend;
  }

  async init(host: S.StoreHost, config: unknown): Promise<Result<void>> {
    const beginning = this.#life.begin();
    if (!beginning.ok) return beginning;
    const opened = await this.#inTurn(() => this.#open(host, config));
    if (!opened.ok) {
      this.#life.failed(beginning.value);
      return opened;
    }
    this.#host = host;
    return this.#life.succeeded(beginning.value, opened.value);
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
    const claim = { holder, audit, seizes: false };
    const fits = () => this.#mayClaim(key, claim);
    return this.#write(fits, () => this.#backend.acquire(key, claim));
  }

  seize(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    const claim = { holder, audit, seizes: true };
    const fits = () =>
      audit.some(({ journal }) => journal === "audit")
        ? this.#mayClaim(key, claim)
        : check.invalid("audit", "a session is not seized without an entry that says who did");
    return this.#write(fits, () => this.#backend.acquire(key, claim));
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
    const fits = () => all(() => check.checkKey(key));
    return this.#write(fits, () => this.#backend.release(key, term));
  }

  cutLog(key: S.SessionKey, term: number, cut: S.LogCut) {
    const fits = () =>
      all(
        () => check.checkKey(key),
        () => check.checkPlace(cut.lastEventId),
        () => check.checkNames({ epoch: cut.epoch }),
        () => check.checkEntries(cut.audit, this.contract),
      );
    return this.#write(fits, () => this.#backend.cutLog(key, term, cut));
  }

  delete(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    const claim = { holder, audit, seizes: false };
    const fits = () => this.#mayClaim(key, claim);
    return this.#write(fits, () => this.#backend.remove(key, claim));
  }

  readRecord(key: S.SessionKey) {
    return this.#read(
      () => all(() => check.checkKey(key)),
      () => this.#backend.readRecord(key),
    );
  }

  readManifest(key: S.SessionKey) {
    return this.#read(
      () => all(() => check.checkKey(key)),
      () => this.#backend.readManifest(key),
    );
  }

  readEvents(key: S.SessionKey, range: S.Range) {
    const fits = () => inRange(key, range.after);
    return this.#read(fits, () => this.#backend.readEvents(key, bounded(range)));
  }

  readTurns(key: S.SessionKey, range: S.BackwardRange) {
    const fits = () => inRange(key, range.before);
    return this.#read(fits, () => this.#backend.readTurns(key, bounded(range)));
  }

  readMessages(key: S.SessionKey, range: S.Range) {
    const fits = () => inRange(key, range.after);
    return this.#read(fits, () => this.#backend.readMessages(key, bounded(range)));
  }

  readSlots(key: S.SessionKey) {
    return this.#read(
      () => all(() => check.checkKey(key)),
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
      () => ok(0),
      () => this.#backend.tenants(),
    );
  }

  removeTenant(tenantId: TenantId, holder: Holder) {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkOwner(holder),
      );
    return this.#write(fits, () => this.#backend.removeTenant(tenantId, holder));
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
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkQuery(query),
      );
    return this.#read(fits, () => this.#backend.readJournal(tenantId, bounded(query)));
  }

  async readDocument(tenantId: TenantId, kind: string, key: string) {
    const found = await this.#documents(tenantId, { kind, key });
    return found.ok ? ok(found.value.rows[0] ?? null) : found;
  }

  listDocuments(tenantId: TenantId, kind: string, after: string | null) {
    return this.#documents(tenantId, { kind, after, limit: PAGE_ROWS_MAX });
  }

  writeDocument(tenantId: TenantId, write: S.DocumentWrite): Promise<Result<S.Document>> {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkNames({ kind: write.kind, key: write.key }),
        () => checkWrite(write, this.contract),
      );
    return this.#write(fits, async () => {
      const { kind, key, expectedVersion, value, entries = [] } = write;
      const text = value === null ? null : JSON.stringify(value);
      const document = { kind, key, expectedVersion, text, entries };
      const written = await this.#backend.writeDocument(tenantId, document);
      return written.ok ? ok({ kind, key, version: written.value, value: value ?? {} }) : written;
    });
  }

  writeBlob(tenantId: TenantId, bytes: Uint8Array): Promise<Result<string>> {
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => (bytes instanceof Uint8Array ? DONE : check.invalid("blob", "blobs are bytes")),
        () => check.weighed(bytes.byteLength, BLOB_BYTES_MAX),
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
    const place = "key" in query ? query.key : (query.after ?? query.kind);
    const fits = () =>
      all(
        () => check.checkTenant(tenantId),
        () => check.checkNames({ kind: query.kind, place }),
      );
    return this.#read(fits, async () => {
      const found = await this.#backend.readDocuments(tenantId, query);
      return found.ok ? readDocuments(found.value) : found;
    });
  }

  #mayClaim(key: S.SessionKey, { holder, audit }: Claim): Result<number> {
    return all(
      () => check.checkKey(key),
      () => check.checkOwner(holder),
      () => check.checkEntries(audit, this.contract),
    );
  }

  /** What waits is bounded by its bytes, so that a slow disk is noticed before memory is gone. */
  #write<Value>(fits: () => Result<number>, act: () => Pending<Value>): Promise<Result<Value>> {
    return this.#safely(async () => {
      const may = this.#life.forWriting();
      const weight = may.ok ? judged(fits) : may;
      if (!weight.ok) return weight;
      if (this.#bytesWaiting + weight.value > STORE_BYTES_WAITING_MAX) {
        return fail("store_unavailable", { reason: "too much is waiting to be written" });
      }
      this.#bytesWaiting += weight.value;
      try {
        return await act();
      } finally {
        this.#bytesWaiting -= weight.value;
      }
    });
  }

  #read<Value>(fits: () => Result<number>, act: () => Pending<Value>): Promise<Result<Value>> {
    return this.#safely(() => {
      const may = this.#life.forReading();
      const fit = may.ok ? judged(fits) : may;
      return fit.ok ? act() : fit;
    });
  }

  async #safely<Value>(act: () => Pending<Value>): Promise<Result<Value>> {
    try {
      return await act();
    } catch (thrown) {
      return this.#backend.explain(thrown);
    }
  }

  /** Whether its configuration says that it is the active one, once the backend is open. */
  async #open(host: S.StoreHost, config: unknown): Promise<Result<boolean>> {
    const read = readConfig(config, this.#options);
    if (!read.ok) return read;
    this.#mayBeOpen = true;
    const opened = await this.#backend.open(read.value, host);
    return opened.ok ? ok(read.value.active) : opened;
  }

  /** However often it is told to, it ends once, and everybody waits for that end. */
  #shut(): Promise<Result<void>> {
    return this.#inTurn(async () => {
      if (this.#mayBeOpen) await this.#backend.shut();
      this.#mayBeOpen = false;
      return DONE;
    });
  }

  /** Opening and shutting wait for each other, so that whatever was opened is shut. */
  #inTurn<Value>(act: () => Pending<Value>): Promise<Result<Value>> {
    const answer = this.#last.then(() => this.#safely(act));
    this.#last = answer;
    return answer;
  }
}

type Pending<Value> = Result<Value> | Promise<Result<Value>>;

const HASH = /^[0-9a-f]{64}$/;

/**
 * The first fault of several; what comes after it is not asked, and may rely on that. If there is
 * none, what all of it weighs: only the last check knows of anything heavy.
 */
function all(...checks: readonly (() => Result<unknown>)[]): Result<number> {
  let bytes = 0;
  for (const one of checks) {
    const result = one();
    if (!result.ok) return result;
    bytes = typeof result.value === "number" ? result.value : 0;
  }
  return ok(bytes);
}

/** A check trips over what is not even of the right shape; that is an answer too. */
function judged(fits: () => Result<number>): Result<number> {
  try {
    return fits();
  } catch {
    return check.invalid("input", "it is not of the shape that this operation takes");
  }
}

function inRange(key: S.SessionKey, place: number): Result<number> {
  return all(
    () => check.checkKey(key),
    () => check.checkPlace(place),
  );
}

function bounded<Page extends { readonly limit: number }>(page: Page): Page {
  return { ...page, limit: check.pageRows(page.limit) };
}
