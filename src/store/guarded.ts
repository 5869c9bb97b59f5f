import type { TenantId } from "../core/id.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { jsonBytes } from "../core/text.ts";
import { commitBytes, type InputCheck } from "./check.ts";
import type { Holder } from "./holder.ts";
import { type Operation, OperationPath, onlyJournal, type StoreSteps } from "./operation.ts";
import { copyByCommits } from "./past.ts";
import type * as S from "./store.ts";

/** The store behind decides in which phase it is, and a throw is a failure of its own. */
const ANY_PHASE = { forReading: () => DONE, forWriting: () => DONE };

const THROWN = {
  explain: (thrown: unknown) => {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("store_unavailable", { reason });
  },
};

/**
 * A store of a third party with the steps of a server around it: secrets are kept out of what it
 * is given (P11), the locator knows its sessions, callers see no paths, and what it throws is a
 * refusal. Bundled stores have these steps in their surface; this one is not trusted to.
 */
export class GuardedStore implements S.SessionStore {
  readonly contract: S.StoreContract;
  readonly #store: S.SessionStore;
  readonly #path: OperationPath;

  constructor(store: S.SessionStore, steps: StoreSteps) {
    this.contract = store.contract;
    this.#store = store;
    this.#path = new OperationPath(store.contract.storeId, ANY_PHASE, THROWN, steps);
  }

  init = (host: S.StoreHost, config: unknown) => this.#store.init(host, config);
  activate = () => this.#store.activate();
  deactivate = () => this.#read("deactivate", () => this.#store.deactivate());
  dispose = () => this.#read("dispose", () => this.#store.dispose());

