import type { SessionId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { excerptOf } from "../../core/search/excerpt.ts";
import { isBeginningOf, type SearchedMessage, searchedMessage } from "../../core/search/message.ts";
import { type DocumentQuery, type DocumentRow, type DocumentText, pageOf } from "../backend.ts";
import { type Position, trimmedThrough } from "../check.ts";
import type { Holder } from "../holder.ts";
import type { FoundRows, SearchPosition, SearchRange, SearchTerms } from "../search.ts";
import type * as S from "../store.ts";
import type { Manifest } from "../store.ts";

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
    const later = ofKind.filter(({ key }) => after === null || compareBytes(key, after) > 0);
    return pageOf(
      later.sort((a, b) => compareBytes(a.key, b.key)),
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
    const appended = this.append(entries);
    if (!appended.ok) return appended;
    const next = (this.#lastVersions.get(name) ?? 0) + 1;
    this.#lastVersions.set(name, next);
    if (text === null) this.#documents.delete(name);
    else this.#documents.set(name, { kind, key, version: next, text });
    return ok(next);
  }
}

/** One stored session, in memory. Changeable values are copied on their way in and out. */
export class MemorySession {
  readonly #sessionId: SessionId;
  #epoch: string;
  #term = 0;
  #holder: Holder | null = null;
  #manifest: Manifest;
  #record: S.SessionRecord;
  #revision = 0;
  #snapshotEventId = 0;
  #trimmedThrough = 0;
  #events: S.StoredText[] = [];
  readonly #turns: S.FoldedTurn[] = [];
  readonly #messages: string[] = [];
  readonly #slots = new Map<string, S.Slot>();

  constructor(sessionId: SessionId, { holder, manifest, record, epoch }: S.NewSession, term = 1) {
    this.#sessionId = sessionId;
    this.#epoch = epoch;
    this.#manifest = structuredClone(manifest);
    this.#record = structuredClone(record);
    this.own(holder, term);
  }

  get term(): number {
    return this.#term;
  }

  get holder(): Holder | null {
    return this.#holder;
  }

  get manifest(): Manifest {
    return structuredClone(this.#manifest);
  }

  get position(): Position {
    const lastEventId = this.#trimmedThrough + this.#events.length;
    return {
      lastEventId,
      snapshotEventId: this.#snapshotEventId,
      revision: this.#revision,
      slotBytes: new Map([...this.#slots].map(([owner, { payload }]) => [owner, payload.length])),
      manifest: this.#manifest,
    };
  }

  get record(): S.StoredRecord {
    return structuredClone({
      ...this.#record,
      sessionId: this.#sessionId,
      epoch: this.#epoch,
      term: this.#term,
      revision: this.#revision,
      lastEventId: this.position.lastEventId,
      snapshotEventId: this.#snapshotEventId,
      earliestEventId: this.#trimmedThrough + 1,
      messageCount: this.#messages.length,
      turnCount: this.#turns.length,
      createdAtMs: this.#manifest.createdAt,
      holder: this.#holder,
    });
  }

  own(holder: Holder, term = this.#term + 1) {
    this.#term = term;
    this.#holder = { ...holder };
  }

  release() {
    this.#holder = null;
  }

  cutLog({ lastEventId, epoch }: S.LogCut) {
    this.#events = this.#events.filter(({ id }) => id <= lastEventId);
    this.#epoch = epoch;
  }

  apply({ afterEventId, events, record, snapshot }: S.Commit) {
    for (const [index, text] of events.entries()) {
      this.#events.push({ id: afterEventId + index + 1, text });
    }
    if (record !== undefined) this.#record = structuredClone(record);
    if (snapshot === undefined) return;
    const { manifest, messages, slots, removedSlots, turn } = snapshot;
    this.#revision += 1;
    this.#manifest = structuredClone(manifest);
    for (const text of messages) this.#messages.push(text);
    for (const slot of slots) this.#slots.set(slot.owner, copy(slot));
    for (const owner of removedSlots) this.#slots.delete(owner);
    if (turn !== undefined) this.#turns.push({ ...turn });
    this.#snapshotEventId = this.position.lastEventId;
    const through = Math.max(this.#trimmedThrough, trimmedThrough(snapshot, this.#snapshotEventId));
    this.#events = this.#events.filter(({ id }) => id > through);
    this.#trimmedThrough = through;
  }

  readEvents({ after, limit }: S.Range): S.EventPage {
    const from = Math.max(0, after - this.#trimmedThrough);
    return {
      events: pageOf(this.#events.slice(from), limit).rows,
      epoch: this.#epoch,
      earliestEventId: this.#trimmedThrough + 1,
      lastEventId: this.position.lastEventId,
    };
  }

  readTurns({ before, limit }: S.BackwardRange): S.Page<S.FoldedTurn> {
    const older = this.#turns.filter(({ lastId }) => lastId < before);
    return pageOf(older.reverse(), limit);
  }

  readMessages({ after, limit }: S.Range): S.Page<S.StoredText> {
    const later = this.#messages.slice(after);
    return pageOf(
      later.map((text, index) => ({ id: after + index + 1, text })),
      limit,
    );
  }

  /** What is searched of it: its messages, and its title under the number 0. */
  *searched(): Generator<readonly [messageId: number, message: SearchedMessage]> {
    const { displayName: text, updatedAtMs: atMs } = this.#record;
    if (text !== null) yield [0, { role: "title", text, turnId: null, atMs }];
    for (const [index, text] of this.#messages.entries()) {
      const message = searchedMessage(text);
      if (message !== null) yield [index + 1, message];
    }
  }

  readSlots(): S.SlotSet {
    return { slots: [...this.#slots.values()].map(copy), damagedSlots: [] };
  }
}

/** By the bytes in UTF-8, as databases do: JavaScript would compare halves of characters. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function copy({ owner, version, payload }: S.Slot): S.Slot {
  return { owner, version, payload: Uint8Array.from(payload) };
}

type PlacedHit = FoundRows["hits"][number];

/**
 * A search without an index: everything is read. A position is a time, and of what has the same
 * time how much was found before.
 */
export function foundIn(
  sessions: readonly MemorySession[],
  { sought }: SearchTerms,
  { limit, after }: SearchRange,
): FoundRows {
  const all: Omit<PlacedHit, "position">[] = [];
  for (const session of sessions) {
    const { record } = session;
    const messages = [...session.searched()];
    for (const [messageId, { role, text, turnId, atMs }] of messages) {
      const excerpt = excerptOf(text, sought);
      const [, first] = messages.find(([id]) => id === 1) ?? [];
      const isTwice = role === "title" && first !== undefined && isBeginningOf(text, first.text);
      if (excerpt === null || isTwice) continue;
      all.push({ session: record, role, messageId, turnId, atMs, excerpt });
    }
  }
  const hits = placed(all.toSorted((a, b) => b.atMs - a.atMs));
  const later = hits.filter(({ position }) => after === null || isAfter(position, after));
  const last = later.length > limit ? later[limit - 1] : undefined;
  return {
    hits: later.slice(0, limit),
    continuesAfter: last?.position ?? null,
    isIndexing: false,
  };
}

function placed(hits: readonly Omit<PlacedHit, "position">[]): readonly PlacedHit[] {
  const counts = new Map<number, number>();
  return hits.map((hit) => {
    const count = counts.get(hit.atMs) ?? 0;
    counts.set(hit.atMs, count + 1);
    return { ...hit, position: [hit.atMs, count] };
  });
}

function isAfter([atMs, count]: SearchPosition, [ms, number]: SearchPosition): boolean {
  return atMs < ms || (atMs === ms && count > number);
}
