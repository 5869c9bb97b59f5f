import type { SessionKey, SessionStore } from "../../store.ts";
import { entry } from "../sample.ts";
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

/** Appends at the end, wherever the commit wanted to go. */
export function ignoresPlaces(): SessionStore {
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

/** Thinks that nobody needs to know, and makes an entry up where one is asked for. */
export function seizesInSilence(): SessionStore {
  return altered((store) => ({
    seize: (key, holder) => store.seize(key, holder, [entry("seized")]),
  }));
}
