import { DONE, fail, ok } from "../../../core/result.ts";
import type { NewSession, SessionKey, SessionStore, StoredRecord } from "../../store.ts";
import { entry, holder, sessionId } from "../sample.ts";
import { altered } from "./altered.ts";

/** Stores that take one for the other, or answer in a way that callers cannot rely on. */

/** As a directory on a disk would that does not tell upper from lower case. */
export function mapsTwoIdsToOneKey(): SessionStore {
  const lower = (key: SessionKey): SessionKey => ({
    ...key,
    sessionId: sessionId(`${key.sessionId}`.toLowerCase()),
  });
  const moved = (key: SessionKey, session: NewSession): NewSession => {
    const own = session.manifest.sessionId === key.sessionId;
    const manifest = { ...session.manifest, sessionId: lower(key).sessionId };
    return own ? { ...session, manifest } : session;
  };
  return altered((store) => ({
    create: (key, session) => store.create(lower(key), moved(key, session)),
    readRecord: (key) => store.readRecord(lower(key)),
    readManifest: (key) => store.readManifest(lower(key)),
    readEvents: (key, range) => store.readEvents(lower(key), range),
    readTurns: (key, range) => store.readTurns(lower(key), range),
    readMessages: (key, range) => store.readMessages(lower(key), range),
    readSlots: (key) => store.readSlots(lower(key)),
  }));
}

/** Takes journal keys that differ in case for one, where they come without a commit. */
export function foldsJournalKeys(): SessionStore {
  return altered((store) => ({
    appendJournal: (tenantId, entries) =>
      store.appendJournal(
        tenantId,
        entries.map((one) => ({ ...one, key: `${one.key}`.toLowerCase() })),
      ),
  }));
}

/** Stamps each manifest that it is given with its own name. */
export function acceptsForeignStoreIds(): SessionStore {
  return altered((store) => {
    const { storeId } = store.contract;
    return {
      create: (key, session) =>
        store.create(key, { ...session, manifest: { ...session.manifest, storeId } }),
      commit: (key, term, commit) => {
        const { snapshot, ...rest } = commit;
        if (!snapshot) return store.commit(key, term, commit);
        const manifest = { ...snapshot.manifest, storeId };
        return store.commit(key, term, { ...rest, snapshot: { ...snapshot, manifest } });
      },
    };
  });
}

/** Lists every tenant's sessions to each tenant. */
export function leaksAcrossTenants(): SessionStore {
  return altered((store) => ({
    async list(tenantId, filter, page) {
      const own = await store.list(tenantId, filter, page);
      const tenants = await store.tenants();
      if (!own.ok || !tenants.ok) return own;
      const sessions: StoredRecord[] = [...own.value.sessions];
      for (const other of tenants.value.filter((tenant) => tenant !== tenantId)) {
        const listed = await store.list(other, filter, { ...page, cursor: null });
        if (listed.ok) sessions.push(...listed.value.sessions);
      }
      return ok({ ...own.value, sessions });
    },
  }));
}

/** Lists private sessions to every user of their tenant. */
export function listsWhatIsPrivate(): SessionStore {
  return altered((store) => ({
    async list(tenantId, filter, page) {
      const { visibleTo: _, ...rest } = filter;
      return store.list(tenantId, rest, page);
    },
  }));
}

/** Takes private sessions out of a page that it has read, so that pages have holes. */
export function filtersAfterPaging(): SessionStore {
  return altered((store) => ({
    async list(tenantId, filter, page) {
      const { visibleTo, ...rest } = filter;
      const listed = await store.list(tenantId, rest, page);
      if (!listed.ok || visibleTo === undefined) return listed;
      const sessions = listed.value.sessions.filter(({ audience }) => {
        return audience === null || (visibleTo !== null && audience.includes(visibleTo));
      });
      return ok({ ...listed.value, sessions });
    },
  }));
}

/** Hands out what it keeps, so that callers can change it. */
export function sharesWhatItKeeps(): SessionStore {
  const kept = new Map<string, Awaited<ReturnType<SessionStore["readSlots"]>>>();
  return altered((store) => ({
    commit(key, term, commit) {
      kept.delete(JSON.stringify(key));
      return store.commit(key, term, commit);
    },
    async readSlots(key) {
      const name = JSON.stringify(key);
      const slots = kept.get(name) ?? (await store.readSlots(key));
      if (slots.ok) kept.set(name, slots);
      return slots;
    },
  }));
}

