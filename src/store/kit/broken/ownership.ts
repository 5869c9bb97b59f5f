import type { SessionStore } from "../../store.ts";
import { altered } from "./altered.ts";

/** Stores that let in whom they should not. */

/** Writes for whoever comes, under the term of whoever owns it. */
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

/** Says that a revision has moved, and takes whatever is based on the one before. */
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

/** Gives a session to the next who asks, whoever has it. */
export function stealsSessions(): SessionStore {
  return altered((store) => ({
    async open(key, holder, audit) {
      const record = await store.readRecord(key);
      if (record.ok) await store.close(key, record.value.term);
      return store.open(key, holder, audit);
    },
  }));
}
