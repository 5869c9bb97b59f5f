import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allowlisted, approvalKeys, matches } from "./allowlist.ts";

const here = (path: unknown) => ({ path });

describe("the approval keys of a tool call", () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    [
      "its command, where it executes",
      { kind: "execute", title: "Show status", rawInput: { command: "git status" } },
      ["execute:git status"],
    ],
    [
      "its command and arguments, where they come apart",
      { kind: "execute", title: "t", rawInput: { command: "git", args: ["push", "--force"] } },
      ["execute:git push --force"],
    ],
    [
      "all words of a command that comes as a list",
      { kind: "execute", title: "t", rawInput: { command: ["bash", "-lc", "rm -rf x"] } },
      ["execute:bash -lc rm -rf x"],
    ],
    [
      "its title, where it executes and shows no command",
      { kind: "execute", title: "git status", rawInput: { description: "status" } },
      ["execute:git status"],
    ],
    [
      "its title, where it executes and shows no input",
      { kind: "execute", title: "git status" },
      ["execute:git status"],
    ],
    ["its place", { kind: "edit", title: "Edit", locations: [here("/a")] }, ["edit:/a"]],
    [
      "each of its places, once, in their order",
      { kind: "edit", locations: [here("/b"), here("/a"), here("/b")] },
      ["edit:/b", "edit:/a"],
    ],
    [
      "its title, where it names no place",
      { kind: "fetch", title: "https://a.example/", locations: [] },
      ["fetch:https://a.example/"],
    ],
    [
      "its title, where its places are no list",
      { kind: "read", title: "/a", locations: here("/b") },
      ["read:/a"],
    ],
    ["of kind other, where it names none", { title: "mcp__tool" }, ["other:mcp__tool"]],
    ["of kind other, where its kind is no text", { kind: 7, title: "x" }, ["other:x"]],
    ["the command as it is, spaces included", command(" ls  -a "), ["execute: ls  -a "]],
  ])("are %s", (_what, toolCall, keys) => {
    expect(approvalKeys(toolCall)).toEqual(keys);
  });

  it.each<[string, Record<string, unknown>]>([
    ["nothing at all", {}],
    ["an empty title and no place", { kind: "other", title: "" }],
    ["a title of spaces and no place", { kind: "other", title: " \t\n" }],
    ["a title that is no text", { kind: "other", title: 7 }],
    ["an empty command", command("")],
    ["a command that is no text", command({ line: "rm" })],
    ["a command that is null", command(null)],
    ["a command with a word that is no text", command(["rm", { path: "/" }])],
    ["a command of no words", command([])],
    ["a command with arguments that are no text", command("git", { force: true })],
    ["a place without a path", { kind: "edit", title: "Edit", locations: [{ line: 3 }] }],
    ["a place with an empty path", { kind: "edit", title: "Edit", locations: [here("")] }],
    ["a place that is no object", { kind: "edit", title: "Edit", locations: ["/a"] }],
    ["one bad place among good ones", { kind: "edit", locations: [here("/a"), here(null)] }],
    ["an empty kind", { kind: "", title: "x" }],
    ["a kind that poses as a key", { kind: "edit:/src/a", locations: [here("/etc/passwd")] }],
  ])("are none for %s: it does not say what it touches", (_what, toolCall) => {
    expect(approvalKeys(toolCall)).toEqual([]);
  });

  it("P10: are none for a call with more than 256 places", () => {
    const at = (count: number) => Array.from({ length: count }, (_, n) => here(`/${n}`));
    expect(approvalKeys({ kind: "edit", locations: at(256) })).toHaveLength(256);
    expect(approvalKeys({ kind: "edit", locations: at(257) })).toEqual([]);
  });
});

function command(line: unknown, args?: unknown) {
  return { kind: "execute", title: "git status", rawInput: { command: line, args } };
}

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

  it("meets none over 1024 characters: such a call has no keys, and only `*` allows it", () => {
    const call = (chars: number) => ({ kind: "edit", title: "a".repeat(chars - 5) });
    expect(approvalKeys(call(1_024))).toEqual([key(1_024)]);
    expect(approvalKeys(call(1_025))).toEqual([]);
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
