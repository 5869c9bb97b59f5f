import assert from "node:assert/strict";
import type * as S from "../../store.ts";
import { allEntries, digests, refused, sessionState, value } from "../expect.ts";
import * as sample from "../sample.ts";
import type { History } from "./model.ts";
import { type CrashSubject, HELD, StoreProcess } from "./process.ts";
import { verifySession } from "./verify.ts";
import { type ChildRequest, type SessionStep, started } from "./workload.ts";

const TRIES = 20;
const RIVALS = 4;

/** Who owns a session, asked by processes that know nothing of each other. */
export const LOCK_CHECKS: Readonly<Record<string, (world: LockWorld) => Promise<void>>> = {
  "53: a second process is refused while the first lives, and told who that is": async (world) => {
    const first = await world.holds("first");
    const second = world.start("open", "second");
    const [told] = await second.answers(1);
    if (told?.answer.ok !== false) return assert.fail("the second process got it too");
    assert.equal(told.answer.refusal.code, "session_locked");
    assert.match(`${told.answer.refusal.details.holder}`, new RegExp(`first.*\\b${first.pid}\\b`));
    await world.mayStillWrite(first);
  },

  "55: a live process never loses its session, not even while it is stopped": async (world) => {
    const first = await world.holds("first");
    first.signal("SIGSTOP");
    const store = await started(world.subject.store(), world.config);
    try {
      const { term } = await value(store.readRecord(HELD));
      for (let tried = 0; tried < TRIES; tried += 1) {
        const act = store.open(HELD, sample.holder("thief"), [sample.entry("theft")]);
        const { details } = await refused(act, "session_locked");
        assert.match(`${details.holder}`, new RegExp(`first.*\\b${first.pid}\\b`));
      }
      const query = { journal: "audit", after: 0, limit: 10 } as const;
      const { rows } = await value(store.readJournal(HELD.tenantId, query));
      assert.deepEqual(rows, []);
      assert.equal((await value(store.readRecord(HELD))).term, term);
    } finally {
      await value(store.dispose());
      first.signal("SIGCONT");
    }
    await world.mayStillWrite(first);
  },

  "55: a person may seize it all the same, and then the process may not write": async (world) => {
    const first = await world.holds("first");
    const store = await started(world.subject.store(), world.config);
    try {
      const opened = await value(
        store.seize(HELD, sample.holder("heir"), [sample.entry("seized")]),
      );
      assert.partialDeepStrictEqual(opened, { replaced: { label: "first", pid: first.pid } });
      first.tell();
      const [told] = await first.answers(1);
      if (told?.answer.ok !== false) return assert.fail("its write was accepted");
      assert.equal(told.answer.refusal.code, "writer_lost");
      const commit = sample.commit({ events: sample.events(1, 1) });
      await value(store.commit(HELD, opened.term, commit));
    } finally {
      await value(store.dispose());
    }
  },

  "54: of many processes that want a dead one's session one gets it": async (world) => {
    const first = await world.holds("first");
    await world.mayStillWrite(first);
    await first.kill();
    const rivals = Array.from({ length: RIVALS }, (_, n) => world.start("open", `rival ${n}`));
    const answers = await Promise.all(rivals.map((rival) => rival.answers(1)));
    const opened = answers.flatMap(([told]) => (told?.answer.ok ? [told.answer.value] : []));
    assert.equal(opened.length, 1, `${opened.length} of them got it`);
    const replaced = { label: "first", pid: first.pid };
    assert.partialDeepStrictEqual(opened[0], { record: { lastEventId: 1 }, replaced });
  },

  "54: what a dead process had acknowledged is there, and its term is worth nothing": async (
    world,
  ) => {
    const first = await world.holds("first");
    await world.mayStillWrite(first);
    await first.kill();
    const store = await started(world.subject.store(), world.config);
    try {
      const opened = await value(store.open(HELD, sample.holder("heir"), []));
      assert.partialDeepStrictEqual(opened, { replaced: { label: "first", pid: first.pid } });
      const commit = sample.commit({ events: sample.events(2, 1) });
      await refused(store.commit(HELD, opened.term - 1, commit), "writer_lost");
      const done = await value(store.commit(HELD, opened.term, commit));
      assert.deepEqual(done, { revision: 0, lastEventId: 2 });
    } finally {
      await value(store.dispose());
    }
  },
};

/** A place, and the processes over it. */
export class LockWorld {
  readonly subject: CrashSubject;
  readonly #place: string;
  readonly #children: StoreProcess[] = [];

  private constructor(subject: CrashSubject, place: string) {
    this.subject = subject;
    this.#place = place;
  }

  static async over(subject: CrashSubject, run: (world: LockWorld) => Promise<void>) {
    const world = new LockWorld(subject, await subject.makePlace());
    try {
      await run(world);
    } finally {
      await Promise.all(world.#children.map((child) => child.kill()));
      await subject.clearPlace(world.#place);
    }
  }

  get config() {
    return this.subject.config(this.#place);
  }

  start(task: ChildRequest["task"], life: string): StoreProcess {
    const orders = { config: this.config, task, seed: 0, life, steps: 0 };
    const child = new StoreProcess(this.subject, orders);
    this.#children.push(child);
    return child;
  }

  /** A process that owns the session. */
  async holds(life: string): Promise<StoreProcess> {
    const child = this.start("hold", life);
    await child.has("held");
    return child;
  }

  async mayStillWrite(child: StoreProcess): Promise<void> {
    child.tell();
    const [told] = await child.answers(1);
    assert.equal(told?.answer.ok, true, JSON.stringify(told?.answer));
  }
}

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
