import { describe, expect, it } from "vitest";
import { REPLAY_YIELD_CHARS } from "../core/limits.ts";
import {
  commitOf,
  keyOf,
  manifest,
  newSession,
  openMemoryStore,
  snapshotOf,
} from "../store/sample.fixture.ts";
import { replayOf } from "./replay.ts";
import { SETTINGS } from "./world.fixture.ts";

/** A session of one folded turn that is about this long. */
async function sessionWith(chars: number) {
  const store = await openMemoryStore();
  const key = keyOf("s");
  const event = (id: number) => JSON.stringify({ id, v: 1, type: "session_update", data: {} });
  const text = `[${event(1).replace("{}", JSON.stringify({ text: "x".repeat(chars) }))}]`;
  const own = manifest({ sessionId: key.sessionId });
  const snapshot = snapshotOf({ manifest: own, turn: { firstId: 1, lastId: 1, text } });
  const commit = commitOf({ events: [event(1)], snapshot });
  const made = await store.create(key, newSession("s", { commit }));
  if (!made.ok) expect.fail(made.refusal.code);
  return { store, key };
}

describe("P10: a replay", () => {
  it.each([
    ["short", REPLAY_YIELD_CHARS / 2, false],
    ["long", REPLAY_YIELD_CHARS * 2, true],
  ])("that is %s gives others a turn before it is joined: %i, %s", async (_, chars, isSo) => {
    const { store, key } = await sessionWith(chars);
    let turns = 0;
    const others = async () => {
      turns += 1;
    };
    const order = { through: 1, mode: "full", bounds: SETTINGS.replay } as const;
    const replay = await replayOf({ store, yield: others }, key, order);
    expect(replay).toMatchObject({ ok: true });
    expect(turns).toBe(isSo ? 1 : 0);
  });

  it("waits for nothing but its world: a simulation decides when it goes on", async () => {
    const { store, key } = await sessionWith(REPLAY_YIELD_CHARS * 2);
    const turns: (() => void)[] = [];
    const world = { store, yield: () => new Promise<void>((resolve) => turns.push(resolve)) };
    const order = { through: 1, mode: "full", bounds: SETTINGS.replay } as const;
    const replay = replayOf(world, key, order);
    let isOver = false;
    void replay.then(() => {
      isOver = true;
    });
    await expect.poll(() => turns.length).toBe(1);
    expect(isOver).toBe(false);
    turns.pop()?.();
    expect(await replay).toMatchObject({ ok: true });
  });
});

describe("P3: a replay", () => {
  /** Two finished turns of two events each, and an event after them. */
  async function twoTurns() {
    const store = await openMemoryStore();
    const key = keyOf("s");
    const data = { update: { sessionUpdate: "plan", entries: [] } };
    const event = (id: number) => JSON.stringify({ id, v: 1, type: "session_update", data });
    const own = manifest({ sessionId: key.sessionId });
    const commitOfTurn = (firstId: number, expectedRevision: number) => {
      const texts = [event(firstId), event(firstId + 1)];
      const turn = { firstId, lastId: firstId + 1, text: `[${texts.join(",")}]` };
      const snapshot = snapshotOf({ manifest: own, expectedRevision, turn });
      return commitOf({ afterEventId: firstId - 1, events: texts, snapshot });
    };
    const made = await store.create(key, newSession("s", { commit: commitOfTurn(1, 0) }));
    if (!made.ok) expect.fail(made.refusal.code);
    const { term } = made.value;
    await store.commit(key, term, commitOfTurn(3, 1));
    await store.commit(key, term, commitOf({ afterEventId: 4, events: [event(5)] }));
    return { store, key };
  }

  it.each([
    [5, [1, 2, 3, 4], [5]],
    [4, [1, 2, 3, 4], []],
    // The last verdict is in the store, but not published yet.
    [3, [1, 2], [3]],
  ])("through event %i has each once: finished %j, then %j", async (through, turns, open) => {
    const { store, key } = await twoTurns();
    const order = { through, mode: "full", bounds: SETTINGS.replay } as const;
    const replay = await replayOf({ store, yield: async () => {} }, key, order);
    if (!replay.ok) expect.fail(replay.refusal.code);
    const { compactedTexts, liveJournal, lastEventId } = replay.value;
    const idsOf = (events: readonly object[]) => events.map((one) => Object(one).id);
    expect(idsOf(JSON.parse(compactedTexts.join("")))).toEqual(turns);
    expect(idsOf(liveJournal)).toEqual(open);
    expect(lastEventId).toBe(through);
  });
});
