import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escaped, safeAddress } from "./html-text.ts";

describe("foreign text in HTML", () => {
  it("is never markup, nor the end of an attribute", () => {
    expect(escaped(`</p><script>alert("1")</script>&amp;' onload='x`)).toBe(
      "&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;&#39; onload=&#39;x",
    );
  });

  it("has no colours, titles and links that only terminals understand", () => {
    const coloured = "\u001b[1;31mred\u001b[0m \u009b2Jx\u001b]0;title\u0007y\u001b(B";
    expect(escaped(`${coloured}\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\`)).toBe(
      "red xylink",
    );
  });

  it("shows what nobody would see, and what turns the direction of a line", () => {
    expect(escaped("a\u0000b\u007fc\u0085d\u001b")).toBe("a␀b␡c[U+0085]d␛");
    expect(escaped("photo\u202egnp.exe\u202c \u2066x\u2069")).toBe(
      "photo[U+202E]gnp.exe[U+202C] [U+2066]x[U+2069]",
    );
    expect(escaped("a\r\nb\rc\td")).toBe("a\nb\nc\td");
  });

  const HOSTILE = ["\u001b[", "\u001b]", "\u001b]0;", "\u009b", "\u001b"];

  /**
   * Where this holds, no sequence is looked for beyond the next escape, so that each character is
   * looked at a fixed number of times, however many escapes there are.
   */
  it("P10: is read from escape to escape: what follows one changes nothing before it", () => {
    const plain = fc.constantFrom("a", "0", ";", " ", "[", "]", "\u0007", "\u009b", "\n");
    const part = fc.array(plain, { maxLength: 6 }).map((signs) => `\u001b${signs.join("")}`);
    const apart = fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      expect(escaped(parts.join(""))).toBe(parts.map(escaped).join(""));
    });
    fc.assert(apart, { numRuns: 2_000 });
  });

  it.each(HOSTILE)("P10: is as much for many of %j as for one, so many times", (unit) => {
    const count = 2_000;
    expect(escaped(unit.repeat(count)) === escaped(unit).repeat(count)).toBe(true);
  });
});

describe("an address", () => {
  it.each([
    ["https://example.org/a?b=c#d", "https://example.org/a?b=c#d"],
    ["HTTP://Example.org", "http://example.org/"],
    ["mailto:ann@example.org", "mailto:ann@example.org"],
    ["https://exämple.org/\u202e", "https://xn--exmple-cua.org/%E2%80%AE"],
  ])("of the web or of a person may be followed, in its plainest form: %s", (text, address) => {
    expect(safeAddress(text)).toBe(address);
  });

  it.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//example.org",
    "src/a.ts",
    "https://",
    "https://%",
    "",
  ])("of any other kind is only text: %j", (text) => {
    expect(safeAddress(text)).toBeNull();
  });
});
