import { describe, expect, it } from "vitest";
import { PAST_STEP_BYTES_MAX } from "../../core/limits.ts";
import { sessionState, value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import type { SessionKey, SessionStore } from "../store.ts";
import { withStore } from "./damage.fixture.ts";

const FROM = sample.keyOf("source");
const TO = sample.keyOf("branch");

const STEP = {
  ...{ from: FROM.sessionId, epoch: "epoch-1", expectedRevision: 0, messages: 3 },
  ...{ afterEventId: 0, throughEventId: 3 },
};

const BRANCHES = 20;

function eventText(id: number) {
  const data = { sessionId: FROM.sessionId, turnId: `turn ${id}` };
  return JSON.stringify({ id, v: 1, type: "turn_complete", data });
}

/** A source of three turns with a message each. Resolves with what makes further sessions. */
async function sourceIn(store: SessionStore, more = "") {
  const { storeId } = store.contract;
  const made = (key: SessionKey) =>
    value(store.create(key, sample.newSession(sample.manifest(key, storeId))));
  const { term } = await made(FROM);
  for (let n = 1; n <= 3; n += 1) {
    const turn = { firstId: n, lastId: n, text: `[${eventText(n)}]` };
    const messages = [sample.message(`${n}${more}`)];
    const manifest = sample.manifest(FROM, storeId);
    const snapshot = sample.snapshot(manifest, n - 1, { messages, turn });
    const events = [{ id: n, text: eventText(n) }];
    await value(store.commit(FROM, term, sample.commit({ events, snapshot })));
  }
  return made;
}

describe("P6: a source that is damaged", () => {
  it.each([
    ["a turn has another text", "UPDATE turns SET text = replace(text, 'turn 2', 'turn 9')"],
    ["a turn is gone", "DELETE FROM turns WHERE id = 2"],
    ["the last turn is gone", "DELETE FROM turns WHERE id = 3"],
    ["a message has another text", "UPDATE messages SET text = 'other' WHERE id = 2"],
    ["a message is gone", "DELETE FROM messages WHERE id = 1"],
    ["the last message is gone", "DELETE FROM messages WHERE id = 3"],
  ])("is not branched: %s", async (_, sql) => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const { store } = world;
      const made = await sourceIn(store);
      const branch = await made(TO);
      const before = await sessionState(store, TO);
      world.tamper(sample.ACME, (db) => db.exec(sql));
      const answer = await store.copyPast(TO, branch.term, STEP);
      expect(answer).toMatchObject({ ok: false, refusal: { code: "session_corrupt" } });
      expect(await sessionState(store, TO)).toEqual(before);
    });
  });
});

describe("P10: a step of a branch", () => {
  it("goes on for a while, but not when another call waits", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const { store } = world;
      const made = await sourceIn(store, "x".repeat(PAST_STEP_BYTES_MAX));
      const alone = await made(TO);
      expect(await value(store.copyPast(TO, alone.term, STEP))).toMatchObject({ messages: 3 });
      const reached: number[] = [];
      // The thread may be done before this one is scheduled again, but not each time.
      for (let n = 0; n < BRANCHES; n += 1) {
        const key = sample.keyOf(`beside-${n}`);
        const copying = store.copyPast(key, (await made(key)).term, STEP);
        await value(store.appendJournal(sample.ACME, [sample.entry(`beside ${n}`)]));
        reached.push((await value(copying)).messages);
      }
      expect(reached).toContain(1);
    });
  });
});

describe("P10: steps of many branches that are made at once", () => {
  it("let a commit of another tenant through between two of them", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const { store } = world;
      const made = await sourceIn(store);
      await value(store.appendJournal(sample.GLOBEX, [sample.entry("first")]));
      const keys = Array.from({ length: BRANCHES }, (_, n) => sample.keyOf(`branch-${n}`));
      const terms = new Map<SessionKey, number>();
      for (const key of keys) terms.set(key, (await made(key)).term);
      let copied = 0;
      const copies = keys.map(async (key) => {
        await value(store.copyPast(key, terms.get(key) ?? 0, STEP));
        copied += 1;
      });
      await value(store.appendJournal(sample.GLOBEX, [sample.entry("between")]));
      expect(copied).toBeLessThan(BRANCHES / 2);
      await Promise.all(copies);
    });
  });
});
