import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allowlisted, matches } from "./gate.ts";

describe("a pattern", () => {
  it.each([
    ["execute:git status", "execute:git status"],
    ["execute:git *", "execute:git log -p"],
    ["execute:git *", "execute:git "],
    ["execute:*", "execute:anything at all"],
    ["execute:* --help", "execute:cargo build --help"],
    ["execute:git * origin *", "execute:git push origin main"],
    ["edit:/src/*", "edit:/src/a/b.ts"],
    ["edit:/src/*.ts", "edit:/src/a.test.ts"],
    ["*:/src/*", "delete:/src/a"],
    ["edit:*a*b*", "edit:ab"],
    ["edit:**", "edit:/a"],
    ["edit:/a*", "edit:/a"],
    ["fetch:https://a.example/*", "fetch:https://a.example/?q=1&r=(2);3"],
    ["edit:/src/*", "edit:/src/..a/b..c/...d"],
    ["execute:go *", "execute:go test ./..."],
    ["execute:git *", "execute:git diff origin/main..HEAD"],
    ["execute:ls *", "execute:ls .. ../a"],
    ["execute:git *", 'execute:git commit -m "it\'s done"'],
    ["edit:/*/é/👩‍💻.md", "edit:/ü/é/👩‍💻.md"],
  ])("%s allows %s", (pattern, key) => {
    expect(matches(pattern, key)).toBe(true);
  });

  it.each([
    ["", "edit:/a"],
    ["edit:/a", "edit:/ab"],
    ["edit:/ab", "edit:/a"],
    ["edit:/src/*", "edit:/src"],
    ["edit:/src/*", "write:/src/a"],
    ["edit:/src/*", "edit:/SRC/a"],
    ["edit:/src/*.ts", "edit:/src/a.tsx"],
    ["execute:git *", "execute:git"],
    ["execute:git *", "execute:gitx log"],
    ["execute:git *", "execute: git log"],
    ["execute:git *", "execute:git\u00a0log"],
    ["edit:ab*bc", "edit:abc"],
    ["edit:/a?c", "edit:/abc"],
    ["edit:/[ab]", "edit:/a"],
    ["edit:/.*", "edit:/x"],
    ["edit:/e\u0301*", "edit:/\u00e9a"],
  ])("%j does not allow %j", (pattern, key) => {
    expect(matches(pattern, key)).toBe(false);
  });
});

describe("a wildcard in a command", () => {
  const smuggled = [
    ...[";", "&", "&&", "|", "||", ">", "<", "<<", "$", "`", "(", ")", "{", "}", "\\"],
    ...["\n", "\r", "\r\n", "\t", "\0", "\u001b", "\u007f", "\u0085", "\u2028", "\u2029"],
    ..."\ud800",
  ];

  it.each(smuggled)("does not stand for %j", (operator) => {
    const key = `execute:git log ${operator} rm -rf .`;
    expect(matches("execute:git *", key)).toBe(false);
    expect(matches("*:git *", key)).toBe(false);
    expect(matches("execute:*", `execute:${operator}`)).toBe(false);
  });

  it.each(["other:", "_custom:", "Execute:"])("is as careful in %s, which may be one", (kind) => {
    expect(matches(`${kind}git *`, `${kind}git log; rm -rf .`)).toBe(false);
    expect(matches(`${kind}git *`, `${kind}git log`)).toBe(true);
  });

  it.each([
    "./scripts/../evil",
    "./scripts/..",
    "./scripts/.. x",
    "./scripts/a/../../evil",
    "./scripts/'..'/evil",
    './scripts/.""./evil',
    "./scripts/.?/evil",
    "./scripts/.*/evil",
    "./scripts/.[.]/evil",
  ])("does not climb out of a folder: %s", (line) => {
    expect(matches("execute:./scripts/*", `execute:${line}`)).toBe(false);
  });

  it("lets a command through that the pattern spells out, operators and all", () => {
    const key = "execute:cd a && make | tee ../../log\n";
    expect(matches(key, key)).toBe(true);
    expect(matches(`${key}*`, `${key}x`)).toBe(false);
  });
});

describe("a wildcard in a path or an address", () => {
  it.each([
    "edit:/src/../secret",
    "edit:/src/..",
    "edit:/src/a/../../../secret",
    "edit:/src//../secret",
    "edit:/src/./../secret",
    "edit:/src/..\\..\\secret",
    "edit:/src/%2e%2e/secret",
    "edit:/src/.%2E/secret",
    "edit:/src/..%2fsecret",
    "edit:/src/a\\..\\secret",
    "edit:/src/a%2f..%2Fsecret",
    "edit:/src/a%5c..%5Csecret",
    "edit:/src/..?x",
    "edit:/src/..#x",
    "edit:/src/a\nb",
    "edit:/src/a\u0000b",
    "edit:/src/a\u2028b",
    "edit:/src/\udfffa",
  ])("does not stand for %j", (key) => {
    expect(matches("edit:/src/*", key)).toBe(false);
    expect(matches("*:/src/*", key)).toBe(false);
  });

  it("does not stand for a way up from wherever the agent is", () => {
    expect(matches("edit:*", "edit:../secret")).toBe(false);
    expect(matches("edit:*", "edit:..")).toBe(false);
  });

  it("lets a path through that the pattern spells out", () => {
    expect(matches("edit:/src/../secret", "edit:/src/../secret")).toBe(true);
  });
});

