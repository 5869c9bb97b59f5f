import assert from "node:assert/strict";
import type { LogEvent } from "../../../core/replay/compact.ts";
import type * as S from "../../store.ts";
import { allEvents, allMessages, allTurns, leavesNoTrace, sessionState, value } from "../expect.ts";
import { branchless, inStore, type StoreCheck } from "../harness.ts";
import * as sample from "../sample.ts";
import type { CheckStage, Writer } from "../stage.ts";

/** Enough that no step of bounded size has all of it. */
const LONG_TURNS = 40;
const LONG_TEXT_CHARS = 20_000;

/** W. Branches: a session with the past of another one. */
export const BRANCH: readonly StoreCheck[] = [
  inStore(
    "W1: a branch has its source's messages and turns, in its own name and numbers",
    async (store, stage) => {
      const source = await talked(stage, store, 3);
      const branch = await begun(stage, store);
      const done = await branched(store, branch, source.past);
      assert.equal(done.turnsCompleted, 3);
      assert.deepEqual(await allMessages(store, branch.key), await allMessages(store, source.key));
      const turns = (await allTurns(store, branch.key)).toReversed();
      const [own, ...copied] = turns;
      assert.deepEqual(own, sample.turn(1, 2));
      const told = copied.map(({ text }) => eventsIn(text).map(saidIn));
      assert.deepEqual(told, source.told);
      const events = copied.flatMap(({ text }) => eventsIn(text));
      const names = new Set(events.map(({ data }) => data.sessionId));
      assert.deepEqual([...names], [branch.key.sessionId]);
      let last = 2;
      for (const { firstId, lastId, text } of copied) {
        const ids = eventsIn(text).map(({ id }) => id);
        const places = [last, firstId - 0.5, ...ids, lastId + 0.5];
        const isInOrder = places.every((id, index) => index === 0 || id > (places[index - 1] ?? 0));
        assert.ok(isInOrder, `a turn from ${firstId} to ${lastId} after ${last} has ${ids}`);
        last = lastId;
      }
      const record = await value(store.readRecord(branch.key));
      const { lastEventId, snapshotEventId, earliestEventId, messageCount, turnCount } = record;
      assert.deepEqual([lastEventId, snapshotEventId, earliestEventId], [last, last, last + 1]);
      assert.deepEqual([messageCount, turnCount, record.epoch], [6, 4, "epoch-1"]);
      assert.deepEqual([done.lastEventId, done.revision], [lastEventId, record.revision]);
      assert.deepEqual((await value(store.readSlots(branch.key))).slots, []);
      assert.deepEqual(await allEvents(store, branch.key), []);
    },
    branchless,
  ),

  inStore(
    "W2: a branch has its source up to the turn that was named",
    async (store, stage) => {
      const source = await talked(stage, store, 3);
      const branch = await begun(stage, store);
      const [first = 0] = source.ends;
      const done = await branched(store, branch, {
        ...source.past,
        messages: 2,
        throughEventId: first,
      });
      assert.equal(done.turnsCompleted, 1);
      const messages = await allMessages(store, source.key);
      assert.equal((await allMessages(store, branch.key)).length, 2);
      assert.deepEqual(await allMessages(store, branch.key), messages.slice(0, 2));
      const [newest] = await allTurns(store, branch.key);
      assert.deepEqual(eventsIn(newest?.text ?? "[]").map(saidIn), source.told[0]);
    },
    branchless,
  ),

  inStore(
    "W3: a branch and its source go on, and end, apart",
    async (store, stage) => {
      const source = await talked(stage, store, 2);
      const branch = await begun(stage, store);
      await branched(store, branch, source.past);
      const second = await begun(stage, store, "s-3");
      const { messageCount, lastEventId, epoch } = await value(store.readRecord(branch.key));
      const past = { from: branch.key.sessionId, epoch, messages: messageCount };
      await branched(store, second, { ...past, throughEventId: lastEventId });
      const before = await sessionState(store, branch.key);
      await saysTurn(source.writer, 3);
      assert.deepEqual(await sessionState(store, branch.key), before);
      const sourceBefore = await sessionState(store, source.key);
      await saysTurn(branch, 3);
      assert.deepEqual(await sessionState(store, source.key), sourceBefore);
      const last = await sessionState(store, second.key);
      const after = await sessionState(store, branch.key);
      await value(store.delete(source.key, sample.holder(), []));
      assert.deepEqual(await sessionState(store, branch.key), after);
      await value(store.delete(branch.key, sample.holder(), []));
      assert.deepEqual(await sessionState(store, second.key), last);
      const anew = await begun(stage, store, "s-1");
      assert.deepEqual(await allMessages(store, anew.key), []);
    },
    branchless,
  ),

  inStore(
    "W4: a step that does not fit is refused, and leaves no trace",
    async (store, stage) => {
      const source = await talked(stage, store, 1);
      const branch = await begun(stage, store);
      const { revision: expectedRevision } = await value(store.readRecord(branch.key));
      const step = { ...source.past, afterEventId: 0, expectedRevision };
      const { key, term } = branch;
      const isRefused = (code: Parameters<typeof leavesNoTrace>[3], change: Partial<S.PastStep>) =>
        leavesNoTrace(
          store,
          sample.ACME,
          () => store.copyPast(key, term, { ...step, ...change }),
          code,
        );
      await isRefused("session_not_found", { from: sample.sessionId("s-9") });
      await isRefused("store_unavailable", { epoch: "another" });
      await isRefused("stale_revision", { expectedRevision: expectedRevision + 1 });
      const lost = () => store.copyPast(key, term - 1, step);
      await leavesNoTrace(store, sample.ACME, lost, "writer_lost");
    },
    branchless,
  ),

  inStore(
    "W5: the session of another tenant cannot be branched",
    async (store, stage) => {
      const source = await talked(stage, store, 1, sample.GLOBEX);
      const branch = await begun(stage, store, "s-2");
      const { revision: expectedRevision } = await value(store.readRecord(branch.key));
      const step = { ...source.past, afterEventId: 0, expectedRevision };
      const act = () => store.copyPast(branch.key, branch.term, step);
      await leavesNoTrace(store, sample.ACME, act, "session_not_found");
    },
    branchless,
  ),

  inStore(
    "W6: a long past comes in steps, each of which gets further",
    async (store, stage) => {
      const pad = "x".repeat(LONG_TEXT_CHARS);
      const source = await talked(stage, store, LONG_TURNS, sample.ACME, pad);
      const branch = await begun(stage, store);
      const done = await branched(store, branch, source.past);
      assert.equal(done.turnsCompleted, LONG_TURNS);
      const [, ...copied] = (await allTurns(store, branch.key)).toReversed();
      assert.deepEqual(
        copied.map(({ text }) => eventsIn(text).map(saidIn)),
        source.told,
      );
      assert.deepEqual(await allMessages(store, branch.key), await allMessages(store, source.key));
    },
    branchless,
  ),
];

