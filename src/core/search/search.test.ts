import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEARCH_EXCERPT_CHARS_MAX, SEARCH_TEXT_CHARS_MAX } from "../limits.ts";
import { type Excerpt, excerptOf } from "./excerpt.ts";
import { isBeginningOf, searchEntries, searchedMessage } from "./message.ts";
import { readSought } from "./query.ts";
import { entriesOf, wordsIn } from "./words.ts";

function excerpt(text: string, query: string): Excerpt | null {
  const sought = readSought(query);
  if (!sought.ok) throw new Error(`${sought.refusal.details.reason}`);
  return excerptOf(text, sought.value);
}

const markedIn = ({ text, marks }: Excerpt) => marks.map(([from, to]) => text.slice(from, to));

describe("the words of a text", () => {
  it.each<readonly [string, readonly string[]]>([
    ["Fix the Größe, don't!", ["fix", "the", "große", "don", "t"]],
    ["src/user_store.ts:12", ["src", "user", "store", "ts", "12"]],
    ["Fermataの検索", ["fermata", "の検索"]],
    ["２０２６年５月", ["2026", "年", "5", "月"]],
    ["(⑴) ½ ͺ 🎉", ["1", "1⁄2"]],
    ["Σίσυφος", ["σισυφοσ"]],
  ])("of %j", (text, words) => {
    expect([...wordsIn(text)].map((word) => word.text)).toEqual(words);
  });

  it("are found by their humps, too, and runs by pairs", () => {
    expect(searchEntries("fixLoginBug HTTPServer")).toEqual([
      "fixloginbug",
      "loginbug",
      "bug",
      "httpserver",
      "server",
    ]);
    expect(searchEntries("全文検索")).toEqual(["全文", "文検", "検索", "索"]);
  });

  it("are all among what it is found by, in any script", () => {
    const texts = fc.string({
      unit: fc.constantFrom(..."aB9_ éЁς检の\u0301½-.\ud83c"),
      maxLength: 30,
    });
    const isWhole = (text: string) => {
      const words = [...wordsIn(text)].flatMap((word) => entriesOf(word, text));
      return [...new Set(words)].sort().join() === [...searchEntries(text)].sort().join();
    };
    fc.assert(fc.property(texts, isWhole), { numRuns: 500 });
  });

  it("have nothing in them that an index would take for its syntax", () => {
    const isPlain = (text: string) =>
      searchEntries(text).every((entry) => !/[\0-\x2f:-@[-`{-\x7f]/.test(entry));
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), isPlain));
    // Beyond these planes there are no letters but those of private use.
    const all = Array.from({ length: 0x3_0000 / 64 }, (_, at) =>
      Array.from({ length: 64 }, (_, code) => String.fromCodePoint(at * 64 + code)).join(" "),
    );
    expect(all.filter((text) => !isPlain(text))).toEqual([]);
  });
});

describe("an excerpt", () => {
  it("shows the place with the most of what is sought, on one line, with its words marked", () => {
    const [before, behind] = ["word ".repeat(100), "end ".repeat(100)];
    const text = `login ${before}then\nthe Login\tof a user failed ${behind}`;
    const found = excerpt(text, "login user");
    expect(found?.text).toMatch(/^…(?:word )+then the Login of a user failed (?:end )+.*…$/);
    expect(found && markedIn(found)).toEqual(["Login", "user"]);
    expect(found?.text.length).toBeLessThanOrEqual(SEARCH_EXCERPT_CHARS_MAX + 2);
  });

  it("is none where a word is missing, or behind what is searched", () => {
    expect(excerpt("login of a user", "login admin")).toBeNull();
    expect(excerpt(`${"x ".repeat(SEARCH_TEXT_CHARS_MAX / 2)}login`, "login")).toBeNull();
  });

  it("marks what stands in the text for what was sought", () => {
    expect(excerpt("Über Łódź", "uber łodz")?.marks).toEqual([
      [0, 4],
      [5, 9],
    ]);
    expect(excerpt("東京で全文検索する", "全文検索 京")?.marks).toEqual([
      [1, 2],
      [3, 7],
    ]);
  });

  it("is there for every word of a text, with marks in order, apart and inside", () => {
    const texts = fc.string({ unit: "binary", maxLength: 400 });
    const isSound = (text: string) =>
      [...wordsIn(text)].every((word) => {
        const sought = readSought(text.slice(word.start, word.end));
        const found = sought.ok ? excerptOf(text, sought.value) : null;
        if (found === null) return !sought.ok;
        const ends = found.marks.flat();
        const isInOrder = ends.every((at, index) => index === 0 || at > (ends[index - 1] ?? -1));
        const isInside = (ends.at(0) ?? -1) >= 0 && (ends.at(-1) ?? 0) <= found.text.length;
        return isInOrder && isInside && found.text.isWellFormed();
      });
    fc.assert(fc.property(texts, isSound));
  });
});

describe("what is searched of a message", () => {
  const stored = (message: object) => JSON.stringify({ v: 1, turnId: "t", atMs: 5, ...message });

  it("is what people and agents say, and the title of a tool call", () => {
    const blocks = [{ type: "text", text: "a" }, { type: "image", data: "b" }, { text: "c" }];
    const said = searchedMessage(stored({ role: "user", content: blocks }));
    expect(said).toEqual({ role: "user", text: "a\nc", turnId: "t", atMs: 5 });
    const call = { title: "Run tests", rawInput: { secret: "x" } };
    const tool = searchedMessage(stored({ role: "tool", call, result: { content: "y" } }));
    expect(tool).toMatchObject({ role: "tool", text: "Run tests" });
  });

  it.each(["", "[]", "{", '{"role":"system","content":[{"text":"a"}]}', '{"role":"user"}'])(
    "is nothing of %j",
    (text) => expect(searchedMessage(text)).toBeNull(),
  );

  it("has a time that a date can have", () => {
    for (const atMs of [-1, 1e300, "5", null, 0.5]) {
      expect(searchedMessage(stored({ role: "tool", call: { title: "a" }, atMs }))?.atMs).toBe(0);
    }
  });

  it("tells a title that only begins the first message", () => {
    expect(isBeginningOf("fix the login of…", "fix  the\nlogin of a user")).toBe(true);
    expect(isBeginningOf("Quay", "fix the login")).toBe(false);
  });
});
