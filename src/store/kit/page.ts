import assert from "node:assert/strict";
import { PAGE_BYTES_MAX } from "../../core/limits.ts";
import type { ListFilter, Page, SessionRecord, SessionStore } from "../store.ts";
import { allDocuments, allListed, listedIds, refused, value } from "./expect.ts";
import { inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, entry, event, events, message } from "./sample.ts";
import type { CheckStage, Writer } from "./stage.ts";

/** Twenty rows of about a megabyte: each fits into a commit, and all of them fill three pages. */
const ROW_BYTES = 1_000_000;
const ROWS = 20;

/** Texts of that length, each of them another. */
const long = (index: number) => `${index} `.padEnd(ROW_BYTES, `${index % 10}`);
const LONG = Array.from({ length: ROWS }, (_, index) => long(index + 1));

const small: Parameters<typeof inSession>[2] = ({ contract }) =>
  contract.capabilities.snapshotBytesLimit > ROW_BYTES + 8_192
    ? null
    : "snapshotBytesLimit is below a megabyte";

/** S. Pages, bounded by their rows and by their bytes. */
export const PAGE: readonly StoreCheck[] = [
  inSession(
    "S1: pages of events are bounded by their bytes, and nothing is lost between them",
    async (writer, store) => {
      const { key } = writer;
      for (const [index, text] of LONG.entries()) {
        await value(writer.commit({ events: [event(index + 1, text)] }));
      }
      await areBounded(0, async (after) => {
        const page = await value(store.readEvents(key, { after, limit: 1_000 }));
        const next = page.events.at(-1)?.id ?? after;
        return { rows: page.events, more: next < page.lastEventId, next };
      });
    },
    small,
  ),

  inStore(
    "S2: pages of messages and of turns are, too",
    async (store, stage) => {
      const { key } = await longTurns(await stage.session(store));
      await areBounded(0, async (after) => {
        const page = await value(store.readMessages(key, { after, limit: 1_000 }));
        return { ...page, next: page.rows.at(-1)?.id ?? after };
      });
      const backwards = await pagesOf(Number.MAX_SAFE_INTEGER, async (before) => {
        const page = await value(store.readTurns(key, { before, limit: 1_000 }));
        return { ...page, next: page.rows.at(-1)?.lastId ?? before };
      });
      isBounded(backwards, [...LONG].reverse());
    },
    small,
  ),

  inStore(
    "S3: pages of a journal are, too, also of those of one session",
    async (store) => {
      const sessionId = sample.sessionId("s-1");
      for (const [index, text] of LONG.entries()) {
        await value(store.appendJournal(ACME, [entry(`e-${index}`, { sessionId, text })]));
      }
      for (const only of [{}, { sessionId }]) {
        await areBounded(0, async (after) => {
          const query = { journal: "audit", after, limit: 1_000, ...only } as const;
          const page = await value(store.readJournal(ACME, query));
          return { ...page, next: page.rows.at(-1)?.seq ?? after };
        });
      }
    },
    small,
  ),

  inStore("S4: pages of documents are, too", async (store) => {
    for (const [index, text] of LONG.entries()) {
      await value(write(store, `d-${index + 10}`, text));
    }
    await areBounded<string | null>(null, async (after) => {
      const page = await value(store.listDocuments(ACME, "token", after));
      const rows = page.rows.map((document) => ({ text: String(document.value.text) }));
      return { rows, more: page.more, next: page.rows.at(-1)?.key ?? after };
    });
  }),

  inSession(
    "S5: a row that is larger than a page comes alone",
    async (writer, store) => {
      const huge = "x".repeat(PAGE_BYTES_MAX + 1);
      const log = [event(1), event(2, huge), event(3)];
      const messages = [message("a"), huge, message("b")];
      await value(writer.snapshot({ messages }, { events: log }));
      const range = { after: 1, limit: 1_000 };
      const page = await value(store.readMessages(writer.key, range));
      assert.deepEqual([page.rows.map(({ id }) => id), page.more], [[2], true]);
      const read = await value(store.readEvents(writer.key, range));
      assert.ok(read.events[0]?.text === huge, "it does not come at all");
    },
    ({ contract }) =>
      contract.capabilities.snapshotBytesLimit > 3 * PAGE_BYTES_MAX
        ? null
        : "snapshotBytesLimit is below the size of a page",
  ),

  inStore("S6: a page says whether there are more, wherever it ends", async (store, stage) => {
    const { key } = await threeTurns(await stage.session(store));
    const cases = [
      [0, 2, 2, true],
      [0, 3, 3, false],
      [0, 9, 3, false],
      [1, 1, 1, true],
      [1, 2, 2, false],
      [2, 1, 1, false],
      [3, 1, 0, false],
      [9, 1, 0, false],
    ] as const;
    const { sessionId } = key;
    for (const [after, limit, rows, more] of cases) {
      const what = `${limit} after ${after}`;
      const query = { journal: "audit", after, limit } as const;
      const before = Math.max(0, 4 - after);
      const pages: readonly Page<unknown>[] = [
        await value(store.readMessages(key, { after, limit })),
        await value(store.readTurns(key, { before, limit })),
        await value(store.readJournal(ACME, query)),
      ];
      for (const page of pages) assert.deepEqual([page.rows.length, page.more], [rows, more], what);
    }
    const of = async (query: object) => {
      const whole = { journal: "ledger", after: 0, limit: 1, ...query } as const;
      const page = await value(store.readJournal(ACME, whole));
      return [page.rows.map((row) => row.key), page.more];
    };
    assert.deepEqual(await of({ sessionId }), [["paid 1"], true]);
    assert.deepEqual(await of({ sessionId, after: 1 }), [["paid 3"], false]);
    assert.deepEqual(await of({ sessionId, after: 3 }), [[], false]);
    assert.deepEqual(await of({ key: "paid 2" }), [["paid 2"], false]);
    assert.deepEqual(await of({ key: "paid 2", after: 2 }), [[], false]);
    assert.deepEqual(await of({ key: "paid 2", sessionId }), [[], false]);
  }),

  inStore("S7: a page of documents ends at its limit, and says so", async (store) => {
    const names = Array.from({ length: 1_001 }, (_, index) => `d-${10_000 + index}`);
    await Promise.all(names.map((name) => value(write(store, name, name))));
    const first = await value(store.listDocuments(ACME, "token", null));
    assert.deepEqual([first.rows.length, first.more], [1_000, true]);
    const second = await value(store.listDocuments(ACME, "token", names[999] ?? ""));
    assert.deepEqual([second.rows.map(({ key }) => key), second.more], [["d-11000"], false]);
    const exact = await value(store.listDocuments(ACME, "token", names[0] ?? ""));
    assert.deepEqual([exact.rows.length, exact.more], [1_000, false]);
    assert.equal((await allDocuments(store, ACME, "token")).length, 1_001);
  }),
];