/** A session with so many turns, and what a branch is to say of them. */
async function talked(
  stage: CheckStage,
  store: S.SessionStore,
  turns: number,
  tenant = sample.ACME,
  pad = "",
) {
  const writer = await stage.session(store, "s-1", { epoch: "epoch-0" }, tenant);
  const slots = [sample.slot("theirs", "of the source")];
  const events = [eventOf(writer.key, 1, "session_created", {})];
  await value(
    writer.snapshot({ slots, turn: turnOf(events) }, { events, journal: [sample.entry("source")] }),
  );
  const ends: number[] = [];
  for (let n = 1; n <= turns; n += 1) ends.push(await saysTurn(writer, n, pad));
  const told = ends.map((_, index) => [
    ["session_update", pad + (index + 1)],
    ["turn_complete", `turn ${index + 1}`],
  ]);
  const { messageCount } = await value(store.readRecord(writer.key));
  const { sessionId: from } = writer.key;
  const throughEventId = ends.at(-1) ?? 0;
  const past = { from, epoch: "epoch-0", messages: messageCount, throughEventId };
  return { writer, key: writer.key, ends, told, past };
}

/** A turn of four events, of which a branch has two. Resolves with the last of them. */
async function saysTurn(writer: Writer, n: number, pad = ""): Promise<number> {
  const { lastEventId } = await value(writer.store.readRecord(writer.key));
  const at = (index: number) => lastEventId + 1 + index;
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: pad + n } };
  const events = [
    eventOf(writer.key, at(0), "session_status", { from: "ready", to: "running" }),
    eventOf(writer.key, at(1), "session_update", { update }),
    eventOf(writer.key, at(2), "turn_complete", { turnId: `turn ${n}` }),
    eventOf(writer.key, at(3), "credits_settled", { chargedMicro: n }),
  ];
  const messages = [sample.message(`question ${n}`), sample.message(`answer ${n}`)];
  await value(writer.snapshot({ messages, turn: turnOf(events) }, { events }));
  return at(3);
}

function eventOf({ sessionId }: S.SessionKey, id: number, type: string, data: object) {
  return { id, text: JSON.stringify({ id, v: 1, type, data: { sessionId, ...data } }) };
}

function turnOf(events: readonly S.StoredText[]): S.FoldedTurn {
  const text = `[${events.map((event) => event.text).join(",")}]`;
  return { firstId: events[0]?.id ?? 1, lastId: events.at(-1)?.id ?? 1, text };
}

/** A session of two events, which is to have another one's past. */
async function begun(stage: CheckStage, store: S.SessionStore, id = "s-2"): Promise<Writer> {
  const writer = await stage.session(store, id);
  const events = sample.events(1, 2);
  await value(writer.snapshot({ turn: sample.turn(1, 2) }, { events }));
  return writer;
}

type WholePast = Omit<S.PastStep, "afterEventId" | "expectedRevision">;

/** Takes the past step by step. Resolves with what the last one said, and all turns together. */
async function branched(store: S.SessionStore, { key, term }: Writer, past: WholePast) {
  const { revision, lastEventId } = await value(store.readRecord(key));
  let at = { revision, lastEventId, messages: 0, afterEventId: 0, turnsCompleted: 0 };
  while (at.messages < past.messages || at.afterEventId < past.throughEventId) {
    const { afterEventId, revision: expectedRevision } = at;
    const step = { ...past, afterEventId, expectedRevision };
    const next = await value(store.copyPast(key, term, step));
    const isFurther = next.messages > at.messages || next.afterEventId > afterEventId;
    assert.ok(isFurther, `a step ends where it began: ${JSON.stringify(next)}`);
    at = { ...next, turnsCompleted: at.turnsCompleted + next.turnsCompleted };
  }
  return at;
}

function eventsIn(text: string): readonly LogEvent[] {
  return JSON.parse(text);
}

/** What a copied event says, without what differs from session to session. */
function saidIn(event: LogEvent): readonly unknown[] {
  if (event.type !== "session_update") return [event.type, Object(event.data).turnId];
  return [event.type, Object(event.data.update.content).text];
}