/** Answers with a value when all is well, and otherwise not at all. */
export function throwsRaw(): SessionStore {
  return altered((store) => ({
    async commit(key, term, commit) {
      const result = await store.commit(key, term, commit);
      if (!result.ok) throw new Error(result.refusal.code);
      return result;
    },
  }));
}

/** Counts rows for its pages, so that they slip when a row is added or taken. */
export function pagesByCounting(): SessionStore {
  return altered((store) => ({
    async list(tenantId, filter, { limit, cursor }) {
      const whole = await store.list(tenantId, filter, { limit: 1_000, cursor: null });
      if (!whole.ok) return whole;
      const from = Number(cursor ?? 0);
      const sessions = whole.value.sessions.slice(from, from + limit);
      const more = from + limit < whole.value.sessions.length;
      return ok({ ...whole.value, sessions, nextCursor: more ? `${from + limit}` : null });
    },
  }));
}

/** Stores that let in whom they should not. */

/** Writes for any caller, under the term of the present owner. */
export function ignoresFencing(): SessionStore {
  return altered((store) => ({
    async commit(key, _, commit) {
      const record = await store.readRecord(key);
      if (!record.ok) return record;
      const { holder, term } = record.value;
      if (holder !== null) return store.commit(key, term, commit);
      const somebody = { host: "", bootId: "", pid: 0, startedAt: "", label: "" };
      const opened = await store.open(key, somebody, []);
      if (!opened.ok) return opened;
      const committed = await store.commit(key, opened.value.term, commit);
      await store.close(key, opened.value.term);
      return committed;
    },
  }));
}

/** Says that a revision has moved, and takes commits that are based on the one before. */
export function takesStaleRevisions(): SessionStore {
  return altered((store) => ({
    async commit(key, term, commit) {
      const { snapshot, ...rest } = commit;
      const record = await store.readRecord(key);
      if (snapshot === undefined || !record.ok) return store.commit(key, term, commit);
      const expectedRevision = record.value.revision;
      return store.commit(key, term, { ...rest, snapshot: { ...snapshot, expectedRevision } });
    },
  }));
}

/** Gives a session to the next who asks, also while another process has it. */
export function stealsSessions(): SessionStore {
  return altered((store) => ({
    async open(key, holder, audit) {
      const record = await store.readRecord(key);
      if (record.ok) await store.close(key, record.value.term);
      return store.open(key, holder, audit);
    },
  }));
}

/** Appends at the end, wherever the commit wanted to go. */
export function ignoresLogEnd(): SessionStore {
  return altered((store) => ({
    async commit(key, term, commit) {
      const record = await store.readRecord(key);
      const afterEventId = record.ok ? record.value.lastEventId : commit.afterEventId;
      return store.commit(key, term, { ...commit, afterEventId });
    },
  }));
}

/** Takes one who opens a session twice for one writer, whose terms are all the same. */
export function letsOlderTermsWrite(): SessionStore {
  const newest = new Map<string, number>();
  return altered((store) => ({
    async open(key, holder, audit) {
      const before = await store.readRecord(key);
      const opened = await store.open(key, holder, audit);
      if (before.ok && opened.ok && before.value.holder?.label === holder.label) {
        newest.set(nameOf(key, before.value.term), opened.value.term);
      }
      return opened;
    },
    commit: (key, term, commit) => store.commit(key, newest.get(nameOf(key, term)) ?? term, commit),
  }));
}

const nameOf = (key: SessionKey, term: number) => JSON.stringify([key, term]);

/** Asks who holds a session, and deletes it in that name. */
export function deletesForAnybody(): SessionStore {
  return altered((store) => ({
    async delete(key, holder, audit) {
      const record = await store.readRecord(key);
      const holding = record.ok ? record.value.holder : null;
      return store.delete(key, holding ?? holder, audit);
    },
  }));
}