  create(key: S.SessionKey, session: S.NewSession) {
    return this.#path.write("create", key, {
      fields: () => ({ ...key, ...session, commit: null }),
      content: () => session.commit,
      check: weighed,
      act: (commit) => this.#path.noted(key, this.#store.create(key, { ...session, commit })),
    });
  }

  open(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    return this.#told(
      "open",
      key,
      () => ({ holder }),
      () => audit,
      (clean) => this.#path.located(key, this.#store.open(key, holder, clean)),
    );
  }

  seize(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    return this.#told(
      "seize",
      key,
      () => ({ holder }),
      () => audit,
      (clean) => this.#path.located(key, this.#store.seize(key, holder, clean)),
    );
  }

  commit(key: S.SessionKey, term: number, commit: S.Commit) {
    return this.#path.write("commit", key, {
      content: () => commit,
      check: weighed,
      act: (clean) => this.#store.commit(key, term, clean),
    });
  }

  /** By reads and commits, so that it is our own code that looks for secrets. */
  copyPast(key: S.SessionKey, term: number, step: S.PastStep) {
    return this.#read("copyPast", () => copyByCommits(this, key, term, step));
  }

  close(key: S.SessionKey, term: number) {
    return this.#read("close", () => this.#store.close(key, term));
  }

  cutLog(key: S.SessionKey, term: number, cut: S.LogCut) {
    const fields = () => ({ ...cut, audit: null });
    return this.#told(
      "cutLog",
      key,
      fields,
      () => cut.audit,
      (audit) => this.#store.cutLog(key, term, { ...cut, audit }),
    );
  }

  delete(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    return this.#told(
      "delete",
      key,
      () => ({ holder }),
      () => audit,
      async (clean) => {
        const removed = await this.#store.delete(key, holder, clean);
        if (removed.ok) await this.#path.notes?.forget(key);
        return removed;
      },
    );
  }

  readRecord = (key: S.SessionKey) => this.#located("readRecord", key, this.#store.readRecord);
  readManifest = (key: S.SessionKey) =>
    this.#located("readManifest", key, this.#store.readManifest);
  readSlots = (key: S.SessionKey) => this.#located("readSlots", key, this.#store.readSlots);

  readEvents(key: S.SessionKey, range: S.Range) {
    return this.#located("readEvents", key, this.#store.readEvents, range);
  }

  readTurns(key: S.SessionKey, range: S.BackwardRange) {
    return this.#located("readTurns", key, this.#store.readTurns, range);
  }

  readMessages(key: S.SessionKey, range: S.Range) {
    return this.#located("readMessages", key, this.#store.readMessages, range);
  }

  list(tenantId: TenantId, filter: S.ListFilter, page: S.ListPage) {
    return this.#read("list", () => this.#store.list(tenantId, filter, page));
  }

  search(tenantId: TenantId, request: S.SearchRequest, page: S.ListPage) {
    return this.#read("search", async () => {
      return (await this.#store.search?.(tenantId, request, page)) ?? fail("search_unavailable");
    });
  }

  tenants() {
    return this.#read("tenants", () => this.#store.tenants());
  }

  /** A store that cannot tell has nothing to tell. */
  check() {
    return this.#read("check", async () => (await this.#store.check?.()) ?? ok([]));
  }

  removeTenant(tenantId: TenantId, holder: Holder) {
    return this.#read("removeTenant", async () => {
      const { notes } = this.#path;
      // First, so that a crash leaves no names of what is gone.
      if (notes !== null) await notes.forgetTenant(tenantId);
      return this.#store.removeTenant(tenantId, holder);
    });
  }

  appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    return this.#told(
      "appendJournal",
      { tenantId },
      () => ({ tenantId }),
      () => entries,
      (clean) => this.#store.appendJournal(tenantId, clean),
    );
  }

  readJournal(tenantId: TenantId, query: S.JournalQuery) {
    return this.#read("readJournal", () => this.#store.readJournal(tenantId, query));
  }

  readDocument(tenantId: TenantId, kind: string, key: string) {
    return this.#read("readDocument", () => this.#store.readDocument(tenantId, kind, key));
  }

  listDocuments(tenantId: TenantId, kind: string, after: string | null) {
    return this.#read("listDocuments", () => this.#store.listDocuments(tenantId, kind, after));
  }

  writeDocument(tenantId: TenantId, document: S.DocumentWrite) {
    const fields = () => ({ tenantId, document: { ...document, entries: null } });
    const entries = () => (document.entries === undefined ? [] : document.entries);
    const act = (clean: readonly S.JournalEntry[]) =>
      this.#store.writeDocument(tenantId, { ...document, entries: clean });
    return this.#told("writeDocument", { tenantId }, fields, entries, act, () =>
      jsonBytes(document.value),
    );
  }

  writeBlob(tenantId: TenantId, bytes: Uint8Array) {
    const fields = () => ({ tenantId, blob: bytes });
    const act = () => this.#store.writeBlob(tenantId, bytes);
    return this.#told("writeBlob", { tenantId }, fields, NO_ENTRIES, act, () => bytes.byteLength);
  }

  readBlob(tenantId: TenantId, hash: string) {
    return this.#read("readBlob", () => this.#store.readBlob(tenantId, hash));
  }

  #read<Value>(operation: Operation, act: () => Promise<Result<Value>>) {
    return this.#path.read(operation, [], act);
  }

  #located<Value, More extends readonly unknown[]>(
    operation: Operation,
    key: S.SessionKey,
    read: (key: S.SessionKey, ...more: More) => Promise<Result<Value>>,
    ...more: More
  ) {
    return this.#read(operation, () =>
      this.#path.located(key, read.call(this.#store, key, ...more)),
    );
  }

  /**
   * A write of fields that are Fermata's own, with the entries that tell of it. Both are read by
   * the path, which refuses what is malformed.
   */
  #told<Value>(
    operation: Operation,
    target: Parameters<OperationPath["write"]>[1],
    fields: () => unknown,
    entries: () => readonly S.JournalEntry[],
    act: (clean: readonly S.JournalEntry[]) => Promise<Result<Value>>,
    moreBytes = NO_BYTES,
  ) {
    return this.#path.write(operation, target, {
      fields,
      content: () => onlyJournal(entries()),
      check: (clean) => weighed(clean, moreBytes),
      act: ({ journal }) => act(journal),
    });
  }
}

const NO_ENTRIES = () => [];

const NO_BYTES = () => 0;

/**
 * The store behind makes its own checks, but what waits for it is bounded here: it may be slow. Of
 * malformed input, which it is to refuse, there is no weight.
 */
function weighed(commit: S.Commit, moreBytes = NO_BYTES): readonly InputCheck[] {
  const weigh = () => {
    try {
      const bytes = commitBytes(commit) + moreBytes();
      return ok(Number.isFinite(bytes) ? bytes : 0);
    } catch {
      return ok(0);
    }
  };
  return [weigh];
}
