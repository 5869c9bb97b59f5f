import { DONE } from "../../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store.ts";
import { holder } from "../sample.ts";
import { altered } from "./altered.ts";

/** Stores that remove too little of a tenant, too much, or for whoever asks. */

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

/** Does not ask whether anybody is still at work in it. */
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

/** Writes down that somebody came, even if there was nothing to do. */
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
