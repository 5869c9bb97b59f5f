import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PAGE_ROWS_MAX } from "../../../core/limits.ts";
import { ok, type Result } from "../../../core/result.ts";
import type { Commit, Committed, Page, SessionStore } from "../../store.ts";
import { altered } from "./altered.ts";

/** Stores that lose something. Each is wrong in one way only. */

export function dropsSlots(): SessionStore {
  return altered((store) => ({
    commit: (key, term, { snapshot, ...rest }) =>
      store.commit(key, term, {
        ...rest,
        ...(snapshot && { snapshot: { ...snapshot, slots: [] } }),
      }),
  }));
}

/** Writes the events first and the rest after them, so that the rest may be missing. */
export function commitsHalf(): SessionStore {
  return altered((store) => ({
    async commit(key, term, commit) {
      const { afterEventId, events, ...rest } = commit;
      const first = await store.commit(key, term, { afterEventId, events, journal: [] });
      if (!first.ok) return first;
      const { lastEventId } = first.value;
      return store.commit(key, term, { ...rest, events: [], afterEventId: lastEventId });
    },
  }));
}

/** Says that an append is there, and writes it with the next one. */
export function losesLastAppend(): SessionStore {
  const held = new Map<string, readonly string[]>();
  return altered((store) => ({
    async commit(key, term, commit) {
      const name = JSON.stringify(key);
      const waiting = held.get(name) ?? [];
      const afterEventId = commit.afterEventId - waiting.length;
      const events = [...waiting, ...commit.events];
      if (commit.snapshot !== undefined || commit.events.length === 0) {
        held.delete(name);
        return store.commit(key, term, { ...commit, afterEventId, events });
      }
      const written = await store.commit(key, term, { ...commit, afterEventId, events: waiting });
      if (!written.ok) return written;
      held.set(name, commit.events);
      const lastEventId = commit.afterEventId + commit.events.length;
      return ok({ ...written.value, lastEventId });
    },
  }));
}

/** Takes a trim at its word, also where it speaks of events that are yet to come. */
export function trimsPastTheSnapshot(): SessionStore {
  const trimmed = new Map<string, number>();
  return altered((store) => ({
    async commit(key, term, commit) {
      const result = await store.commit(key, term, commit);
      const through = commit.snapshot?.trimThrough ?? 0;
      const name = JSON.stringify(key);
      if (result.ok) trimmed.set(name, Math.max(through, trimmed.get(name) ?? 0));
      return result;
    },
    async readEvents(key, range) {
      const page = await store.readEvents(key, range);
      if (!page.ok) return page;
      const through = trimmed.get(JSON.stringify(key)) ?? 0;
      return ok({ ...page.value, events: page.value.events.filter(({ id }) => id > through) });
    },
  }));
}

/** Takes the journal for a part of the session. */
export function forgetsJournals(): SessionStore {
  const gone = new Set<string | null>();
  return altered((store) => ({
    async delete(key, holder, audit) {
      const deleted = await store.delete(key, holder, audit);
      if (deleted.ok) gone.add(key.sessionId);
      return deleted;
    },
    async readJournal(tenantId, query) {
      const page = await store.readJournal(tenantId, query);
      if (!page.ok) return page;
      const rows = page.value.rows.filter(({ sessionId }) => !gone.has(sessionId));
      return ok({ ...page.value, rows });
    },
  }));
}

/** Does what it is told, and writes nothing of it down. */
export function keepsNoAudit(): SessionStore {
  const bare = (commit: Commit): Commit => ({ ...commit, journal: [] });
  return altered((store) => ({
    create: (key, session) => store.create(key, { ...session, commit: bare(session.commit) }),
    open: (key, holder) => store.open(key, holder, []),
    commit: (key, term, commit) => store.commit(key, term, bare(commit)),
    delete: (key, holder) => store.delete(key, holder, []),
  }));
}

/** Puts what comes at one moment into one transaction, which a single refusal undoes for all. */
export function failsTogether(): SessionStore {
  let group: Promise<Result<Committed>>[] = [];
  return altered((store) => ({
    async commit(key, term, commit) {
      const own = store.commit(key, term, commit);
      const together = group;
      together.push(own);
      queueMicrotask(() => {
        group = [];
      });
      const results = await Promise.all(together);
      return results.find((result) => !result.ok) ?? own;
    },
  }));
}

/** Takes an earlier end for the whole of a cut: a client that has read on does not learn of it. */
export function keepsEpochs(): SessionStore {
  return altered((store) => ({
    async cutLog(key, term, cut) {
      const record = await store.readRecord(key);
      return store.cutLog(key, term, { ...cut, epoch: record.ok ? record.value.epoch : cut.epoch });
    },
  }));
}

/** Believes that a page which has fewer rows than it was asked for is the last one. */
export function endsPagesEarly(): SessionStore {
  const ended = <Row>(result: Result<Page<Row>>, limit: number): Result<Page<Row>> => {
    if (!result.ok) return result;
    const { rows, more } = result.value;
    return ok({ rows, more: more && rows.length >= limit });
  };
  return altered((store) => ({
    readMessages: async (key, range) => ended(await store.readMessages(key, range), range.limit),
    readTurns: async (key, range) => ended(await store.readTurns(key, range), range.limit),
    readJournal: async (key, query) => ended(await store.readJournal(key, query), query.limit),
    listDocuments: async (tenantId, kind, after) =>
      ended(await store.listDocuments(tenantId, kind, after), PAGE_ROWS_MAX),
  }));
}

/** Sorts documents by the bytes of their keys, and finds its place among them by UTF-16. */
export function losesDocumentsBetweenPages(): SessionStore {
  return altered((store) => ({
    async listDocuments(tenantId, kind, after) {
      const all = await store.listDocuments(tenantId, kind, null);
      if (!all.ok) return all;
      const rows = all.value.rows.filter(({ key }) => after === null || key > after);
      return after === null ? all : ok({ ...all.value, rows });
    },
  }));
}

/** Tells of a document first and writes it after that: what is refused has been told then. */
export function tellsBeforeItWrites(): SessionStore {
  return altered((store) => ({
    async writeDocument(tenantId, { entries, ...document }) {
      const told = entries && (await store.appendJournal(tenantId, entries));
      return told?.ok === false ? told : store.writeDocument(tenantId, document);
    },
  }));
}

/** The other way round: what cannot be told has happened then. */
export function tellsAfterItHasWritten(): SessionStore {
  return altered((store) => ({
    async writeDocument(tenantId, { entries, ...document }) {
      const written = await store.writeDocument(tenantId, document);
      if (!written.ok || !entries) return written;
      const told = await store.appendJournal(tenantId, entries);
      return told.ok ? written : told;
    },
  }));
}

/**
 * Keeps a diary that all users can read, secrets included, and beside its directory too. It never
 * closes what it has opened; the caller finds the numbers in `handles`.
 */
export function litters(root: () => string, handles: number[]): SessionStore {
  return altered((store) => ({
    async init(host, config) {
      const diary = join(root(), "diary.log");
      mkdirSync(root(), { recursive: true, mode: 0o700 });
      writeFileSync(diary, `the password is ${host.env.get("PASSWORD")}`, { mode: 0o644 });
      writeFileSync(join(dirname(root()), "beside.log"), "");
      handles.push(openSync(diary, "r"));
      return store.init(host, config);
    },
  }));
}
