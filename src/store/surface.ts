import { createHash } from "node:crypto";
import type { TenantId } from "../core/id.ts";
import { BLOB_BYTES_MAX, PAGE_ROWS_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { Semaphore } from "../platform/semaphore.ts";
import {
  type Backend,
  type Claim,
  type DocumentQuery,
  readCursor,
  readDocuments,
  writeCursor,
} from "./backend.ts";
import * as check from "./check.ts";
import type { Holder } from "./holder.ts";
import { type OptionRules, readConfig, StoreLife } from "./lifecycle.ts";
import { type Operation, OperationPath, onlyJournal, type StoreSteps } from "./operation.ts";
import { copyInside } from "./past.ts";
import { searchChecks, searchPage } from "./search.ts";
import type * as S from "./store.ts";

/**
 * The half that all our stores share: a store's phase, every check that needs no disk, the steps
 * that a server adds (operation.ts), and the promise that nothing is ever thrown. What is left to
 * a backend is to put bytes somewhere.
 */
export class StoreSurface implements S.SessionStore {
  readonly contract: S.StoreContract;
  readonly #options: OptionRules;
  readonly #backend: Backend;
  readonly #path: OperationPath;
  readonly #life = new StoreLife();
  #host: S.StoreHost | null = null;
  #mayBeOpen = false;
  readonly #opening = new Semaphore(1);

  constructor(
    contract: S.StoreContract,
    options: OptionRules,
    backend: Backend,
    steps: StoreSteps = {},
  ) {
    this.contract = contract;
    this.#options = options;
    this.#backend = backend;
    this.#path = new OperationPath(contract.storeId, this.#life, backend, steps);
  }

  async init(host: S.StoreHost, config: unknown): Promise<Result<void>> {
    const attempt = this.#life.begin();
    if (!attempt.ok) return attempt;
    const opened = await this.#exclusively(() => this.#open(host, config));
    if (!opened.ok) {
      this.#life.failed(attempt.value);
      return opened;
    }
    this.#host = host;
    return this.#life.succeeded(attempt.value, opened.value);
  }

  async activate(): Promise<Result<void>> {
    try {
      const activated = this.#life.activate();
      if (activated.ok) this.#host?.persistenceSurface.announce(this.contract.storeId);
      return activated;
    } catch (thrown) {
      return this.#path.explained(thrown);
    }
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
    return this.#path.write("create", key, {
      fields: () => ({ ...key, ...session, commit: null }),
      content: () => session.commit,
      check: (commit) => [
        () => check.checkKey(key),
        () => check.checkOwner(session.holder, session.epoch),
        () => check.checkManifestOf(key, session.manifest, this.contract),
        () => check.checkCommit(key, { ...commit, record: session.record }, this.contract),
      ],
      act: (commit) => {
        const { holder, manifest, record, epoch } = session;
        const fresh = { holder, manifest, record, epoch, commit };
        return this.#path.noted(key, this.#backend.create(key, fresh));
      },
    });
  }

  open(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    return this.#claim("open", key, { holder, audit, seizes: false }, (claim) =>
      this.#path.located(key, this.#backend.acquire(key, claim)),
    );
  }

  seize(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    return this.#claim("seize", key, { holder, audit, seizes: true }, (claim) =>
      this.#path.located(key, this.#backend.acquire(key, claim)),
    );
  }

  delete(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    return this.#claim("delete", key, { holder, audit, seizes: false }, async (claim) => {
      const removed = await this.#backend.remove(key, claim);
      if (removed.ok) await this.#path.notes?.forget(key);
      return removed;
    });
  }

  commit(key: S.SessionKey, term: number, commit: S.Commit) {
    return this.#path.write("commit", key, {
      content: () => commit,
      check: (clean) => [
        () => check.checkKey(key),
        () => check.checkCommit(key, clean, this.contract),
      ],
      act: (clean) => this.#backend.commit(key, term, clean),
    });
  }

  copyPast(key: S.SessionKey, term: number, step: S.PastStep): Promise<Result<S.PastCopied>> {
    return this.#path.write("copyPast", key, {
      fields: () => step,
      check: () => [() => check.checkKey(key), () => check.checkPast(key, step)],
      act: () => copyInside(this, this.#backend, this.#path.secrets, { key, term, step }),
    });
  }

  /** A key that only names what is there is not scanned: such a session can still be ended. */
  close(key: S.SessionKey, term: number) {
    return this.#path.write("close", key, {
      check: () => [() => check.checkKey(key)],
      act: () => this.#backend.release(key, term),
    });
  }

  cutLog(key: S.SessionKey, term: number, cut: S.LogCut) {
    return this.#path.write("cutLog", key, {
      fields: () => ({ ...cut, audit: null }),
      content: () => onlyJournal(cut.audit),
      check: ({ journal }) => [
        () => check.checkKey(key),
        () => check.checkEventId(cut.lastEventId),
        () => check.checkNames({ epoch: cut.epoch }),
        () => check.checkEntries(journal, this.contract),
      ],
      act: ({ journal }) => {
        const { lastEventId, epoch } = cut;
        return this.#backend.cutLog(key, term, { lastEventId, epoch, audit: journal });
      },
    });
  }

  readRecord(key: S.SessionKey) {
    return this.#readSession("readRecord", key, () => this.#backend.readRecord(key));
  }

  readManifest(key: S.SessionKey) {
    return this.#readSession("readManifest", key, () => this.#backend.readManifest(key));
  }

  readEvents(key: S.SessionKey, range: S.Range) {
    const act = () => this.#backend.readEvents(key, check.bounded(range));
    return this.#readSession("readEvents", key, act, () => check.checkEventId(range.after));
  }

  readTurns(key: S.SessionKey, range: S.BackwardRange) {
    const act = () => this.#backend.readTurns(key, check.bounded(range));
    return this.#readSession("readTurns", key, act, () => check.checkEventId(range.before));
  }

  readMessages(key: S.SessionKey, range: S.Range) {
    const act = () => this.#backend.readMessages(key, check.bounded(range));
    return this.#readSession("readMessages", key, act, () => check.checkEventId(range.after));
  }

  readSlots(key: S.SessionKey) {
    return this.#readSession("readSlots", key, () => this.#backend.readSlots(key));
  }

  list(tenantId: TenantId, filter: S.ListFilter, page: S.ListPage): Promise<Result<S.Listing>> {
    const checks = [
      () => check.checkTenant(tenantId),
      () => check.checkFilter(filter),
      () => (page.cursor === null || readCursor(page.cursor) ? DONE : fail("invalid_cursor")),
    ];
    return this.#path.read("list", checks, async () => {
      const after = page.cursor === null ? null : readCursor(page.cursor);
      const range = { limit: check.pageRows(page.limit), after };
      const listed = await this.#backend.list(tenantId, filter, range);
      if (!listed.ok) return listed;
      const { sessions, damaged, continuesAfter: last } = listed.value;
      return ok({ sessions, damaged, nextCursor: last === null ? null : writeCursor(last) });
    });
  }

  search(tenantId: TenantId, request: S.SearchRequest, page: S.ListPage) {
    const act = () => searchPage(this.#backend, tenantId, request, page);
    return this.#path.read("search", searchChecks(tenantId, request, page), act);
  }

  tenants() {
    return this.#path.read("tenants", [], () => this.#backend.tenants());
  }

  check() {
    return this.#path.read("check", [], () => this.#backend.check?.() ?? NO_FAULTS);
  }

  removeTenant(tenantId: TenantId, holder: Holder) {
    return this.#path.write(
      "removeTenant",
      { tenantId },
      {
        check: () => [() => check.checkTenant(tenantId), () => check.checkOwner(holder)],
        act: async () => {
          const { notes } = this.#path;
          // First, so that a crash leaves no names of what is gone; a lost note is a lost hint.
          if (notes !== null) await notes.forgetTenant(tenantId);
          return this.#backend.removeTenant(tenantId, holder);
        },
      },
    );
  }

  appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    return this.#path.write(
      "appendJournal",
      { tenantId },
      {
        fields: () => ({ tenantId }),
        content: () => onlyJournal(entries),
        check: ({ journal }) => [
          () => check.checkTenant(tenantId),
          () => check.checkEntries(journal, this.contract),
        ],
        act: ({ journal }) => this.#backend.appendJournal(tenantId, journal),
      },
    );
  }

  readJournal(tenantId: TenantId, query: S.JournalQuery) {
    const checks = [() => check.checkTenant(tenantId), () => check.checkQuery(query)];
    const act = () => this.#backend.readJournal(tenantId, check.bounded(query));
    return this.#path.read("readJournal", checks, act);
  }

  async readDocument(tenantId: TenantId, kind: string, key: string) {
    const found = await this.#documents("readDocument", tenantId, { kind, key });
    return found.ok ? ok(found.value.rows[0] ?? null) : found;
  }

  listDocuments(tenantId: TenantId, kind: string, after: string | null) {
    return this.#documents("listDocuments", tenantId, { kind, after, limit: PAGE_ROWS_MAX });
  }

  writeDocument(tenantId: TenantId, write: S.DocumentWrite): Promise<Result<S.Document>> {
    return this.#path.write(
      "writeDocument",
      { tenantId },
      {
        fields: () => ({ tenantId, document: { ...write, entries: null } }),
        content: () => onlyJournal(write.entries === undefined ? [] : write.entries),
        check: ({ journal: entries }) => [
          () => check.checkTenant(tenantId),
          () => check.checkNames({ kind: write.kind, key: write.key }),
          () => check.checkWrite({ ...write, entries }, this.contract),
        ],
        act: async ({ journal: entries }) => {
          const { kind, key, expectedVersion, value } = write;
          const text = value === null ? null : JSON.stringify(value);
          const document = { kind, key, expectedVersion, text, entries };
          const written = await this.#backend.writeDocument(tenantId, document);
          return written.ok
            ? ok({ kind, key, version: written.value, value: value ?? {} })
            : written;
        },
      },
    );
  }

  writeBlob(tenantId: TenantId, bytes: Uint8Array): Promise<Result<string>> {
    return this.#path.write(
      "writeBlob",
      { tenantId },
      {
        fields: () => ({ tenantId, blob: bytes }),
        check: () => [
          () => check.checkTenant(tenantId),
          () => (bytes instanceof Uint8Array ? DONE : check.invalid("blob", "blobs are bytes")),
          () => check.weighed(bytes.byteLength, BLOB_BYTES_MAX),
        ],
        act: async () => {
          const hash = createHash("sha256").update(bytes).digest("hex");
          const written = await this.#backend.writeBlob(tenantId, hash, bytes);
          return written.ok ? ok(hash) : written;
        },
      },
    );
  }

  /** The content is its own checksum: bytes that do not have their name are damaged. */
  readBlob(tenantId: TenantId, hash: string): Promise<Result<Uint8Array>> {
    const checks = [
      () => check.checkTenant(tenantId),
      () => (HASH.test(hash) ? DONE : check.invalid("hash", "it is no SHA-256 in hexadecimal")),
    ];
    return this.#path.read("readBlob", checks, async () => {
      const found = await this.#backend.readBlob(tenantId, hash);
      if (!found.ok) return found;
      if (found.value === null) return fail("blob_not_found", { hash });
      const actual = createHash("sha256").update(found.value).digest("hex");
      return actual === hash
        ? ok(found.value)
        : fail("session_corrupt", { reason: `blob ${hash}` });
    });
  }

  #claim<Value>(
    operation: Operation,
    key: S.SessionKey,
    { holder, audit, seizes }: Claim,
    act: (claim: Claim) => Promise<Result<Value>>,
  ) {
    return this.#path.write(operation, key, {
      fields: () => ({ holder }),
      content: () => onlyJournal(audit),
      check: ({ journal }) => [
        () => (seizes ? check.checkSeizure(journal) : DONE),
        () => check.checkKey(key),
        () => check.checkOwner(holder),
        () => check.checkEntries(journal, this.contract),
      ],
      act: ({ journal }) => act({ holder, audit: journal, seizes }),
    });
  }

  #documents(operation: Operation, tenantId: TenantId, query: DocumentQuery) {
    const place = "key" in query ? query.key : (query.after ?? query.kind);
    const checks = [
      () => check.checkTenant(tenantId),
      () => check.checkNames({ kind: query.kind, place }),
    ];
    return this.#path.read(operation, checks, async () => {
      const found = await this.#backend.readDocuments(tenantId, query);
      return found.ok ? readDocuments(found.value) : found;
    });
  }

  #readSession<Value>(
    operation: Operation,
    key: S.SessionKey,
    act: () => Promise<Result<Value>>,
    ...checks: readonly check.InputCheck[]
  ) {
    const all = [() => check.checkKey(key), ...checks];
    return this.#path.read(operation, all, () => this.#path.located(key, act()));
  }

  /** Whether its configuration says that it is the active one, once the backend is open. */
  async #open(host: S.StoreHost, config: unknown): Promise<Result<boolean>> {
    const read = readConfig(config, this.#options);
    if (!read.ok) return read;
    this.#mayBeOpen = true;
    const opened = await this.#backend.open(read.value, host);
    return opened.ok ? ok(read.value.active) : opened;
  }

  /** Shuts the backend once, however often it is called; every caller waits for that end. */
  #shut(): Promise<Result<void>> {
    return this.#exclusively(async () => {
      if (this.#mayBeOpen) await this.#backend.shut();
      this.#mayBeOpen = false;
      return DONE;
    });
  }

  /** Opening and shutting wait for each other, so that what was opened is shut. */
  #exclusively<Value>(act: () => Promise<Result<Value>>): Promise<Result<Value>> {
    return this.#opening.run(act).catch((thrown: unknown) => this.#path.explained(thrown));
  }
}

/** Of a backend that has no way to look. */
const NO_FAULTS = Promise.resolve(ok<readonly S.StoreFault[]>([]));

const HASH = /^[0-9a-f]{64}$/;