/** One turn and one message for each long text, in commits of their own. */
async function longTurns(writer: Writer): Promise<Writer> {
  for (const [index, text] of LONG.entries()) {
    const id = index + 1;
    const turn = { firstId: id, lastId: id, text };
    await value(writer.snapshot({ turn }, { events: events(id, 1) }));
    await value(writer.snapshot({ messages: [text] }));
  }
  return writer;
}

/** A session with three of everything, and a ledger that is not all its own. */
async function threeTurns(writer: Writer): Promise<Writer> {
  for (const id of [1, 2, 3]) {
    const sessionId = id === 2 ? null : writer.key.sessionId;
    const journal = [entry(`e-${id}`), entry(`paid ${id}`, { journal: "ledger", sessionId })];
    const change = { messages: [message(`${id}`)], turn: sample.turn(id, id) };
    await value(writer.snapshot(change, { events: events(id, 1), journal }));
  }
  const rest = [entry("paid 4", { journal: "ledger" })];
  await value(writer.store.appendJournal(ACME, rest));
  return writer;
}

interface Text {
  readonly text: string;
}

type Read<Place> = (place: Place) => Promise<Page<Text> & { readonly next: Place }>;

async function areBounded<Place>(first: Place, read: Read<Place>) {
  isBounded(await pagesOf(first, read), LONG);
}

/** Reads on until a page says that it is the last. */
async function pagesOf<Place>(first: Place, read: Read<Place>) {
  const pages: (readonly Text[])[] = [];
  let place = first;
  for (let more = true; more && pages.length <= 3 * ROWS; ) {
    const page = await read(place);
    pages.push(page.rows);
    more = page.more;
    place = page.next;
  }
  return pages;
}

/** None is larger than it may be by more than a row, and together they are everything. */
function isBounded(pages: readonly (readonly Text[])[], expected: readonly string[]) {
  for (const page of pages) {
    const bytes = page.reduce((sum, { text }) => sum + text.length, 0);
    assert.ok(bytes <= PAGE_BYTES_MAX + ROW_BYTES, `a page has ${bytes} bytes`);
    assert.ok(page.length > 0, "a page is empty");
  }
  assert.ok((pages[0]?.length ?? 0) > 1, "a page has less than would fit");
  const texts = pages.flat().map(({ text }) => text);
  const heads = (all: readonly string[]) => all.map((text) => text.slice(0, 4));
  assert.deepEqual(heads(texts), heads(expected), "the pages are not all that was written");
  assert.ok(texts.every((text, index) => text === expected[index]));
}

function write(store: SessionStore, key: string, text: string) {
  const document = { kind: "token", key, expectedVersion: 0, value: { text } };
  return store.writeDocument(ACME, document);
}

/** Each with what sets it apart; they were active at 10, 20, 30 and so on. */
const FILTERED_ROWS: Readonly<Record<string, Partial<SessionRecord>>> = {
  a: { shared: true },
  b: { closed: true, pendingPrompts: 1 },
  c: { pendingPrompts: 7, workspaceCwd: "/w" },
  d: { closed: true, shared: true },
  e: { shared: true, pendingPrompts: 2, workspaceCwd: "/w", status: "running" },
  f: {},
};

