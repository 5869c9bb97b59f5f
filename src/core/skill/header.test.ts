import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SKILL_NEED_CHARS_MAX, SKILL_NEEDS_MAX, SKILL_SUMMARY_CHARS_MAX } from "../limits.ts";
import { readHeader } from "./header.ts";
import { PLAIN_HEADER } from "./skill.fixture.ts";

describe("a header", () => {
  it.each([undefined, null, {}, { summary: null, eligibility: null, requires_tools: null }])(
    "has the defaults where it says nothing: %j",
    (parsed) => {
      expect(readHeader(parsed)).toEqual({ header: PLAIN_HEADER, fault: null });
    },
  );

  it("has every key of the seed's format", () => {
    const parsed = {
      summary: "Runs it.",
      invocation_mode: "tool_dispatch",
      command: "run-it",
      command_tool: "shell",
      requires_tools: ["shell", "files:read", "shell"],
      eligibility: { os: ["linux"], env: ["HOME"], binaries: ["git", "clang++-18"] },
    };
    expect(readHeader(parsed).header).toEqual({
      summary: "Runs it.",
      invocationMode: "tool_dispatch",
      command: "run-it",
      commandTool: "shell",
      requiresTools: ["shell", "files:read"],
      eligibility: { os: ["linux"], env: ["HOME"], binaries: ["git", "clang++-18"] },
      declaredName: null,
      unknownKeys: [],
    });
  });

  it("may be of the public format, whose description is the summary", () => {
    const parsed = {
      name: "pdf",
      description: "Reads\n  PDF files.\n",
      license: "MIT",
      compatibility: "any",
      "allowed-tools": "Bash(git:*) Read",
      metadata: { author: "somebody", version: 1 },
    };
    const header = { ...PLAIN_HEADER, summary: "Reads PDF files.", declaredName: "pdf" };
    expect(readHeader(parsed)).toEqual({ header, fault: null });
  });

  it("has the summary for its summary if it has both", () => {
    expect(readHeader({ summary: "a", description: "b" }).header?.summary).toBe("a");
  });

  it("ignores keys of neither format, and names them in order", () => {
    const parsed = JSON.parse('{"zoo":1,"__proto__":{"x":1},"eligibility":{"moon":[]},"a\\nb":2}');
    const keys = ["__proto__", "a\\u{a}b", "eligibility.moon", "zoo"];
    expect(readHeader(parsed).header?.unknownKeys).toEqual(keys);
  });
});

describe("a header is malformed", () => {
  it.each([
    ["text", "the frontmatter is not a mapping"],
    [["summary"], "the frontmatter is not a mapping"],
    [7, "the frontmatter is not a mapping"],
    [{ summary: 7 }, "summary is not a text"],
    [{ summary: ["a"] }, "summary is not a text"],
    [{ summary: "\ud800" }, "summary has half a character"],
    [{ description: { a: 1 } }, "description is not a text"],
    [{ name: 7 }, "name is not a text"],
    [{ invocation_mode: "magic" }, "invocation_mode is not llm_orchestration or tool_dispatch"],
    [{ invocation_mode: true }, "invocation_mode is not llm_orchestration or tool_dispatch"],
    [{ command: 7 }, "command is not a text"],
    [{ command_tool: ["shell"] }, "command_tool is not a text"],
    [{ command_tool: "a b" }, "command_tool is not a name"],
    [{ requires_tools: "shell" }, "requires_tools is not a list"],
    [{ requires_tools: [7] }, "requires_tools has something that is not a name"],
    [{ requires_tools: [""] }, "requires_tools has something that is not a name"],
    [{ eligibility: ["linux"] }, "eligibility is not a mapping"],
    [{ eligibility: "linux" }, "eligibility is not a mapping"],
    [{ eligibility: { os: "linux" } }, "eligibility.os is not a list"],
    [{ eligibility: { env: [null] } }, "eligibility.env has something that is not a name"],
    [{ eligibility: { binaries: ["/bin/sh"] } }, "eligibility.binaries has something"],
    [{ eligibility: { binaries: [".."] } }, "eligibility.binaries has something"],
    [{ eligibility: { binaries: ["a\\b"] } }, "eligibility.binaries has something"],
    [{ summary: "s".repeat(SKILL_SUMMARY_CHARS_MAX + 1) }, "summary is longer than"],
    [{ requires_tools: Array(SKILL_NEEDS_MAX + 1).fill("a") }, "requires_tools has more than"],
    [{ requires_tools: ["a".repeat(SKILL_NEED_CHARS_MAX + 1)] }, "requires_tools has something"],
  ])("if it is %j", (parsed, fault) => {
    const read = readHeader(parsed);
    expect(read.header).toBeNull();
    expect(read.fault?.startsWith(fault)).toBe(true);
  });

  it("and all of its faults are told", () => {
    const fault = "summary is not a text; command is not a text; eligibility.os is not a list";
    expect(readHeader({ summary: 1, command: 2, eligibility: { os: 3 } }).fault).toBe(fault);
  });

  it("or read, whatever it is", () => {
    const anyHeader = fc.oneof(
      fc.anything(),
      fc.dictionary(fc.constantFrom("summary", "command", "eligibility", "x"), fc.anything()),
    );
    fc.assert(
      fc.property(anyHeader, (parsed) => {
        const { header, fault } = readHeader(parsed);
        expect((header === null) !== (fault === null)).toBe(true);
      }),
    );
  });
});