describe("P10: a pattern against a long key", () => {
  const key = (chars: number) => `edit:${"a".repeat(chars - 5)}`;

  it("meets none over 1024 characters, which only `*` allows", () => {
    expect(allowlisted([key(1_024)], ["edit:*"])).toBe(true);
    expect(allowlisted([key(1_025)], ["edit:*", key(1_025)])).toBe(false);
    expect(allowlisted([key(1_025)], ["*"])).toBe(true);
  });

  it("takes no more than the product of their lengths, however many wildcards there are", () => {
    // With 500 wildcards a backtracking matcher would not come back at all: 2^500 ways.
    for (const stars of [4, 500]) {
      expect(matches(`${"*a".repeat(stars)}*b`, key(1_024))).toBe(false);
      expect(matches(`edit:${"*a".repeat(stars)}*`, key(1_024))).toBe(true);
    }
    expect(matches(`edit:*${"a".repeat(600)}b`, key(1_024))).toBe(false);
    expect(matches("*a*a*a*a*b", "a".repeat(1_000_000))).toBe(false);
  });
});

describe("a pattern of wildcards and plain letters", () => {
  const parts = fc.array(fc.stringMatching(/^[ab]{0,3}$/), { minLength: 1, maxLength: 6 });

  it("allows every key that has its fixed parts in order with anything between", () => {
    const property = fc.property(
      parts,
      fc.array(fc.stringMatching(/^[abc]{0,4}$/)),
      (texts, fill) => {
        const key = texts.map((text, n) => (n === 0 ? text : `${fill[n] ?? ""}${text}`)).join("");
        expect(matches(`read:${texts.join("*")}`, `read:${key}`)).toBe(true);
      },
    );
    fc.assert(property);
  });

  it("agrees with the regular expression of the same meaning", () => {
    const property = fc.property(parts, fc.stringMatching(/^[ab]{0,12}$/), (texts, key) => {
      const expected = new RegExp(`^read:${texts.join(".*")}$`).test(`read:${key}`);
      expect(matches(`read:${texts.join("*")}`, `read:${key}`)).toBe(expected);
    });
    fc.assert(property);
  });
});

describe("an allowlist", () => {
  it("allows a call only if each of its keys has a pattern that allows it", () => {
    const patterns = ["edit:/src/*", "edit:/docs/*"];
    expect(allowlisted(["edit:/src/a", "edit:/docs/b"], patterns)).toBe(true);
    expect(allowlisted(["edit:/src/a", "edit:/etc/passwd"], patterns)).toBe(false);
    expect(allowlisted(["edit:/etc/passwd", "edit:/src/a"], patterns)).toBe(false);
  });

  it("allows nothing if it is empty", () => {
    expect(allowlisted(["read:/a"], [])).toBe(false);
    expect(allowlisted([], [])).toBe(false);
  });

  it("allows everything by the lone *, and a call without keys by nothing else", () => {
    const wild = "execute:a; b\n../..";
    expect(allowlisted([wild, "edit:.."], ["*"])).toBe(true);
    expect(allowlisted([], ["read:*", "*"])).toBe(true);
    expect(allowlisted([], ["read:*", "*:*", "**", ""])).toBe(false);
  });

  it("does not take two wildcards for the lone *", () => {
    expect(allowlisted(["execute:a; b"], ["**"])).toBe(false);
  });

  it("never allows by any pattern but * what it holds for smuggling", () => {
    const patterns = fc.array(fc.stringMatching(/^[a-z:/ ]{0,4}\*[a-z:/ ]{0,4}$/), {
      maxLength: 8,
    });
    const property = fc.property(patterns, fc.string(), fc.string(), (given, before, after) => {
      const others = given.filter((pattern) => pattern !== "*");
      expect(allowlisted([`execute:${before};${after}`], others)).toBe(false);
      expect(allowlisted([`edit:${before}/../${after}`], others)).toBe(false);
    });
    fc.assert(property);
  });
});

describe("a key that holds a whole call", () => {
  const key = 'read=Query {"table":"users"}';

  it("is matched by itself and by the lone star, and by no other pattern", () => {
    expect(matches(key, key)).toBe(true);
    expect(matches("*", key)).toBe(true);
    expect(["read:*", "read*", "read=*", "*:*"].map((one) => matches(one, key))).not.toContain(
      true,
    );
  });
});
