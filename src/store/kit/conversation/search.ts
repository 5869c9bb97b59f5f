import assert from "node:assert/strict";
import type * as S from "../../store.ts";
import { refused, value } from "../expect.ts";
import { branchless, forgetful, inStore, type StoreCheck, whenFalse } from "../harness.ts";
import * as sample from "../sample.ts";
import { ACME, GLOBEX } from "../sample.ts";
import type { Writer } from "../stage.ts";

const searchless = whenFalse("search");

/** F. Search: what was said is found by its words, by those who may see it. */
export const SEARCH: readonly StoreCheck[] = [
  inStore(
    "F1: messages and titles are found by their words, the newest first",
    async (store, stage) => {
      const record = sample.record({ displayName: "Harbour plans", updatedAtMs: 5 });
      const one = await stage.session(store, "one", { record });
      const two = await stage.session(store, "two");
      await says(one, [said("Paint the boat green", 10), said("Green it is.", 30, "assistant")]);
      await says(two, [said("Which green?", 20)]);
      assert.deepEqual(await found(store, "green"), ["one 2", "two 1", "one 1"]);
      assert.deepEqual(await found(store, "GREEN boat"), ["one 1"]);
      assert.deepEqual(await found(store, "boat red"), []);
      const [hit] = (await page(store, "green it")).hits;
      assert.ok(hit);
      const { session, role, atMs, excerpt } = hit;
      assert.deepEqual([session.sessionId, role, atMs], ["one", "assistant", 30]);
      assert.deepEqual(session, await value(store.readRecord(one.key)));
      assert.equal(excerpt.text, "Green it is.");
      assert.deepEqual(shownMarks(hit), ["Green", "it"]);
      const [title] = (await page(store, "harbour")).hits;
      assert.deepEqual([title?.role, title?.messageId], ["title", 0]);
    },
    searchless,
  ),

  inStore(
    "F2: what was not committed, was renamed or was deleted is not found",
    async (store, stage) => {
      const record = sample.record({ displayName: "Old name" });
      const one = await stage.session(store, "one", { record });
      await says(one, [said("kept", 1)]);
      const late = one.snapshotOf(7, { messages: [said("refused", 2)] });
      await refused(one.commit({ snapshot: late }), "stale_revision");
      await refused(one.commit({ snapshot: late }, one.term + 1), "writer_lost");
      assert.deepEqual(await found(store, "refused"), []);
      await value(one.commit({ record: sample.record({ displayName: "New name" }) }));
      assert.deepEqual(await found(store, "old"), []);
      assert.deepEqual(await found(store, "new name"), ["one 0"]);
      await value(store.delete(one.key, sample.holder(), []));
      for (const query of ["kept", "new", "name"]) assert.deepEqual(await found(store, query), []);
      const again = await stage.session(store, "one");
      assert.deepEqual(await found(store, "kept"), []);
      await says(again, [said("kept again", 3)]);
      assert.deepEqual(await found(store, "kept"), ["one 1"]);
    },
    searchless,
  ),

  inStore(
    "F3: others' private sessions change neither hits nor pages nor cursors (P8)",
    async (store, stage) => {
      const ada = sample.record({ audience: [ADA] });
      const one = await stage.session(store, "one", { record: ada });
      await says(one, [said("secret plan", 10), said("secret word", 30), said("secret", 50)]);
      const pages = () => allPages(store, "secret", { visibleTo: ADA }, 2);
      const before = await pages();
      const bob = sample.record({ audience: [sample.userId("bob")], displayName: "A secret" });
      const two = await stage.session(store, "two", { record: bob });
      for (const atMs of [5, 20, 40, 60]) await says(two, [said(`secret of bob`, atMs)]);
      assert.deepEqual(await pages(), before, "what bob has changes what ada gets");
      assert.deepEqual(await found(store, "bob", { visibleTo: ADA }), []);
      assert.deepEqual(await found(store, "secret", { visibleTo: null }), []);
      assert.equal((await found(store, "secret")).length, 8);
      await value(two.commit({ record: { ...bob, audience: null } }));
      const shared = await found(store, "bob", { visibleTo: ADA });
      assert.equal(shared.length, 4);
    },
    searchless,
  ),

  inStore(
    "F4: pages have each hit once, also while there are new ones",
    async (store, stage) => {
      const one = await stage.session(store, "one");
      const two = await stage.session(store, "two");
      for (let n = 1; n <= 5; n += 1) {
        await says(one, [said(`word ${n}`, n * 10), said("another", n * 10)]);
        await says(two, [said(`word of ${n}`, n * 10), said(`word ${n}`, n * 10 + 5)]);
      }
      const all = await found(store, "word");
      assert.equal(all.length, 15);
      for (const limit of [1, 2, 4, 15]) {
        const seen: string[] = [];
        let cursor: string | null = null;
        do {
          const next: S.FoundPage = await page(store, "word", {}, { limit, cursor });
          assert.ok(next.hits.length === limit || next.nextCursor === null, "a page is not full");
          seen.push(...next.hits.map(nameOf));
          cursor = next.nextCursor;
          if (limit === 2) await says(two, [said("a newer word", 1_000 + seen.length)]);
        } while (cursor !== null);
        assert.deepEqual(seen, limit > 2 ? await found(store, "word") : all, `by ${limit}`);
      }
      const nonsense = { limit: 2, cursor: "nonsense" };
      await refused(search(store, ACME, { query: "word", filter: {} }, nonsense), "invalid_cursor");
    },
    searchless,
  ),

  inStore(
    "F5: a query is words, whatever it looks like",
    async (store, stage) => {
      const one = await stage.session(store, "one");
      const text = `NEAR the (pier) AND "not OR column: x*^ it's`;
      await says(one, [said(text, 1), said("none of that", 2)]);
      for (const query of LITERAL) assert.deepEqual(await found(store, query), ["one 1"], query);
      for (const query of ["NEAR(pier, 2) bow", '"pier the"*y', "NOT pier bow"]) {
        assert.deepEqual(await found(store, query), [], query);
      }
      for (const query of [
        "",
        "  ",
        '"',
        '"" *',
        "\u0000",
        "\ud800",
        "(:^*)",
        "x".repeat(10_000),
      ]) {
        const request = { query, filter: {} };
        const asked = search(store, ACME, request, { limit: 5, cursor: null });
        await refused(asked, "invalid_search");
      }
    },
    searchless,
  ),

  inStore(
    "F6: words are found in any script, by their beginnings, and without accents",
    async (store, stage) => {
      const one = await stage.session(store, "one");
      for (const [index, [text]] of SCRIPTS.entries()) await says(one, [said(text, index)]);
      for (const [index, [text, ...queries]] of SCRIPTS.entries()) {
        for (const query of queries) {
          assert.deepEqual(await found(store, query), [`one ${index + 1}`], `${query} in ${text}`);
        }
      }
      for (const query of ["検全", "京東", "ogin", "lo", "mi"]) {
        assert.deepEqual(await found(store, query), [], query);
      }
    },
    searchless,
  ),

  inStore(
    "F7: a branch has what was said before it, also when its source is deleted",
    async (store, stage) => {
      const source = await stage.session(store, "s-1", { epoch: "epoch-0" });
      const slots = [sample.slot("core", "x")];
      const told = { slots, turn: EMPTY_TURN, messages: [said("shared", 1), said("cut off", 2)] };
      await value(source.snapshot(told, { events: sample.events(1, 1) }));
      const branch = await stage.session(store, "s-2");
      const past = { from: source.key.sessionId, epoch: "epoch-0", messages: 1 };
      const step = { ...past, expectedRevision: 0, afterEventId: 0, throughEventId: 0 };
      await value(store.copyPast(branch.key, branch.term, step));
      await says(branch, [said("its own", 3)]);
      assert.deepEqual((await found(store, "shared")).toSorted(), ["s-1 1", "s-2 1"]);
      assert.equal((await allPages(store, "shared", {}, 1)).length, 2);
      assert.deepEqual(await found(store, "cut"), ["s-1 2"]);
      assert.deepEqual(await found(store, "own"), ["s-2 2"]);
      await value(store.delete(source.key, sample.holder(), []));
      assert.deepEqual(await found(store, "shared"), ["s-2 1"]);
      assert.deepEqual(await found(store, "cut"), []);
      await value(store.delete(branch.key, sample.holder(), []));
      assert.deepEqual(await found(store, "shared"), []);
    },
    searchless,
    branchless,
  ),

  inStore(
    "F8: only sessions of this tenant that fit the filter are searched",
    async (store, stage) => {
      const there = sample.record({ workspaceCwd: "/there", status: "error" });
      await says(await stage.session(store, "one", { record: there }), [said("word", 1)]);
      await says(await stage.session(store, "two"), [said("word", 2)]);
      await says(await stage.session(store, "three", {}, GLOBEX), [said("word", 3)]);
      assert.deepEqual(await found(store, "word"), ["two 1", "one 1"]);
      assert.deepEqual(await found(store, "word", { workspaceCwd: "/there" }), ["one 1"]);
      assert.deepEqual(await found(store, "word", { statuses: ["inactive"] }), ["two 1"]);
      const theirs = await value(search(store, GLOBEX, WORD, { limit: 5, cursor: null }));
      assert.deepEqual(theirs.hits.map(nameOf), ["three 1"]);
      const wrong = { query: "word", filter: { nonsense: 1 } as S.ListFilter };
      await refused(search(store, ACME, wrong, { limit: 5, cursor: null }), "invalid_store_input");
    },
    searchless,
  ),

  inStore(
    "F9: it is found after a restart",
    async (store, stage) => {
      const one = await stage.session(store, "one");
      await says(one, [said("lasting words", 1)]);
      const next = await stage.restart(store);
      assert.deepEqual(await found(next, "lasting"), ["one 1"]);
      assert.equal((await page(next, "lasting")).isIndexing, false);
    },
    searchless,
    forgetful,
  ),
];

