import type { TenantId } from "../core/id.ts";
import type { Result } from "../core/result.ts";
import type { Holder } from "./holder.ts";
import type * as S from "./store.ts";

/**
 * The half of a store that differs from store to store: where the bytes go. Its other half,
 * surface.ts, has checked every argument and the store's own phase before it is called, and
 * turns whatever it throws into a typed refusal. It still has to look, in the same step as its
 * write, at what only it can know: the term, the revision, and where the log ends.
 */
export interface Backend {
  /** Connects, and proves that it can write. */
  open(config: Readonly<Record<string, unknown>>, host: S.StoreHost): Promise<Result<void>>;
  /** Lets go of everything, after the last write has been answered. */
  shut(): Promise<void>;
  /** What a thrown error means, in one sentence and with its code. */
  explain(thrown: unknown): Result<never>;

  create(key: S.SessionKey, session: S.NewSession): Promise<Result<S.Owned>>;
  acquire(key: S.SessionKey, claim: Claim): Promise<Result<S.Opened>>;
  commit(key: S.SessionKey, term: number, commit: S.Commit): Promise<Result<S.Committed>>;
  release(key: S.SessionKey, term: number): Promise<Result<void>>;
  cutLog(key: S.SessionKey, term: number, cut: S.LogCut): Promise<Result<void>>;
  remove(key: S.SessionKey, claim: Claim): Promise<Result<void>>;

  readRecord(key: S.SessionKey): Promise<Result<S.StoredRecord>>;
  readManifest(key: S.SessionKey): Promise<Result<S.Opened["manifest"]>>;
  readEvents(key: S.SessionKey, range: S.Range): Promise<Result<S.EventPage>>;
  readTurns(key: S.SessionKey, range: S.BackwardRange): Promise<Result<S.Page<S.FoldedTurn>>>;
  readMessages(key: S.SessionKey, range: S.Range): Promise<Result<S.Page<S.StoredText>>>;
  readSlots(key: S.SessionKey): Promise<Result<S.SlotSet>>;

  list(tenantId: TenantId, filter: S.ListFilter, page: ListRange): Promise<Result<ListRows>>;
  tenants(): Promise<Result<readonly TenantId[]>>;
  removeTenant(tenantId: TenantId, holder: Holder): Promise<Result<void>>;

  appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]): Promise<Result<void>>;
  readJournal(tenantId: TenantId, query: S.JournalQuery): Promise<Result<S.Page<S.JournalRow>>>;

  readDocuments(tenantId: TenantId, query: DocumentQuery): Promise<Result<S.Page<DocumentRow>>>;
  /** Answers with the version that was written; its entries are in the same step, or neither is. */
  writeDocument(tenantId: TenantId, write: DocumentText): Promise<Result<number>>;

  writeBlob(tenantId: TenantId, hash: string, bytes: Uint8Array): Promise<Result<void>>;
  readBlob(tenantId: TenantId, hash: string): Promise<Result<Uint8Array | null>>;
}

/** Who wants a session, and what the audit is to say of it. */
export interface Claim {
  readonly holder: Holder;
  readonly audit: readonly S.JournalEntry[];
  /** A person has decided that its present holder is gone. */
  readonly seizes: boolean;
}

/** A place in a list that is ordered by activity, newest first, and then by id. */
export interface Place {
  readonly updatedAtMs: number;
  readonly sessionId: string;
}

export interface ListRange {
  readonly limit: number;
  readonly after: Place | null;
}

/** Up to `limit` rows after the place, and where the next page begins. */
export interface ListRows {
  readonly sessions: readonly S.StoredRecord[];
  readonly damaged: S.Listing["damaged"];
  /** The last row that was looked at, healthy or not, if there are more after it. */
  readonly continuesAfter: Place | null;
}

/** One document by its key, or a page of them after a key. */
export type DocumentQuery =
  | { readonly kind: string; readonly key: string }
  | { readonly kind: string; readonly after: string | null; readonly limit: number };

/** A document with its value as text, which only the surface reads. */
export interface DocumentText {
  readonly kind: string;
  readonly key: string;
  readonly expectedVersion: number;
  /** Null deletes it. */
  readonly text: string | null;
  readonly entries: readonly S.JournalEntry[];
}

export interface DocumentRow {
  readonly kind: string;
  readonly key: string;
  readonly version: number;
  readonly text: string;
}
