import { describe, expect, it } from "vitest";
import { EXPORT_CHUNK_CHARS } from "../../core/limits.ts";
import { fail, ok } from "../../core/result.ts";
import { Life } from "../../core/session/life.fixture.ts";
import { thisHolder } from "../../store/holder.ts";
import {
  commitOf,
  keyOf,
  manifest,
  newSession,
  openMemoryStore,
  snapshotOf,
} from "../../store/sample.fixture.ts";
import { exportSession, type Stored, sourceOf, storedLife, textOf } from "./source.fixture.ts";
import { ExportBroken, storeSource } from "./source.ts";

/** Three turns and half of a fourth. */
function someLife(): Life {
  const life = new Life().running();
  life.says("one");
  life.complete("t1");
  for (const n of [2, 3, 4]) {
    life.prompt(`p${n}`);
    life.begin(`p${n}`, `t${n}`);
    life.says(`answer ${n}`);
    if (n < 4) life.complete(`t${n}`);
  }
  return life;
}

const MESSAGES = ['{"v":1,"role":"user"}', '{"v":1,"role":"assistant"}', '{"v":1,"n":3}'];
const stored = (change: Partial<Stored> = {}): Stored => ({
  ...storedLife(someLife()),
  messages: MESSAGES,
  ...change,
});

const lines = async (from: Stored, pageRows?: number) => {
  const text = await textOf(await exportSession(sourceOf(from, pageRows).source, "jsonl"));
  return text.trimEnd().split("\n");
};
const document = async (from: Stored, pageRows?: number) =>
  JSON.parse(await textOf(await exportSession(sourceOf(from, pageRows).source, "json")));

const ids = (events: readonly string[]) => events.map((line) => JSON.parse(line).id);

describe("an export as JSONL", () => {
  it("has one event a line: the folded turns, and then the raw events since", async () => {
    const from = stored();
    const folded = from.turns.flatMap(({ text }) => JSON.parse(text));
    const last = from.turns.at(-1)?.lastId ?? 0;
    const raw = from.events.filter(({ id }) => id > last);
    expect(await lines(from)).toEqual([
      ...folded.map((event: unknown) => JSON.stringify(event)),
      ...raw.map(({ text }) => text),
    ]);
  });

  it("P10: is the same however small the pages are, and holds one of them", async () => {
    const whole = await lines(stored());
    for (const rows of [1, 2, 3]) expect(await lines(stored(), rows)).toEqual(whole);
  });

  it("reads a short session only once", async () => {
    const { source, reads } = sourceOf(stored());
    await textOf(await exportSession(source, "jsonl"));
    expect(reads).toEqual(["turns", "events"]);
  });

  it("says where events are not kept any more", async () => {
    const { turns, events } = storedLife(someLife());
    const last = turns.at(-1)?.lastId ?? 0;
    const kept = events.filter(({ id }) => id > last + 2);
    const told = await lines({ turns, events: kept, messages: [] });
    expect(told.map((line) => JSON.parse(line)).filter(({ id }) => id === undefined)).toMatchObject(
      [{ type: "history_truncated", data: { truncatedEvents: 2, retainedEvents: kept.length } }],
    );
  });

  it("ends where the session was when it began, whatever happens meanwhile", async () => {
    const all = stored();
    const lastEventId = all.turns[1]?.lastId ?? 0;
    const told = await lines({ ...all, change: { lastEventId } });
    expect(Math.max(...ids(told))).toBe(lastEventId);
  });

  it("of an empty session is empty", async () => {
    expect(await lines({ turns: [], events: [], messages: [] })).toEqual([""]);
  });
});

describe("an export as JSON", () => {
  it("is one document with the session, its conversation, its turns and its tail", async () => {
    const from = stored();
    const told = await document(from, 2);
    expect(told).toMatchObject({
      v: 1,
      kind: "fermata-session",
      session: { sessionId: "s", messageCount: 3 },
      manifest: { sessionId: "s", mode: "ask" },
      messages: MESSAGES.map((text) => JSON.parse(text)),
    });
    expect(told.turns.map(({ events }: { events: unknown }) => JSON.stringify(events))).toEqual(
      from.turns.map(({ text }) => text),
    );
    const last = from.turns.at(-1)?.lastId ?? 0;
    expect(told.tail.map(({ id }: { id: number }) => id)).toEqual(
      from.events.filter(({ id }) => id > last).map(({ id }) => id),
    );
  });

  it("is one document also if there is nothing in it", async () => {
    const told = await document({ turns: [], events: [], messages: [] });
    expect(told).toMatchObject({ messages: [], turns: [], tail: [] });
  });

  it("does not tell who serves the session", async () => {
    const holder = thisHolder("secret label");
    const text = JSON.stringify(await document(stored({ change: { holder } })));
    expect(text).not.toContain("secret label");
    expect(text).not.toContain('"term"');
  });
});

