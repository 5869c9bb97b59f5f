import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SKILL_FRONTMATTER_CHARS_MAX } from "../core/limits.ts";
import { PLAIN_HEADER } from "../core/skill/skill.fixture.ts";
import { parseSkillFile } from "./skill-file.ts";

const headerOf = (text: string) => {
  const reading = parseSkillFile(text);
  return reading.kind === "read" ? reading.header : reading.reason;
};
const block = (yaml: string) => `---\n${yaml}\n---\nBody.`;

describe("a SKILL.md", () => {
  it.each([
    ["nothing", ""],
    ["only a body", "# Title\n\nBody."],
    ["an empty block", "---\n---\n"],
    ["a block of comments", "---\n# nothing\n---\n"],
    ["a rule that is not in line 1", "Body.\n---\nsummary: no\n---"],
    ["four dashes", "----\nsummary: no\n----"],
  ])("has all defaults with %s", (_, text) => {
    expect(headerOf(text)).toEqual(PLAIN_HEADER);
  });

  it("has the body without the empty lines around it", () => {
    const text = "---\nsummary: a\n---\n\n \n  # Title\n\n---\nx: y\n---\n\n";
    expect(parseSkillFile(text)).toMatchObject({ body: "  # Title\n\n---\nx: y\n---" });
  });

  it("may have spaces after its dashes, and no newline at its end", () => {
    expect(headerOf("--- \nsummary: a\n---\t")).toMatchObject({ summary: "a" });
  });

  it("is read as YAML 1.2, in which yes and on are words", () => {
    expect(headerOf(block("summary: yes\ncommand: on"))).toMatchObject({
      summary: "yes",
      command: "on",
    });
  });

  it("may have its summary folded over lines, and quoted", () => {
    expect(headerOf(block("summary: >\n  one\n  two\n"))).toMatchObject({ summary: "one two" });
    expect(headerOf(block('summary: "a: b\\n c"'))).toMatchObject({ summary: "a: b c" });
  });
});

/** Nine levels of nine: nearly four hundred million words in a few lines. */
const BOMB = [
  "a: &a [x, x, x, x, x, x, x, x, x]",
  ..."bcdefghi".split("").map((name, at) => {
    const before = `*${"abcdefgh"[at]}`;
    return `${name}: &${name} [${Array(9).fill(before).join(", ")}]`;
  }),
].join("\n");

describe("a SKILL.md is malformed", () => {
  it.each([
    ["a block that is never closed", "---\nsummary: a\n", "no closing --- line"],
    ["nothing but the opening line", "---", "no closing --- line"],
    ["a block that is a list", block("- a\n- b"), "not a mapping"],
    ["a block that is a text", block("just words"), "not a mapping"],
    ["a block that is a number", block("42"), "not a mapping"],
    ["a key twice", block("summary: a\nsummary: b"), "unique at line 3"],
    ["a tab for an indent", block("eligibility:\n\tos: []"), "not plain YAML"],
    ["a quote that is never closed", block('summary: "a'), "not plain YAML"],
    ["a bracket that is never closed", block("requires_tools: [a"), "not plain YAML"],
    ["two documents", block("summary: a\n...\nsummary: b"), "not plain YAML"],
    ["a tag of somebody's", block("summary: !danger a"), "not plain YAML: Unresolved tag"],
    ["a tag for code", block('summary: !!js/function "x"'), "not plain YAML: Unresolved tag"],
    ["a tag for bytes", block("summary: !!binary aGk="), "not plain YAML: Unresolved tag"],
    ["an alias of nothing", block("summary: *none"), "not plain YAML"],
    ["a bomb of aliases", block(BOMB), "not plain YAML: it has an alias"],
    ["a mapping for a key", block("? {a: b}\n: c"), "not plain YAML"],
    ["a mode that there is not", block("invocation_mode: magic"), "invocation_mode is not"],
    ["a summary that is no text", block("summary: [a]"), "summary is not a text"],
    ["a list that is none", block("requires_tools: shell"), "requires_tools is not a list"],
    ["eligibility that is a list", block("eligibility: [linux]"), "eligibility is not a mapping"],
    ["a command that is a number", block("command: 7"), "command is not a text"],
    ["half a character", block('summary: "\\ud800"'), "half a character"],
    ["a NUL in its block", block("summary: a\0b"), "NUL"],
    ["a NUL in its body", "Body\0.", "NUL"],
    ["deep nesting", block(`summary: ${"[".repeat(9_000)}`), "nested too deeply"],
    ["a long block", block(`# ${"x".repeat(SKILL_FRONTMATTER_CHARS_MAX)}`), "longer than"],
  ])("with %s", (_, text, reason) => {
    const reading = parseSkillFile(text);
    expect(reading).toMatchObject({ kind: "fault", code: "malformed_frontmatter" });
    expect(reading.kind === "fault" && reading.reason).toContain(reason);
    expect(reading.kind === "fault" && reading.reason).not.toContain("\n");
  });

  it("or read, whatever it is, and never throws", () => {
    const lines = fc.constantFrom("---", "summary: a", "- b", "? c", "&a *a", "{", "]", "!!x y");
    const anyFile = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(lines, { maxLength: 12 }).map((all) => ["---", ...all].join("\n")),
    );
    fc.assert(
      fc.property(anyFile, (text) => {
        expect(["read", "fault"]).toContain(parseSkillFile(text).kind);
      }),
    );
  });
});
