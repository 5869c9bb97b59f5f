import type { SessionId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { DocumentQuery, DocumentRow, DocumentText } from "../backend.ts";
import { pageOf } from "../page.ts";
import type * as S from "../store.ts";
import type { MemorySession } from "./session.ts";

/** What belongs to one tenant beside its sessions, and outlives them. */
export class MemoryTenant {
  readonly sessions = new Map<SessionId, MemorySession>();
  readonly blobs = new Map<string, Uint8Array>();
  readonly #journal: S.JournalRow[] = [];
  readonly #lastEntries = new Map<S.JournalName, number>();
  readonly #keys = new Map<string, string>();
  readonly #documents = new Map<string, DocumentRow>();
  /** Of deleted documents too: their versions are not used again. */
  readonly #lastVersions = new Map<string, number>();

  /** All of them or none. */
  append(entries: readonly S.JournalEntry[]): Result<void> {
    const brought = new Map<string, string>();
    for (const { journal, key, text } of entries) {
      const name = `${journal} ${key}`;
      const known = this.#keys.get(name) ?? brought.get(name);
      if (known !== undefined && known !== text) return fail("journal_conflict", { journal, key });
      brought.set(name, text);
    }
    for (const entry of entries) {
      const name = `${entry.journal} ${entry.key}`;
      if (this.#keys.has(name)) continue;
      this.#keys.set(name, entry.text);
      const seq = (this.#lastEntries.get(entry.journal) ?? 0) + 1;
      this.#lastEntries.set(entry.journal, seq);
      this.#journal.push({ ...entry, seq });
    }
    return DONE;
  }

  readJournal(query: S.JournalQuery): S.Page<S.JournalRow> {
    const { journal, sessionId, key, after, limit } = query;
    const found = this.#journal
      .filter((row) => row.journal === journal && row.seq > after)
      .filter((row) => sessionId === undefined || row.sessionId === sessionId)
      .filter((row) => key === undefined || row.key === key);
    return pageOf(found, limit);
  }

  readDocuments(query: DocumentQuery): S.Page<DocumentRow> {
    const ofKind = [...this.#documents.values()].filter(({ kind }) => kind === query.kind);
    if ("key" in query) {
      return pageOf(
        ofKind.filter(({ key }) => key === query.key),
        1,
      );
    }
    const { after, limit } = query;
    const later = ofKind.filter(({ key }) => after === null || key > after);
    return pageOf(
      later.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))),
      limit,
    );
  }

  /** With the entries that tell of it, or not at all. */
  writeDocument({ kind, key, expectedVersion, text, entries }: DocumentText): Result<number> {
    const name = JSON.stringify([kind, key]);
    const version = this.#documents.get(name)?.version ?? 0;
    if (version !== expectedVersion) {
      return fail("document_conflict", { version, expected: expectedVersion });
    }
    const told = this.append(entries);
    if (!told.ok) return told;
    const next = (this.#lastVersions.get(name) ?? 0) + 1;
    this.#lastVersions.set(name, next);
    if (text === null) this.#documents.delete(name);
    else this.#documents.set(name, { kind, key, version: next, text });
    return ok(next);
  }
}