describe("an export that cannot be made", () => {
  const { source } = sourceOf(stored());

  it("is refused as long as nothing was written", async () => {
    const gone = { ...source, record: async () => fail("session_not_found") };
    expect(await exportSession(gone, "json")).toMatchObject({
      ok: false,
      refusal: { code: "session_not_found" },
    });
    const torn = { ...source, manifest: async () => fail("session_corrupt") };
    expect(await exportSession(torn, "md")).toMatchObject({ ok: false });
  });

  it.each(["json", "jsonl", "md", "html"] as const)(
    "breaks off as %s later, and says why",
    async (format) => {
      const failing = { ...source, turns: async () => fail("store_unavailable") };
      const broken = await textOf(await exportSession(failing, format)).catch((error) => error);
      expect(broken).toBeInstanceOf(ExportBroken);
      expect(broken.refusal.code).toBe("store_unavailable");
      const bad = async () => ok({ rows: [{ firstId: 1, lastId: 2, text: "{" }], more: false });
      const spoilt = await exportSession({ ...source, turns: bad }, format);
      await expect(textOf(spoilt)).rejects.toMatchObject({ refusal: { code: "session_corrupt" } });
    },
  );
});

describe("an export", () => {
  it("leaves in pieces of a sensible size", async () => {
    const life = new Life().running();
    for (let n = 0; n < 5_000; n += 1) life.says(`chunk ${n} `, { messageId: `m${n}` });
    const pieces = await exportSession(sourceOf(storedLife(life)).source, "jsonl");
    const sizes: number[] = [];
    for await (const piece of pieces.ok ? pieces.value : []) sizes.push(piece.length);
    expect(sizes.length).toBeGreaterThan(5);
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThanOrEqual(EXPORT_CHUNK_CHARS);
    expect(Math.max(...sizes)).toBe(EXPORT_CHUNK_CHARS);
  });

  it.each([
    ["its id is given to another session", "another", true],
    ["its reader does not see the session any more", "e", false],
  ])("P8: breaks off if %s meanwhile", async (_, laterEpoch, seesLater) => {
    const store = await openMemoryStore();
    const key = keyOf("s");
    const first = newSession("s");
    expect((await store.create(key, first)).ok).toBe(true);
    let isSeen = true;
    const source = storeSource(store, key, { epoch: first.epoch, sees: () => isSeen });
    const pieces = await exportSession(source, "json");
    expect((await source.turns({ before: 9, limit: 1 })).ok).toBe(true);
    expect((await store.delete(key, first.holder, [])).ok).toBe(true);
    expect((await store.create(key, { ...newSession("s"), epoch: laterEpoch })).ok).toBe(true);
    isSeen = seesLater;
    const range = { after: 0, before: 9, limit: 1 };
    const reads = [source.record(), source.manifest(), source.messages(range), source.turns(range)];
    for (const read of [...reads, source.events(range)]) {
      expect(await read).toMatchObject({ refusal: { code: "session_not_found" } });
    }
    await expect(textOf(pieces)).rejects.toThrow("session_not_found");
    await store.dispose();
  });

  it("reads a real store", async () => {
    const { turns, events } = storedLife(someLife());
    const store = await openMemoryStore();
    const key = keyOf("s");
    const own = manifest({ sessionId: key.sessionId });
    const { ok: made } = await store.create(key, newSession("s"));
    expect(made).toBe(true);
    let afterEventId = 0;
    for (const [index, turn] of turns.entries()) {
      const mine = events.filter(({ id }) => id > afterEventId && id <= turn.lastId);
      const snapshot = snapshotOf({
        expectedRevision: index,
        manifest: own,
        turn,
        messages: ["{}"],
      });
      const texts = mine.map(({ text }) => text);
      const commit = commitOf({ afterEventId, events: texts, snapshot });
      expect(await store.commit(key, 1, commit)).toMatchObject({ ok: true });
      afterEventId = turn.lastId;
    }
    const rest = events.filter(({ id }) => id > afterEventId).map(({ text }) => text);
    await store.commit(key, 1, commitOf({ afterEventId, events: rest }));
    const text = await textOf(
      await exportSession(storeSource(store, key, { epoch: "e", sees: () => true }), "jsonl"),
    );
    expect(text.trimEnd().split("\n")).toEqual(await lines({ turns, events, messages: [] }));
    await store.dispose();
  });
});
