import type { TenantId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import { PAGE_BYTES_MAX, STORE_ROW_BYTES } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { isId } from "./fields.ts";
import type { Holder } from "./holder.ts";
import type { FoundRows, SearchRange, SearchTerms } from "./search.ts";
import type { SecretPatterns } from "./secret-filter.ts";
import type * as S from "./store.ts";
import type { Page } from "./store.ts";

/** Operations that the surface translates, so that a backend has others in their stead. */
type Translated =
  | ("open" | "seize" | "close" | "delete" | "list" | "copyPast" | "search")
  | ("readDocument" | "listDocuments" | "writeDocument" | "writeBlob" | "readBlob");

/** Operations that a backend offers as they are in the contract; a new one is among them. */
type Passed = Omit<
  S.SessionStore,
  Translated | "contract" | "init" | "activate" | "deactivate" | "dispose"
>;

/**
 * The half of a store that differs from store to store: where the bytes go. Its other half,
 * surface.ts, has checked every argument and the store's own phase before it calls, and turns what
 * a backend throws into a typed refusal. A backend still has to check, in the same step as its
 * write, what only it can know: the term, the revision, and where the log ends.
 */
export interface Backend extends Passed {
  /** Connects, and proves that it can write. */
  open(config: Readonly<Record<string, unknown>>, host: S.StoreHost): Promise<Result<void>>;
  /** Releases everything, after the last write has been answered. */
  shut(): Promise<void>;
  /** What a thrown error means, in one sentence and with its code. */
  explain(thrown: unknown): Result<never>;

  acquire(key: S.SessionKey, claim: Claim): Promise<Result<S.Opened>>;
  release(key: S.SessionKey, term: number): Promise<Result<void>>;
  remove(key: S.SessionKey, claim: Claim): Promise<Result<void>>;

  /**
   * Copies inside the store, and looks for secrets: what may have one is not copied but answered,
   * and the surface reads and redacts it. Without this function it does so with all of it.
   */
  copyPast?(
    key: S.SessionKey,
    term: number,
    step: S.PastStep,
    secrets: SecretPatterns,
  ): Promise<Result<S.PastCopied | SuspectPast>>;

  list(tenantId: TenantId, filter: S.ListFilter, page: ListRange): Promise<Result<ListRows>>;

  /**
   * A step of a search: up to `limit` hits after the position. It may end before that, when it has
   * looked at as much as one call should; the surface goes on from there.
   */
  search?(tenantId: TenantId, terms: SearchTerms, range: SearchRange): Promise<Result<FoundRows>>;

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

/** As far as here the past may have a secret in it. */
export interface SuspectPast {
  readonly suspect: Pick<S.PastStep, "messages" | "throughEventId">;
}

/** A position in a list that is ordered by activity, newest first, and then by id. */
export interface ListPosition {
  readonly updatedAtMs: number;
  readonly sessionId: string;
}

export interface ListRange {
  readonly limit: number;
  readonly after: ListPosition | null;
}

/** Up to `limit` rows after the position, and where the next page begins. */
export interface ListRows {
  readonly sessions: readonly S.StoredRecord[];
  readonly damaged: S.Listing["damaged"];
  /** The last row that was looked at, healthy or not, if there are more after it. */
  readonly continuesAfter: ListPosition | null;
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

/**
 * The first rows of many, as copies: as many as the limits on rows and on bytes allow. Rows are
 * taken one by one, so what they come from may be an open statement, and is not read to its end.
 */
export function pageOf<Row extends object>(
  rows: Iterable<Row>,
  limit: number,
  bytesMax: number = PAGE_BYTES_MAX,
): Page<Row> {
  const page: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += STORE_ROW_BYTES;
    for (const value of Object.values(row)) {
      if (typeof value === "string") bytes += Buffer.byteLength(value);
    }
    const full = page.length === limit || (page.length > 0 && bytes > bytesMax);
    if (full) return { rows: page, more: true };
    page.push({ ...row });
  }
  return { rows: page, more: false };
}

export function writeCursor({ updatedAtMs, sessionId }: ListPosition): string {
  return Buffer.from(JSON.stringify([updatedAtMs, sessionId])).toString("base64url");
}

/** Null if it is not one of ours: what we would not have written ourselves is not read either. */
export function readCursor(cursor: string): ListPosition | null {
  try {
    const [updatedAtMs, sessionId] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (!Number.isSafeInteger(updatedAtMs) || !isId(sessionId)) return null;
    const position = { updatedAtMs, sessionId };
    return writeCursor(position) === cursor ? position : null;
  } catch {
    return null;
  }
}

/** Documents of the contract, from the texts that a backend keeps. */
export function readDocuments({ rows, more }: S.Page<DocumentRow>): Result<S.Page<S.Document>> {
  const documents: S.Document[] = [];
  for (const { kind, key, version, text } of rows) {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return fail("session_corrupt", { reason: `document ${kind}/${key}` });
    documents.push({ kind, key, version, value });
  }
  return ok({ rows: documents, more });
}
