import type { TenantId } from "../../../core/id.ts";
import { fail, ok } from "../../../core/result.ts";
import { failpoint } from "../../failpoint.ts";
import { describeHolder, type Holder } from "../../holder.ts";
import type * as S from "../../store.ts";
import { replaced } from "../broken/altered.ts";

/** Stores that are wrong in ways which only a crash shows, or only another process. */

/** Where the next store has given an answer, and has written nothing. */
export const AFTER_EARLY_ANSWER = "unsafe-after-early-answer";

/** Says that a snapshot is safe, and then begins to write it. */
export function answersEarly(inner: S.SessionStore): S.SessionStore {
  const later = <Value>(act: () => Promise<Value>): Promise<Value> =>
    new Promise((resolve) => setImmediate(() => resolve(act())));
  return replaced(inner, {
    commit: async (key, term, commit) => {
      const { afterEventId, events, snapshot } = commit;
      const lastEventId = afterEventId + events.length;
      const isEarly = events.length > 0 && snapshot !== undefined;
      const pending = later(() => {
        if (isEarly) failpoint(AFTER_EARLY_ANSWER);
        return inner.commit(key, term, commit);
      });
      return isEarly ? ok({ revision: snapshot.expectedRevision + 1, lastEventId }) : pending;
    },
    open: (key, holder, audit) => later(() => inner.open(key, holder, audit)),
    seize: (key, holder, audit) => later(() => inner.seize(key, holder, audit)),
    cutLog: (key, term, cut) => later(() => inner.cutLog(key, term, cut)),
    close: (key, term) => later(() => inner.close(key, term)),
    delete: (key, holder, audit) => later(() => inner.delete(key, holder, audit)),
    deactivate: () => later(() => inner.deactivate()),
  });
}

/** Where the next store has written half a commit. */
export const BETWEEN_STEPS = "unsafe-between-steps";

/** Writes the events of a commit first, and the rest of it after that; one commit at a time. */
export function commitsInTwoSteps(inner: S.SessionStore): S.SessionStore {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Value>(act: () => Promise<Value>): Promise<Value> => {
    const next = last.then(act);
    last = next;
    return next;
  };
  const twoSteps = async (key: S.SessionKey, term: number, commit: S.Commit) => {
    const { afterEventId, events, snapshot } = commit;
    const first = await inner.commit(key, term, { afterEventId, events, journal: [] });
    if (!first.ok) return first;
    if (events.length > 0 && snapshot) failpoint(BETWEEN_STEPS);
    const { lastEventId } = first.value;
    return inner.commit(key, term, { ...commit, afterEventId: lastEventId, events: [] });
  };
  return replaced(inner, {
    commit: (key, term, commit) => inTurn(() => twoSteps(key, term, commit)),
    open: (key, holder, audit) => inTurn(() => inner.open(key, holder, audit)),
    seize: (key, holder, audit) => inTurn(() => inner.seize(key, holder, audit)),
    cutLog: (key, term, cut) => inTurn(() => inner.cutLog(key, term, cut)),
    close: (key, term) => inTurn(() => inner.close(key, term)),
    delete: (key, holder, audit) => inTurn(() => inner.delete(key, holder, audit)),
    deactivate: () => inTurn(() => inner.deactivate()),
  });
}

/** Where the next store has told of a document that is not written. */
export const BETWEEN_ENTRY_AND_DOCUMENT = "unsafe-between-entry-and-document";

/** Tells of a document first, and writes it after that; one at a time. */
export function tellsInTwoSteps(inner: S.SessionStore): S.SessionStore {
  let last: Promise<unknown> = Promise.resolve();
  const twoSteps = async (tenantId: TenantId, { entries = [], ...document }: S.DocumentWrite) => {
    const told = await inner.appendJournal(tenantId, entries);
    if (!told.ok) return told;
    if (entries.length > 0) failpoint(BETWEEN_ENTRY_AND_DOCUMENT);
    return inner.writeDocument(tenantId, document);
  };
  return replaced(inner, {
    writeDocument: (tenantId, document) => {
      const next = last.then(() => twoSteps(tenantId, document));
      last = next;
      return next;
    },
  });
}

/** Gives a session to any process that asks for it. */
export function takesFromTheLiving(inner: S.SessionStore): S.SessionStore {
  return replaced(inner, {
    open: async (key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) => {
      const record = await inner.readRecord(key);
      if (record.ok) await inner.close(key, record.value.term);
      return inner.open(key, holder, audit);
    },
  });
}

/** Does not look whether the process that has a session is still there. */
export function waitsForTheDead(inner: S.SessionStore): S.SessionStore {
  return replaced(inner, {
    open: async (key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) => {
      const record = await inner.readRecord(key);
      const owner = record.ok ? record.value.holder : null;
      if (owner === null) return inner.open(key, holder, audit);
      return fail("session_locked", { holder: describeHolder(owner) });
    },
  });
}
