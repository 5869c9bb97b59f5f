import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { codeSpan, fenced, inline, prose, quoted } from "./markdown.ts";

const FENCED = /^`{3,}markdown\n/;

describe("code", () => {
  it("has marks longer than any inside", () => {
    expect(codeSpan("plain")).toBe("`plain`");
    expect(codeSpan("a `b` c")).toBe("``a `b` c``");
    expect(codeSpan("`` x `")).toBe("``` `` x ` ```");
    expect(codeSpan("two\nlines")).toBe("`two lines`");
    expect(codeSpan("  ")).toBe("` `");
    expect(fenced("a\n````\nb\n")).toBe("`````\na\n````\nb\n`````");
  });

  it("gives back whatever was put in", () => {
    const kept = fc.property(fc.string({ unit: fc.constantFrom("`", "a", "\n", "~") }), (text) => {
      const [fence = "", ...rest] = fenced(text).split("\n");
      expect(rest.at(-1)).toBe(fence);
      const inside = rest.slice(0, -1);
      expect(inside.join("\n")).toBe(text.replace(/\n$/, ""));
      expect(inside.some((line) => line.includes(fence))).toBe(false);
    });
    fc.assert(kept);
  });
});

describe("a short text among our own words", () => {
  it("means nothing in Markdown", () => {
    expect(inline("# <b>*x*</b> [a](b)\n1. `c`")).toBe(
      "\\# \\<b\\>\\*x\\*\\</b\\> \\[a\\]\\(b\\) 1\\. \\`c\\`",
    );
  });
});

describe("a text that is Markdown itself", () => {
  it.each([
    ["words", "Hello, *world*.\n\n- one\n- two"],
    [
      "code",
      "Use `Array<string>`:\n\n```ts\nconst a: Array<string> = [];\n# no heading\n```\nDone",
    ],
    ["code in a list", "1. First\n   ```sh\n   ls\n   ```\n2. Second"],
    ["code in longer fences", "````md\n```\n<b>\n```\n````"],
    ["comparisons and links", "a < b, 1<2, <https://example.org/x>"],
    ["tildes", "~~~\n```\n~~~"],
  ])("stands as it is if it keeps to its place: %s", (_what, text) => {
    expect(prose(text)).toBe(text);
  });

  it("has its headings below ours", () => {
    expect(prose("# A\n###### B\n#no\n```\n# c\n```\n## D")).toBe(
      "### A\n###### B\n#no\n```\n# c\n```\n#### D",
    );
  });

  it.each([
    ["a fence that is left open", "```js\nlet a"],
    ["a fence closed by a shorter one", "````\ncode\n```"],
    ["a fence that a list opens", "- ```\n  code\n  ```\n<b>"],
    ["a fence in a quotation", "> ```\n> code"],
    ["a fence in a list, left too soon", "- a\n  ```\nout\n  ```"],
    ["a fence in a list, closed outside of it", "- a\n  ```\n  code\n```"],
    ["HTML in an indented fence, which may be none", "text\n    ```\n    <b>\n    ```"],
    ["HTML", "so <b>bold"],
    ["a comment", "<!-- the rest of the document"],
    ["a closing tag", "</details>"],
    ["HTML beside code", "`a` <i> `b`"],
    ["HTML between marks of different lines", "a ` b\nc ` <b> ` d"],
    ["HTML between marks that are none", "\\`<b>\\`"],
  ])("is shown as it was written if it might not: %s", (_what, text) => {
    expect(prose(text)).toMatch(FENCED);
    expect(prose(text)).toContain(text);
  });

  it("loses nothing but the level of its headings", () => {
    const unit = fc.constantFrom("`", "```", "~~~", "\n", " ", "    ", "- ", "> ", "<b>", "#", "a");
    const kept = fc.property(fc.array(unit, { maxLength: 20 }), (parts) => {
      const text = parts.join("");
      const bare = (some: string) => some.replaceAll(/#/g, "");
      expect(bare(prose(text))).toContain(bare(text.replace(/\n$/, "")));
    });
    fc.assert(kept, { numRuns: 1_000 });
  });
});

/** Code in a line as a pattern says it that is slow, and easy to believe. */
const CODE_SPAN = /(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)/g;

describe("code among words", () => {
  it("goes from a run of backticks to the next one that is as long", () => {
    const unit = fc.constantFrom("`", "``", "a", "<b>", " ", "```");
    const alike = fc.property(fc.array(unit, { maxLength: 16 }), (parts) => {
      const line = `x${parts.join("")}`;
      const bare = line.replaceAll(CODE_SPAN, "");
      const isClosed = !bare.includes("`") || !line.includes("<b>");
      const isPlain = !/<b>|```/.test(bare) && isClosed;
      expect(FENCED.test(prose(line))).toBe(!isPlain);
    });
    fc.assert(alike, { numRuns: 5_000 });
  });

  it("P10: is looked for once for each run, also if none of them ever meets its like", () => {
    const runs = 2_000;
    const text = Array.from({ length: runs }, (_, n) => "`".repeat(n + 1)).join("a");
    const lookups = vi.spyOn(Map.prototype, "get");
    try {
      expect(prose(text)).toMatch(FENCED);
      expect(lookups.mock.calls.length).toBe(runs);
    } finally {
      lookups.mockRestore();
    }
  });
});

describe("a quotation", () => {
  it("is one on every line", () => {
    expect(quoted("a\n\nb")).toBe("> a\n>\n> b");
  });
});
