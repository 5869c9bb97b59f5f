import { ok, type Result } from "../../../core/result.ts";
import type {
  Commit,
  Manifest,
  Owned,
  SessionKey,
  SessionStore,
  StoredRecord,
} from "../../store.ts";
import { altered } from "./altered.ts";

/** Stores that say something wrong of a session: its row, its times, its answers. */

/** Keeps the rows of lists beside the records, and renews them only with events or snapshots. */
export function listsOldRows(): SessionStore {
  const rows = new Map<string, StoredRecord>();
  const bringsOnlyRecord = ({ events, snapshot, record }: Commit) =>
    record !== undefined && events.length === 0 && snapshot === undefined;
  return altered((store) => ({
    async commit(key, term, commit) {
      const before = await store.readRecord(key);
      const written = await store.commit(key, term, commit);
      const name = JSON.stringify(key);
      if (written.ok && before.ok && bringsOnlyRecord(commit)) rows.set(name, before.value);
      else if (written.ok) rows.delete(name);
      return written;
    },
    list: (tenantId, filter, page) =>
      listedWith(store.list(tenantId, filter, page), (record) => {
        return rows.get(JSON.stringify({ tenantId, sessionId: record.sessionId })) ?? record;
      }),
  }));
}

/** Finds sessions by the names that they were made with. */
export function findsFirstNames(): SessionStore {
  const first = new Map<string, string | null>();
  return altered((store) => ({
    create(key, session) {
      first.set(key.sessionId, session.record.name);
      return store.create(key, session);
    },
    async list(tenantId, { name, ...filter }, page) {
      const listed = await store.list(tenantId, filter, page);
      if (!listed.ok || name === undefined) return listed;
      const isIt = ({ sessionId }: StoredRecord) => first.get(sessionId) === name;
      return ok({ ...listed.value, sessions: listed.value.sessions.filter(isIt) });
    },
  }));
}

/** Takes the time of the last change for the time at which a session was made, in lists only. */
export function listsWrongCreation(): SessionStore {
  return altered((store) => ({
    list: (tenantId, filter, page) =>
      listedWith(store.list(tenantId, filter, page), (record) => {
        return { ...record, createdAtMs: record.updatedAtMs };
      }),
  }));
}

async function listedWith(
  listing: ReturnType<SessionStore["list"]>,
  change: (record: StoredRecord) => StoredRecord,
): ReturnType<SessionStore["list"]> {
  const listed = await listing;
  if (!listed.ok) return listed;
  return ok({ ...listed.value, sessions: listed.value.sessions.map(change) });
}

/** Takes the manifest's time for that of the record, which orders lists. */
export function mixesUpTimes(): SessionStore {
  return altered((store) => ({
    commit(key, term, commit) {
      const { record, snapshot } = commit;
      if (record === undefined || snapshot === undefined) return store.commit(key, term, commit);
      const updatedAtMs = snapshot.manifest.updatedAt;
      return store.commit(key, term, { ...commit, record: { ...record, updatedAtMs } });
    },
  }));
}

/** Writes the state machine of a session with its first snapshot, and leaves it out of others. */
export function losesStateMachines(): SessionStore {
  const without = (manifest: Manifest, revision: number): Manifest => {
    const { smState: _, ...rest } = manifest;
    return revision < 2 ? manifest : rest;
  };
  return altered((store) => ({
    async readManifest(key) {
      const manifest = await store.readManifest(key);
      const record = await store.readRecord(key);
      if (!manifest.ok || !record.ok) return manifest;
      return ok(without(manifest.value, record.value.revision));
    },
    async open(key, holder, audit) {
      const opened = await store.open(key, holder, audit);
      if (!opened.ok) return opened;
      const { manifest, record } = opened.value;
      return ok({ ...opened.value, manifest: without(manifest, record.revision) });
    },
  }));
}

/** Counts the events of a commit, where it should say at which event the log ends. */
export function answersWithoutPosition(): SessionStore {
  return altered((store) => ({
    async commit(key, term, commit) {
      const written = await store.commit(key, term, commit);
      if (!written.ok || commit.events.length > 0) return written;
      return ok({ ...written.value, lastEventId: 0 });
    },
  }));
}

/** Gives what comes at one moment for one id the same answer, so that two callers made it. */
export function createsTwice(): SessionStore {
  const making = new Map<string, Promise<Result<Owned>>>();
  return altered((store) => ({
    create(key, session) {
      const name = JSON.stringify(key);
      const made = making.get(name);
      if (made !== undefined) return made;
      const creating = store.create(key, session).finally(() => making.delete(name));
      making.set(name, creating);
      return creating;
    },
  }));
}

/** Lets any term write a record, as long as it brings nothing else. */
export function fencesNoRecords(): SessionStore {
  return altered((store) => ({
    async commit(key, term, commit) {
      const { events, record, snapshot, journal } = commit;
      const isBare = events.length === 0 && snapshot === undefined && journal.length === 0;
      const stored = await store.readRecord(key);
      if (record === undefined || !isBare || !stored.ok) return store.commit(key, term, commit);
      return store.commit(key, stored.value.term, commit);
    },
  }));
}

/** Answers what it has read once, even after it has been deactivated. */
export function readsWhatItRemembers(): SessionStore {
  const records = new Map<string, Result<StoredRecord>>();
  let isOver = false;
  return altered((store) => ({
    async readRecord(key: SessionKey) {
      const name = JSON.stringify(key);
      const remembered = records.get(name);
      if (isOver && remembered !== undefined) return remembered;
      const read = await store.readRecord(key);
      if (read.ok) records.set(name, read);
      return read;
    },
    deactivate() {
      isOver = true;
      return store.deactivate();
    },
  }));
}