/** H, continued. What a server looks for when it starts, or when a client comes back. */
export const FILTER: readonly StoreCheck[] = [
  inStore(
    "H8: closed, shared, pending and times are found, each and together",
    async (store, stage) => {
      await rows(stage, store);
      const expected: readonly (readonly [ListFilter, string])[] = [
        [{ closed: true }, "db"],
        [{ closed: false }, "feca"],
        [{ shared: true }, "eda"],
        [{ shared: false }, "fcb"],
        [{ hasPendingPrompts: true }, "ecb"],
        [{ hasPendingPrompts: false }, "fda"],
        [{ updatedFromMs: 30 }, "fedc"],
        [{ updatedFromMs: 31 }, "fed"],
        [{ updatedBeforeMs: 30 }, "ba"],
        [{ updatedBeforeMs: 31 }, "cba"],
        [{ updatedFromMs: 20, updatedBeforeMs: 50 }, "dcb"],
        [{ updatedFromMs: 50, updatedBeforeMs: 50 }, ""],
        [{ updatedFromMs: -1, updatedBeforeMs: 0 }, ""],
        [{ closed: false, hasPendingPrompts: true }, "ec"],
        [{ workspaceCwd: "/w", shared: true, closed: false }, "e"],
        [{ shared: true, hasPendingPrompts: false, updatedFromMs: 20 }, "d"],
        [{ hasPendingPrompts: true, statuses: ["running"], updatedBeforeMs: 60 }, "e"],
        [{ statuses: [] }, ""],
      ];
      for (const [filter, ids] of expected) {
        const what = JSON.stringify(filter);
        assert.equal((await listedIds(store, ACME, filter)).join(""), ids, what);
        for (const limit of [1, 2, 3]) {
          const paged = await allListed(store, ACME, filter, limit);
          assert.equal(
            paged.map(({ sessionId }) => sessionId).join(""),
            ids,
            `${what} by ${limit}`,
          );
        }
      }
    },
  ),

  inStore("H9: a filtered page ends where its filter does", async (store, stage) => {
    await rows(stage, store);
    const filter = { shared: true };
    const first = await value(store.list(ACME, filter, { limit: 2, cursor: null }));
    assert.deepEqual(ids(first.sessions), ["e", "d"]);
    const second = await value(store.list(ACME, filter, { limit: 2, cursor: first.nextCursor }));
    assert.deepEqual([ids(second.sessions), second.nextCursor], [["a"], null]);
    const whole = await value(store.list(ACME, filter, { limit: 3, cursor: null }));
    assert.equal(whole.nextCursor, null, "it leads to a page of what was not asked for");
  }),

  inStore(
    "H10: a session is found by what it is now, and not by what it was",
    async (store, stage) => {
      const writers = await rows(stage, store);
      const waiting = () => listedIds(store, ACME, { hasPendingPrompts: true });
      const change = (id: string, record: Partial<SessionRecord>) => {
        const own = sample.record({ updatedAtMs: 5, ...record });
        return value(writers.get(id)?.commit({ record: own }) ?? assert.fail());
      };
      await change("c", {});
      assert.deepEqual(await waiting(), ["e", "b"]);
      await change("f", { pendingPrompts: 1, closed: true });
      assert.deepEqual(await waiting(), ["e", "b", "f"]);
      assert.deepEqual(await listedIds(store, ACME, { closed: true }), ["d", "b", "f"]);
      assert.deepEqual(await listedIds(store, ACME, { updatedBeforeMs: 6 }), ["c", "f"]);
      const [found] = await allListed(store, ACME, { closed: true, hasPendingPrompts: true });
      assert.deepEqual([found?.closed, found?.shared, found?.pendingPrompts], [true, false, 1]);
    },
  ),

  inStore("H11: filters that are none of their kind are refused", async (store, stage) => {
    await stage.session(store);
    const faults: readonly unknown[] = [
      { closed: 1 },
      { shared: "true" },
      { hasPendingPrompts: null },
      { pendingPrompts: 1 },
      { updatedFromMs: Number.NaN },
      { updatedFromMs: 1.5 },
      { updatedBeforeMs: "7" },
      { updatedBeforeMs: Number.POSITIVE_INFINITY },
      { statuses: Array.from({ length: 8 }, () => "running") },
      { statuses: Array.from({ length: 100_000 }, () => "running") },
      { statuses: [["running"]] },
    ];
    for (const filter of faults) {
      const listed = store.list(ACME, filter as ListFilter, { limit: 10, cursor: null });
      await refused(listed, "invalid_store_input");
    }
  }),
];

const ids = (sessions: readonly { readonly sessionId: string }[]) =>
  sessions.map(({ sessionId }) => sessionId);

async function rows(
  stage: CheckStage,
  store: Writer["store"],
): Promise<ReadonlyMap<string, Writer>> {
  const writers = new Map<string, Writer>();
  for (const [index, [id, change]] of Object.entries(FILTERED_ROWS).entries()) {
    const record = sample.record({ updatedAtMs: (index + 1) * 10, ...change });
    writers.set(id, await stage.session(store, id, { record }));
  }
  return writers;
}