/** Takes no entry for the audit, and makes one up where the contract needs one. */
export function seizesInSilence(): SessionStore {
  return altered((store) => ({
    seize: (key, holder) => store.seize(key, holder, [entry("seized")]),
  }));
}

/** Stores that remove too little of a tenant, too much, or for any caller. */

/** Takes a tenant for its sessions, and leaves the rest of it behind. */
export function removesOnlySessions(): SessionStore {
  return altered((store) => ({
    async removeTenant(tenantId, by) {
      const listed = await store.list(tenantId, {}, { limit: 1_000, cursor: null });
      if (!listed.ok) return listed;
      for (const { sessionId } of listed.value.sessions) {
        const deleted = await store.delete({ tenantId, sessionId }, by, []);
        if (!deleted.ok) return deleted;
      }
      return DONE;
    },
  }));
}

/** Clears the whole house where one has moved out. */
export function removesNeighbours(): SessionStore {
  return altered((store) => ({
    async removeTenant(tenantId, by) {
      const removed = await store.removeTenant(tenantId, by);
      const others = await store.tenants();
      if (!removed.ok || !others.ok) return removed;
      for (const other of others.value) await store.removeTenant(other, by);
      return removed;
    },
  }));
}

/** Does not check whether a process still holds its sessions. */
export function removesForAnybody(): SessionStore {
  return altered((store) => ({
    async removeTenant(tenantId, by) {
      const listed = await store.list(tenantId, {}, { limit: 1_000, cursor: null });
      if (!listed.ok) return listed;
      for (const { sessionId, term } of listed.value.sessions) {
        await store.close({ tenantId, sessionId }, term);
      }
      return store.removeTenant(tenantId, by);
    },
  }));
}

/** Counts its terms from 1 again in a tenant that is made anew. */
export function countsTermsAnew(): SessionStore {
  const given = new Map<string, number>();
  const base = new Map<string, number>();
  const baseOf = ({ tenantId }: SessionKey) => base.get(tenantId) ?? 0;
  return altered((store) => ({
    async create(key, session) {
      const made = await store.create(key, session);
      if (!made.ok) return made;
      given.set(key.tenantId, made.value.term);
      return { ok: true, value: { ...made.value, term: made.value.term - baseOf(key) } };
    },
    async readRecord(key) {
      const record = await store.readRecord(key);
      if (!record.ok) return record;
      return { ok: true, value: { ...record.value, term: record.value.term - baseOf(key) } };
    },
    commit: (key, term, commit) => store.commit(key, term + baseOf(key), commit),
    close: (key, term) => store.close(key, term + baseOf(key)),
    async removeTenant(tenantId, by) {
      const removed = await store.removeTenant(tenantId, by);
      if (removed.ok) base.set(tenantId, given.get(tenantId) ?? 0);
      return removed;
    },
  }));
}

/** Makes the tenant even if there was nothing to write. */
export function revivesTenants(): SessionStore {
  return altered((store) => ({
    async close(key, term) {
      const closed = await store.close(key, term);
      const known = await store.readRecord(key);
      if (!known.ok) await store.writeBlob(key.tenantId, new TextEncoder().encode(holder().label));
      return closed;
    },
  }));
}

/** Finds what is private. */
export function findsWhatIsPrivate(): SessionStore {
  return altered((store) => ({
    async search(tenantId, { query, filter }, page) {
      const { visibleTo: _, ...rest } = filter;
      return (await store.search?.(tenantId, { query, filter: rest }, page)) ?? NOT_FOUND;
    },
  }));
}

/** Takes private hits out of a page that it has found, so that its cursor tells of them. */
export function hidesAfterPaging(): SessionStore {
  return altered((store) => ({
    async search(tenantId, { query, filter }, page) {
      const { visibleTo, ...rest } = filter;
      const found = await store.search?.(tenantId, { query, filter: rest }, page);
      if (!found?.ok || visibleTo === undefined) return found ?? NOT_FOUND;
      const hits = found.value.hits.filter(({ session: { audience } }) => {
        return audience === null || (visibleTo !== null && audience.includes(visibleTo));
      });
      return { ok: true, value: { ...found.value, hits } };
    },
  }));
}

const NOT_FOUND = fail("search_unavailable");