const ADA = sample.userId("ada");

const WORD: S.SearchRequest = { query: "word", filter: {} };

const EMPTY_TURN: S.FoldedTurn = { firstId: 1, lastId: 1, text: "[]" };

const LITERAL = [
  "near AND or",
  "not",
  "column:x",
  "column: pier",
  '"pier"',
  '"pier',
  "NEAR(pier)",
  "pier*",
  "^near",
  "{pier near}",
  "-pier",
  "near + pier",
  "it's",
  "pier\u0000near",
  "pier\nnear",
];

/** A text, and what it is to be found by alone. */
const SCRIPTS: readonly (readonly [string, ...string[]])[] = [
  ["把数据库迁移到新的服务器", "数据库", "迁移", "服务器 数据", "库"],
  ["東京でカフェを全文検索する", "東京", "カフェ", "全文検索", "検索 東京"],
  ["Déjà vu à Łódź", "deja", "DÉJÀ", "de\u0301ja\u0300 vu"],
  ["Привет, мир", "привет", "мир ПРИВ"],
  ["call fixLoginBug() of user_store", "fixlogin", "LoginBug", "login", "store user", "fixLogi"],
  ["ｆｕｌｌ ｗｉｄｔｈ", "full", "ＷＩＤＴＨ"],
  ["ค้นหาข้อความ", "ข้อความ"],
  ["데이터베이스 검색", "데이터", "검색"],
  ["half ⑴ ͺ ½ \ud800 marks", "half", "½", "⑴"],
];

