import type { SessionId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { Range } from "./store.ts";

/** What a tenant has beside its sessions: journals that outlive them, and small documents. */

export type JournalName = "audit" | "ledger";

export interface JournalEntry {
  readonly journal: JournalName;
  readonly key: string;
  readonly sessionId: SessionId | null;
  readonly atMs: number;
  readonly text: string;
}

export interface JournalRow extends JournalEntry {
  /** Counts the entries of the tenant's journal, from 1. */
  readonly seq: number;
}

export interface JournalQuery extends Range {
  readonly journal: JournalName;
  readonly sessionId?: SessionId;
  readonly key?: string;
}

export interface Document {
  readonly kind: string;
  readonly key: string;
  readonly version: number;
  readonly value: JsonObject;
}

export interface DocumentWrite {
  readonly kind: string;
  readonly key: string;
  readonly expectedVersion: number;
  /** Null deletes it. */
  readonly value: JsonObject | null;
  /** Entries for the tenant's journals about it; checked and bounded as in `appendJournal`. */
  readonly entries?: readonly JournalEntry[];
}
