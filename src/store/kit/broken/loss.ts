import { ok, type Result } from "../../result.ts";
import type { Commit, Committed, SessionStore, StoredText } from "../../store.ts";
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
      const { events, ...rest } = commit;
      const first = await store.commit(key, term, { events, journal: [] });
      return first.ok ? store.commit(key, term, { ...rest, events: [] }) : first;
    },
  }));
}

/** Says that an append is there, and writes it with the next one. */
export function losesLastAppend(): SessionStore {
  const held = new Map<string, readonly StoredText[]>();
  return altered((store) => ({
    async commit(key, term, commit) {
      const name = JSON.stringify(key);
      const waiting = held.get(name) ?? [];
      const events = [...waiting, ...commit.events];
      if (commit.snapshot !== undefined || commit.events.length === 0) {
        held.delete(name);
        return store.commit(key, term, { ...commit, events });
      }
      const written = await store.commit(key, term, { ...commit, events: waiting });
      if (!written.ok) return written;
      held.set(name, commit.events);
      return ok({ ...written.value, lastEventId: commit.events.at(-1)?.id ?? 0 });
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
    async delete(key, audit) {
      const deleted = await store.delete(key, audit);
      if (deleted.ok) gone.add(key.sessionId);
      return deleted;
    },
    async readJournal(tenantId, query) {
      const rows = await store.readJournal(tenantId, query);
      return rows.ok ? ok(rows.value.filter(({ sessionId }) => !gone.has(sessionId))) : rows;
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
    delete: (key) => store.delete(key, []),
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