/** A message as a server stores it. */
function said(text: string, atMs: number, role = "user"): string {
  const content = [{ type: "text", text }];
  return JSON.stringify({ v: 1, role, content, turnId: "turn", atMs });
}

async function says(writer: Writer, messages: readonly string[]): Promise<void> {
  await value(writer.snapshot({ messages }));
}

async function search(
  store: S.SessionStore,
  tenantId: typeof ACME,
  request: S.SearchRequest,
  range: S.ListPage,
) {
  return (await store.search?.(tenantId, request, range)) ?? assert.fail("it has no search");
}

function page(
  store: S.SessionStore,
  query: string,
  filter: S.ListFilter = {},
  range: S.ListPage = { limit: 100, cursor: null },
): Promise<S.FoundPage> {
  return value(search(store, ACME, { query, filter }, range));
}

async function found(store: S.SessionStore, query: string, filter: S.ListFilter = {}) {
  return (await page(store, query, filter)).hits.map(nameOf);
}

async function allPages(
  store: S.SessionStore,
  query: string,
  filter: S.ListFilter,
  limit: number,
): Promise<readonly S.FoundPage[]> {
  const pages: S.FoundPage[] = [];
  let cursor: string | null = null;
  do {
    const next: S.FoundPage = await page(store, query, filter, { limit, cursor });
    pages.push(next);
    cursor = next.nextCursor;
  } while (cursor !== null);
  return pages;
}

const nameOf = ({ session, messageId }: S.Hit) => `${session.sessionId} ${messageId}`;

function shownMarks({ excerpt }: S.Hit): readonly string[] {
  return excerpt.marks.map(([start, end]) => excerpt.text.slice(start, end));
}
