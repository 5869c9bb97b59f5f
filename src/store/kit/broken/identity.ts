import { ok } from "../../../core/result.ts";
import type { NewSession, SessionKey, SessionStore, StoredRecord } from "../../store.ts";
import { sessionId } from "../sample.ts";
import { altered } from "./altered.ts";

/** Stores that take one for the other, or answer in a way that nobody can rely on. */

/** As a directory on a disk would that does not tell upper from lower case. */
export function mapsTwoIdsToOnePlace(): SessionStore {
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

/** Stamps whatever it is given with its own name. */
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

/** Lists every tenant's sessions to everybody. */
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

/** Hands out what it keeps, for anybody to change. */
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
