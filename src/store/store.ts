import type { SessionId, TenantId, UserId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { SecurityMode } from "../core/policy/risk.ts";
import type { Result } from "../core/result.ts";
import type { SessionName } from "../core/session/name.ts";
import type { Audience } from "../core/session/visibility.ts";
import type { SessionState } from "../core/status.ts";
import type { Holder } from "./holder.ts";
import type { PastCopied, PastStep } from "./past.ts";
import type { FoundPage, SearchRequest } from "./search.ts";
import type {
  Document,
  DocumentWrite,
  JournalEntry,
  JournalQuery,
  JournalRow,
} from "./tenant-data.ts";

export type { PastCopied, PastStep } from "./past.ts";
export type { FoundPage, Hit, SearchRequest } from "./search.ts";
export type * from "./tenant-data.ts";

/**
 * What every store promises; the conformance kit checks it. No operation throws: what goes wrong
 * is a `Result` with a code. What is given and what is answered is copied when the call is made.
 */
export interface SessionStore {
  readonly contract: StoreContract;

  /** Checks its configuration and proves that its backend can be reached and written. */
  init(host: StoreHost, config: unknown): Promise<Result<void>>;
  /** Announces itself as the session store, if its configuration says that it is the active one. */
  activate(): Promise<Result<void>>;
  /** Finishes outstanding writes, then releases its handles. */
  deactivate(): Promise<Result<void>>;
  /** Frees what is left, and gives up sessions of this process's holders. Safe to repeat. */
  dispose(): Promise<Result<void>>;

  /**
   * Makes a session with its first commit, all or nothing, and owns it under a term that no
   * earlier session of this id has had: its late writers are refused too.
   */
  create(key: SessionKey, session: NewSession): Promise<Result<Owned>>;

  /**
   * Takes exclusive ownership under a new, higher term. Refused at once, naming the holder, while
   * another live process or opener has it; a holder that is provably gone is replaced. The same
   * holder may open again, which is how it goes on after a write whose outcome it does not know:
   * what it wrote under its older term and is still on its way is refused from then on.
   */
  open(key: SessionKey, holder: Holder, audit: readonly JournalEntry[]): Promise<Result<Opened>>;

  /** Takes a session from a holder that the operator knows to be gone, with an audit entry. */
  seize(key: SessionKey, holder: Holder, audit: readonly JournalEntry[]): Promise<Result<Opened>>;

  /** Durable once it answers; all or nothing; refused if the term is not the current one. */
  commit(key: SessionKey, term: number, commit: Commit): Promise<Result<Committed>>;

  /**
   * One step of a branch: the session goes on with messages and folded turns of another one of its
   * tenant, in its own name and under its own numbers, as many as one step may have. All or
   * nothing, and a snapshot. A store of a third party need not have it: a server reads and commits.
   */
  copyPast(key: SessionKey, term: number, step: PastStep): Promise<Result<PastCopied>>;

  /** Gives ownership up. Closing what one does not own any more is harmless. */
  close(key: SessionKey, term: number): Promise<Result<void>>;

  /**
   * Gives the log a new identity and, if its end cannot be read any more, an earlier end: clients
   * then know that their cursors mean nothing. It never goes behind the last snapshot.
   */
  cutLog(key: SessionKey, term: number, cut: LogCut): Promise<Result<void>>;

  /**
   * Removes the session, even a damaged one, if this holder could open it. Its journals stay; a
   * write that comes later is refused.
   */
  delete(key: SessionKey, holder: Holder, audit: readonly JournalEntry[]): Promise<Result<void>>;

  readRecord(key: SessionKey): Promise<Result<StoredRecord>>;
  readManifest(key: SessionKey): Promise<Result<Manifest>>;
  /** Raw events with id > after, ascending, without gaps; those trimmed away are not there. */
  readEvents(key: SessionKey, range: Range): Promise<Result<EventPage>>;
  /** Folded turns, newest first, of those that ended before the given event id. */
  readTurns(key: SessionKey, range: BackwardRange): Promise<Result<Page<FoldedTurn>>>;
  /** Messages with index > after, in order. The first message has index 1. */
  readMessages(key: SessionKey, range: Range): Promise<Result<Page<StoredText>>>;
  readSlots(key: SessionKey): Promise<Result<SlotSet>>;

  list(tenantId: TenantId, filter: ListFilter, page: ListPage): Promise<Result<Listing>>;
  tenants(): Promise<Result<readonly TenantId[]>>;

  /**
   * Finds messages and titles by their words, newest first. What is found is what is committed. A
   * store without the capability need not have it.
   */
  search?(tenantId: TenantId, request: SearchRequest, page: ListPage): Promise<Result<FoundPage>>;

  /** What is wrong with it or a tenant's part. It writes to find out; its cost is bounded. */
  check?(): Promise<Result<readonly StoreFault[]>>;

  /**
   * Removes all that there is of a tenant, and nothing of another, whole or not at all. Refused,
   * naming the holder, while this holder could not delete each of its sessions. One that is not
   * there is removed already. A tenant made anew under the name begins with nothing, and writers
   * of the old one are refused in it.
   */
  removeTenant(tenantId: TenantId, holder: Holder): Promise<Result<void>>;

  /** Appends to a tenant's journal. A key that is there already must bring the same text. */
  appendJournal(tenantId: TenantId, entries: readonly JournalEntry[]): Promise<Result<void>>;
  readJournal(tenantId: TenantId, query: JournalQuery): Promise<Result<Page<JournalRow>>>;

  /**
   * Small keyed values of a tenant. A write names the version it replaces, 0 for none. Versions of
   * a key only rise, also through a deletion, so that no late writer mistakes one for another. To
   * delete what is not there makes no tenant where there is none, unless there is something to
   * tell of it.
   */
  readDocument(tenantId: TenantId, kind: string, key: string): Promise<Result<Document | null>>;
  /** A page of them by the bytes of their keys in UTF-8, after the given one; null is the first. */
  listDocuments(
    tenantId: TenantId,
    kind: string,
    after: string | null,
  ): Promise<Result<Page<Document>>>;
  /**
   * Writes a document and the entries that tell of it in one commit: both are there, or neither.
   * Another version, or a key with another text, refuses both.
   */
  writeDocument(tenantId: TenantId, document: DocumentWrite): Promise<Result<Document>>;

  /** Bytes under the SHA-256 of their content; writing them again changes nothing. */
  writeBlob(tenantId: TenantId, bytes: Uint8Array): Promise<Result<string>>;
  readBlob(tenantId: TenantId, hash: string): Promise<Result<Uint8Array>>;
}

/** What a store says about itself. */
export interface StoreContract {
  readonly kind: "SessionStore";
  readonly contractVersion: string;
  readonly requiredCoreVersion: string;
  /** JSON Schema; unknown properties are refused; `enabled` and `active` are accepted. */
  readonly configSchema: JsonObject;
  readonly loadedCardinality: "unlimited";
  readonly activeCardinality: "one";
  /** Its own slot's name, written first in every snapshot; null if it keeps none. */
  readonly stateSlot: string | null;
  readonly discoveryRules: { readonly folder: "session-stores"; readonly key: string };
  readonly reloadBehavior: "never";
  readonly capabilities: StoreCapabilities;
  /** Stable, unique among loaded stores, and stamped on every manifest. */
  readonly storeId: string;
}

export interface StoreCapabilities {
  /** Events may be appended between snapshots. */
  readonly journaling: boolean;
  /** The largest commit in bytes; a larger one is refused before anything changes. */
  readonly snapshotBytesLimit: number;
  /** Always false in this version: a slot is handed over whole, and its size is bounded. */
  readonly largeSlotStreaming: false;
  /** Reads do not wait for the owner, and still see only whole commits. */
  readonly concurrentReaders: boolean;
  /** It finds messages and titles by their words. A store that does not say so does not. */
  readonly search?: boolean;
}

/** All that a store reaches the world through. */
export interface StoreHost {
  readonly persistenceSurface: { announce(storeId: string): void };
  /** A credential of the server's environment: a secret, which is then kept out of the store. */
  readonly env: { get(name: string): string | undefined };
  audit(entry: { readonly act: string; readonly details: JsonObject }): void;
}

/** What is wrong with a store: nothing can be written, or a tenant's part is damaged or gone. */
export interface StoreFault {
  readonly kind: "unwritable" | "damaged" | "missing";
  /** Null is the whole store. */
  readonly tenantId: TenantId | null;
  /** For the operator: it may name paths. */
  readonly reason: string;
}

export interface SessionKey {
  readonly tenantId: TenantId;
  readonly sessionId: SessionId;
}

export interface NewSession {
  readonly holder: Holder;
  readonly manifest: Manifest;
  readonly record: SessionRecord;
  /** The identity of the log; with an event id it makes a cursor. */
  readonly epoch: string;
  readonly commit: Omit<Commit, "record">;
}

/**
 * The slim record that alone is enough to continue a conversation, safe to show to a reviewer: no
 * list of extensions, no slot, no secret. Its messages are stored beside it and read in pages,
 * because a snapshot costs its turn and not the history.
 */
export interface Manifest {
  readonly sessionId: SessionId;
  /** Stamped by the store that wrote it, and compared before anything else is read. */
  readonly storeId: string;
  readonly mode: SecurityMode;
  readonly projectRoot: string;
  /** Which state machine is attached, and where its slot is; its shape is its author's. */
  readonly smState?: { readonly smExtId: string; readonly stateSlotRef: string };
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What lists are made of. Small, and written with any commit that changes it. */
export interface SessionRecord {
  readonly workspaceCwd: string;
  readonly status: SessionState;
  readonly displayName: string | null;
  /** What may be written for its id by those who see it. Others of its tenant may have the same. */
  readonly name: SessionName | null;
  readonly parentSessionId: SessionId | null;
  readonly sourceType: string | null;
  readonly sourceId: string | null;
  /** Ended on request, and not to be found until it is loaded again. */
  readonly closed: boolean;
  /** The session that a client gets who asks for this workspace without an id. */
  readonly shared: boolean;
  /** Admitted and without a verdict: after a crash the server goes on with them. */
  readonly pendingPrompts: number;
  /** The agent that it is set to; null in records of before there was this field. */
  readonly agent: string | null;
  /** The user who made it, where that is known. */
  readonly createdBy: UserId | null;
  /** The users who see it beside owners; null is the whole tenant. */
  readonly audience: Audience;
  readonly updatedAtMs: number;
}

/** One atomic write: everything in it becomes visible together, or nothing does. */
export interface Commit {
  /** Where the log must end for this commit, so that none goes through behind a refused one. */
  readonly afterEventId: number;
  /** The events as they are sent. They are numbered on from `afterEventId`. */
  readonly events: readonly string[];
  readonly record?: SessionRecord;
  readonly snapshot?: Snapshot;
  readonly journal: readonly JournalEntry[];
}

/** Moves the revision on by one. Its cost is that of the turn, not of the history. */
export interface Snapshot {
  /** The revision it is based on; another one in the store refuses it. */
  readonly expectedRevision: number;
  readonly manifest: Manifest;
  /** Appended to the conversation, as JSON texts. */
  readonly messages: readonly string[];
  /** Written whole; a slot that is not named here stays as it is. */
  readonly slots: readonly Slot[];
  readonly removedSlots: readonly string[];
  /** The turn that this commit ends, folded; its raw events may be trimmed one day. */
  readonly turn?: FoldedTurn;
  /** Raw events up to this id are not needed for reconnects any more; 0 keeps all. */
  readonly trimThrough: number;
}

export interface LogCut {
  /** The last event to be kept. */
  readonly lastEventId: number;
  readonly epoch: string;
  readonly audit: readonly JournalEntry[];
}

/** One event or message, as it is sent, under its number. */
export interface StoredText {
  readonly id: number;
  readonly text: string;
}

export interface FoldedTurn {
  readonly firstId: number;
  readonly lastId: number;
  /** A JSON array of the folded events. */
  readonly text: string;
}

/** Opaque state of one extension. Only its owner reads it. */
export interface Slot {
  readonly owner: string;
  /** Of the slot's shape, as its owner counts it. */
  readonly version: string;
  readonly payload: Uint8Array;
}

/** The slots that can be read, and the names of those that cannot. */
export interface SlotSet {
  readonly slots: readonly Slot[];
  readonly damagedSlots: readonly string[];
}

export interface Owned {
  readonly term: number;
  readonly revision: number;
}

export interface Committed {
  readonly revision: number;
  readonly lastEventId: number;
}

export interface StoredRecord extends SessionRecord {
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly term: number;
  readonly revision: number;
  readonly lastEventId: number;
  /** The last event that the snapshot has in it. */
  readonly snapshotEventId: number;
  /** The oldest raw event still there; lastEventId + 1 if there is none. */
  readonly earliestEventId: number;
  readonly messageCount: number;
  readonly turnCount: number;
  readonly createdAtMs: number;
  readonly holder: Holder | null;
}

export interface Opened extends SlotSet {
  readonly term: number;
  readonly record: StoredRecord;
  readonly manifest: Manifest;
  /** The holder before, if it did not release the session in good order. */
  readonly replaced: Holder | null;
}

export interface Range {
  readonly after: number;
  readonly limit: number;
}

export interface BackwardRange {
  readonly before: number;
  readonly limit: number;
}

/** As much as its limits allow, by rows and by bytes; but always one row, if there is one. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly more: boolean;
}

/** There is more if it does not reach the last event. */
export interface EventPage {
  readonly events: readonly StoredText[];
  readonly epoch: string;
  readonly earliestEventId: number;
  readonly lastEventId: number;
}

export interface ListFilter {
  readonly workspaceCwd?: string;
  readonly statuses?: readonly SessionState[];
  readonly parentSessionId?: SessionId;
  readonly sourceType?: string;
  readonly sourceId?: string;
  readonly name?: SessionName;
  readonly agent?: string;
  readonly closed?: boolean;
  readonly shared?: boolean;
  /** Whether any of its prompts waits for a verdict. */
  readonly hasPendingPrompts?: boolean;
  readonly updatedFromMs?: number;
  readonly updatedBeforeMs?: number;
  /** Made by this user; null is by an unknown one. */
  readonly createdBy?: UserId | null;
  /** Visible to this user, who is no owner; null is one without a name. */
  readonly visibleTo?: UserId | null;
  /** Found in the display name, in upper or lower case. */
  readonly text?: string;
}

export interface ListPage {
  readonly limit: number;
  /** From the page before; a stable position in the list, newest first. */
  readonly cursor: string | null;
}

export interface Listing {
  readonly sessions: readonly StoredRecord[];
  readonly nextCursor: string | null;
  /** Set aside and never deleted: what could not be read, and why. */
  readonly damaged: readonly { readonly sessionId: string; readonly reason: string }[];
}
