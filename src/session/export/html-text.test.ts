import fc from "fast-check";
import { Lexer } from "marked";
import { describe, expect, it, vi } from "vitest";
import {
  EXPORT_INLINE_WORK_MAX,
  EXPORT_MARKDOWN_PIECE_CHARS,
  EXPORT_NESTING_MAX,
  EXPORT_TABLE_CELLS_MAX,
} from "../../core/limits.ts";
import { proseHtml } from "./html-text.ts";
import { faultsIn, textIn } from "./tags.fixture.ts";

/**
 * Formats a text, and holds what the library was given to its bounds. What it does with a piece may
 * cost the square of its length, so no piece may be long, and none may be given twice; the marks of
 * a line times its length is the work of looking for their ends.
 */
function expectBounded(text: string): string {
  const lex = vi.spyOn(Lexer.prototype, "lex");
  const inline = vi.spyOn(Lexer.prototype, "inlineTokens");
  try {
    const html = proseHtml(text);
    const pieces = lex.mock.calls.map(([piece]) => piece.length);
    expect(Math.max(0, ...pieces)).toBeLessThanOrEqual(2 * EXPORT_MARKDOWN_PIECE_CHARS);
    expect(pieces.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(text.length);
    const works = inline.mock.calls.map(([line]) => line.length * marksIn(line));
    expect(works.filter((work) => work > EXPORT_INLINE_WORK_MAX)).toEqual([]);
    return html;
  } finally {
    lex.mockRestore();
    inline.mockRestore();
  }
}

const marksIn = (line: string) => line.match(/[^\p{L}\p{N}\s]| (?= )/gu)?.length ?? 0;

describe("the words of Markdown as HTML", () => {
  it.each([
    [
      "a *b* **c** ***d*** ~~e~~",
      "a <em>b</em> <strong>c</strong> <em><strong>d</strong></em> <del>e</del>",
    ],
    [
      "__a__ _b_ snake_case_name 2 * 3 * 4",
      "<strong>a</strong> <em>b</em> snake_case_name 2 * 3 * 4",
    ],
    ["**a *b* c**", "<strong>a <em>b</em> c</strong>"],
    ["**a ~~b** c~~", "<strong>a ~~b</strong> c~~"],
    ["`a*b*` ``c ` d`` `e", "<code>a*b*</code> <code>c ` d</code> `e"],
    ["\\*a\\* \\<b>", "*a* &lt;b&gt;"],
    ["one\ntwo", "one<br>\ntwo"],
  ])("%j", (markdown, html) => {
    expect(proseHtml(markdown)).toBe(`<p>${html}</p>`);
  });

  const link = (sort: string, address: string, words: string) =>
    `<a class="${sort}" href="${address}" rel="noopener noreferrer">${words}</a>`;

  it("link to the web and to people", () => {
    const address = "https://example.org/a_b_(c)";
    expect(proseHtml(`[*x*](${address} "title")`)).toContain(link("named", address, "<em>x</em>"));
    expect(proseHtml("<mailto:a@b.c>")).toContain(link("bare", "mailto:a@b.c", "mailto:a@b.c"));
    expect(proseHtml("(see https://a.b/c_d.)")).toBe(
      `<p>(see ${link("bare", "https://a.b/c_d", "https://a.b/c_d")}.)</p>`,
    );
  });

  it("have no link in a link", () => {
    const html = proseHtml("[https://bank.example <https://x.y>](https://other.example)");
    expect(html.match(/<a /g)).toHaveLength(1);
  });

  it("show where a link would have led that leads nowhere", () => {
    expect(proseHtml("[a](javascript:alert(1)) [b](src/b.ts)")).toBe(
      "<p>[a](javascript:alert(1)) [b](src/b.ts)</p>",
    );
  });

  it("have images as text", () => {
    expect(proseHtml("![a *b*](https://x.y/z.png) ![c](data:image/png;base64,AAAA)")).toBe(
      "<p><em>[image: a *b*, https://x.y/z.png]</em> <em>[image: c]</em></p>",
    );
  });
});

describe("the blocks of Markdown as HTML", () => {
  it.each([
    ["headings below ours", "# A\n###### B", "<h3>A</h3>\n<h6>B</h6>"],
    [
      "code",
      "```ts\n<b> *x*\n\n  y\n```\nz",
      "<pre><code>&lt;b&gt; *x*\n\n  y</code></pre>\n<p>z</p>",
    ],
    ["code that is left open", "~~~\na\n```", "<pre><code>a\n```</code></pre>"],
    ["indented code", "a\n\n    b\n\tc", "<p>a</p>\n<pre><code>b\nc</code></pre>"],
    ["rules", "a\n\n* * *\n---", "<p>a</p>\n<hr>\n<hr>"],
    [
      "quotations",
      "> a\n> > b",
      "<blockquote>\n<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n</blockquote>",
    ],
    ["lists", "- a\n- b\n  more", "<ul>\n<li>a</li>\n<li>b<br>\nmore</li>\n</ul>"],
    ["numbers", "3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'],
    [
      "lists with room",
      "- a\n\n- b\n\nc",
      "<ul>\n<li><p>a</p></li>\n<li><p>b</p></li>\n</ul>\n<p>c</p>",
    ],
    [
      "lists in lists",
      "1. a\n   - b\n2. c",
      "<ol>\n<li>a<ul>\n<li>b</li>\n</ul></li>\n<li>c</li>\n</ol>",
    ],
    ["tasks", "- [x] a\n- [ ] b", "<ul>\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>"],
    ["a year at the start of a line", "in\n1984. So", "<p>in<br>\n1984. So</p>"],
  ])("%s", (_what, markdown, html) => {
    expect(proseHtml(markdown)).toBe(html);
  });

  it("tables, after words too", () => {
    const html = proseHtml("See:\n| a | b |\n|:-:|--:|\n| `x\\|y` | 2 | 3 |");
    expect(html).toContain('<th class="center">a</th><th class="right">b</th>');
    expect(html).toContain(
      '<td class="center"><code>x|y</code></td><td class="right">2</td><td>3</td>',
    );
    expect(proseHtml("a | b\nc | d")).toBe("<p>a | b<br>\nc | d</p>");
  });

  it("P10: are set only so deep inside each other", () => {
    const html = proseHtml(`${">".repeat(10_000)} deep\n${"- ".repeat(10_000)}deep`);
    expect(html.match(/<blockquote>/g)).toHaveLength(EXPORT_NESTING_MAX);
    expect(html.match(/<ul>/g)).toHaveLength(EXPORT_NESTING_MAX);
    expect(faultsIn(html)).toEqual([]);
  });
});

const UNITS = [
  ...["`", "```", "~~~", "\n", "\n\n", " ", "    ", "- ", "1. ", "> ", "# ", "|", "|-|", "*", "**"],
  ...["_", "~~", "[", "](", ")", "![", "<", ">", '"', "'", "&", "\\", "a", "b c", "---"],
  ...["<script>", "</p>", "javascript:", "https://x.y", "\u001b[1m", "\u202e", '" onload="'],
];

describe("whatever somebody writes", () => {
  it("is never a tag, an attribute or a script, and closes nothing that we opened", () => {
    const unit = fc.constantFrom(...UNITS);
    const harmless = fc.property(fc.array(unit, { maxLength: 30 }), (units) => {
      expect(faultsIn(proseHtml(units.join("")))).toEqual([]);
    });
    fc.assert(harmless, { numRuns: 2_000 });
  });

  it("can be read in full", () => {
    const marks = ["\n", "\n\n", " ", "    ", "- ", "1. ", "> ", "# ", "*", "**", "_", "|", "|-|"];
    const unit = fc.constantFrom(...marks, "<i>", "&amp;", "a", "bc");
    const complete = fc.property(fc.array(unit, { maxLength: 30 }), (units) => {
      const letters = (text: string) => text.replace(/[^a-z]/g, "");
      expect(letters(textIn(proseHtml(units.join(""))))).toBe(letters(units.join("")));
    });
    fc.assert(complete, { numRuns: 1_000 });
  });

  it("is shown as it was written if it cannot be read", () => {
    const lex = vi.spyOn(Lexer.prototype, "lex").mockImplementation(() => {
      throw new Error("a fault of the library");
    });
    expect(proseHtml("*a* <b>\n\n  c")).toBe("<pre>\n*a* &lt;b&gt;\n\n  c</pre>");
    lex.mockRestore();
  });

  it("keeps definitions of links, which a reader would not see otherwise", () => {
    expect(proseHtml("[a]: https://x.y\n\n[a]")).toContain("<p>[a]: <a ");
  });

  it.each([
    ...["*", "**a ", "_a", "`", "~~", "[", "[a](", "[a](x ", "![a](b ", "<https://", "https://%"],
    ...["\\", "> ", "\n> ", "- ", "\n- ", "\n  - ", "|", "\n|-|", "a|b\n", "# ", "```\n", " ", "x"],
    ...["> a\nb\n", "> # a\nb\n", "> - a\nb\n", "[]()", "*a ~~b **c ", "a|b\n-|-\n", "a*", "1. "],
  ])("P10: is given to the library in bounded pieces, each character once: %j", (unit) => {
    const hostile = (length: number) => unit.repeat(Math.ceil(length / unit.length));
    expectBounded(hostile(300_000));
    expect(faultsIn(expectBounded(hostile(EXPORT_MARKDOWN_PIECE_CHARS)))).toEqual([]);
    expectBounded(`${hostile(2_000)}\n\nz\n\n`.repeat(20));
  });

  it.each([
    ["a link that never ends", `[a](${" ".repeat(300_000)}x`],
    ["a long link that never ends", `[a](${"x(y)".repeat(3_000_000)}`],
    ["code that never ends", Array.from({ length: 800 }, (_, n) => "`".repeat(n + 1)).join("a")],
    ["a long line", "-".repeat(16_000_000)],
    ["a wide gap", `a${" ".repeat(2 * EXPORT_MARKDOWN_PIECE_CHARS - 2)}b`],
  ])("P10: so is %s", (_, text) => {
    expectBounded(text);
  });

  it("P10: makes no table of many more cells than there are characters", () => {
    const columns = 1_000;
    const row = `|${"-|".repeat(columns)}\n`;
    const html = proseHtml(`${row}${row}${"a|\n".repeat(1_000)}`);
    expect(html.match(/<td>/g)?.length ?? 0).toBeLessThan(EXPORT_TABLE_CELLS_MAX);
  });

  it("is formatted in pieces if it is long, and never cut in code or in a list", () => {
    const code = `\`\`\`\n${"a\n\nb\n".repeat(EXPORT_MARKDOWN_PIECE_CHARS / 5)}\`\`\`\n`;
    const list = `- a\n\n${"  b\n\n".repeat(EXPORT_MARKDOWN_PIECE_CHARS / 6)}`;
    const words = "Some *words*.\n\n".repeat(EXPORT_MARKDOWN_PIECE_CHARS / 4);
    for (const part of [code, list]) {
      const html = proseHtml(`x\n\n${part}\ny\n\n${words}`);
      expect(html.match(/<pre>|<ul>/g)).toHaveLength(1);
      expect(html.match(/<em>words<\/em>/g)).toHaveLength(EXPORT_MARKDOWN_PIECE_CHARS / 4);
      expect(html).not.toContain("`");
    }
  });
});
