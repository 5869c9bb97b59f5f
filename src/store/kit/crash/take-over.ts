import assert from "node:assert/strict";
import type * as S from "../../store.ts";
import { allEntries, digests, refused, sessionState, value } from "../expect.ts";
import * as sample from "../sample.ts";
import type { History } from "./history.ts";
import type { SessionStep } from "./step.ts";
import { verifySession } from "./verify.ts";

/**
 * Opens a session whose process was killed: under a higher term, with word of whom it replaces,
 * and as it was. The dead one's term is worth nothing any more, and the work goes on.
 */
export async function takeOver(
  store: S.SessionStore,
  history: History,
  key: S.SessionKey,
  mark: string,
): Promise<void> {
  const before = await sessionState(store, key);
  const { term, holder, revision, lastEventId } = before.record;
  const entry = (what: string) => sample.entry(`${mark}-${what}`, { sessionId: key.sessionId });
  const open: SessionStep = {
    op: "open",
    key,
    holder: sample.holder(mark),
    audit: [entry("open")],
  };
  const opened = await value(store.open(key, open.holder, open.audit));
  assert.deepEqual(opened.replaced, holder, "it does not name the one that it replaces");
  assert.deepEqual(opened.record, { ...before.record, term: opened.term, holder: open.holder });
  assert.ok(opened.term > term, `the term ${opened.term} is not above ${term}`);
  assert.deepEqual(opened.manifest, before.manifest);
  assert.deepEqual(digests(opened.slots), before.slots);

  const manifest = { ...before.manifest, updatedAt: before.manifest.updatedAt + 1 };
  const commit = sample.commit({
    events: sample.events(lastEventId + 1, 2),
    journal: [entry("commit")],
    snapshot: sample.snapshot(manifest, revision, {
      messages: [sample.message(mark)],
      slots: [sample.slot("core", mark)],
    }),
  });
  await refused(store.commit(key, term, commit), "writer_lost");
  const done = await value(store.commit(key, opened.term, commit));
  assert.deepEqual(done, { revision: revision + 1, lastEventId: lastEventId + 2 });
  await value(store.close(key, opened.term));

  const own = history.of(key);
  const steps: readonly SessionStep[] = [
    open,
    { op: "commit", key, term: opened.term, commit },
    { op: "close", key, term: opened.term },
  ];
  own.settled.push(...steps.map((step) => ({ step, term: opened.term })));
  const journal = await sessionEntries(store, key);
  await verifySession(store, own, journal);
}

async function sessionEntries(store: S.SessionStore, { tenantId, sessionId }: S.SessionKey) {
  const audit = await allEntries(store, tenantId, "audit");
  const ledger = await allEntries(store, tenantId, "ledger");
  return [...audit, ...ledger]
    .filter((row) => row.sessionId === sessionId)
    .map(({ seq: _, ...entry }) => entry);
}
