import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SKILLS_BYTES_MAX } from "../limits.ts";
import { byCodePoint } from "../text.ts";
import type { SkillHeader } from "./header.ts";
import {
  broken,
  codes,
  loaded,
  names,
  PLAIN_HEADER,
  type PlayedSkill,
  SURROUNDINGS,
  skill,
} from "./skill.fixture.ts";
import { SKILL_SOURCES } from "./skill.ts";
import { canonicalJson } from "./snapshot.ts";

const one = (header: Partial<SkillHeader>) => loaded([skill("a", "workspace", header), skill("b")]);
const needs = (needed: Partial<SkillHeader["eligibility"]>) => {
  return { eligibility: { ...PLAIN_HEADER.eligibility, ...needed } };
};

describe("a snapshot's entry", () => {
  it("has what the file said, the body included", () => {
    const header = { summary: "Says hi.", command: "hi", commandTool: "shell" };
    expect(loaded([skill("a", "user", header, "Say hi.")]).entries).toEqual([
      {
        skill_name: "a",
        source: "user",
        path: "a/SKILL.md",
        summary: "Says hi.",
        invocation_mode: "llm_orchestration",
        command: "hi",
        command_tool: null,
        requires_tools: [],
        eligibility: { os: [], env: [], binaries: [] },
        body: "Say hi.",
      },
    ]);
  });

  it("is there although the file has keys that nobody knows, which are named", () => {
    const snapshot = one({ unknownKeys: ["colour", "eligibility.moon"] });
    expect(names(snapshot)).toEqual(["a (workspace)", "b (workspace)"]);
    expect(codes(snapshot)).toEqual(["a: unknown_frontmatter_key"]);
    expect(snapshot.diagnostics[0]?.message).toMatch(/colour, eligibility\.moon/);
  });

  it("has the directory's name, whatever the file calls itself", () => {
    const snapshot = one({ declaredName: "other" });
    expect(names(snapshot)).toEqual(["a (workspace)", "b (workspace)"]);
    expect(codes(snapshot)).toEqual(["a: name_conflict"]);
    expect(codes(one({ declaredName: "a" }))).toEqual([]);
  });
});

describe("a skill that is not for this machine is absent, with the reason", () => {
  it.each([
    [needs({ os: ["darwin", "win32"] }), "ineligible", "for darwin, win32, and this is linux"],
    [needs({ env: ["HOME", "TOKEN"] }), "ineligible", "not set: TOKEN"],
    [needs({ binaries: ["git", "rg"] }), "ineligible", "not on PATH: rg"],
    [{ requiresTools: ["shell", "x:y"] }, "missing_required_tools", "not available: x:y"],
  ] as const)("%j", (header, code, words) => {
    const snapshot = one(header);
    expect(names(snapshot)).toEqual(["b (workspace)"]);
    expect(codes(snapshot)).toEqual([`a: ${code}`]);
    expect(snapshot.diagnostics[0]?.message).toContain(words);
  });

  it("and all reasons are told, not only the first", () => {
    const eligibility = { os: ["darwin"], env: ["NONE"], binaries: ["none"] };
    const snapshot = one({
      eligibility,
      requiresTools: ["none"],
      command: "NOT AN ALIAS",
      invocationMode: "tool_dispatch",
    });
    expect(codes(snapshot)).toEqual([
      "a: ineligible",
      "a: invalid_command_alias",
      "a: missing_required_tools",
      "a: unknown_command_tool",
    ]);
    expect(snapshot.diagnostics[0]?.message).toBe(
      "It is for darwin, and this is linux; these variables are not set: NONE; " +
        "these programs are not on PATH: none.",
    );
  });

  it("and it is taken where it is at home", () => {
    const eligibility = { os: ["linux"], env: ["HOME"], binaries: ["git"] };
    expect(codes(one({ eligibility, requiresTools: ["shell"] }))).toEqual([]);
  });

  it("and a good one in a weaker root does not take its place", () => {
    const picky = skill("a", "workspace", needs({ os: ["win32"] }));
    expect(names(loaded([skill("a", "bundled"), picky]))).toEqual([]);
  });

  it("and one that is passed over is not judged", () => {
    const picky = skill("a", "bundled", needs({ os: ["win32"] }));
    expect(codes(loaded([skill("a"), picky]))).toEqual(["a: precedence_conflict"]);
  });
});

describe("an alias", () => {
  it.each(["Hi", "h i", "", "hü", "/hi", "hi\n", "h".repeat(65)])(
    "of another pattern excludes its skill: %j",
    (command) => {
      const snapshot = one({ command });
      expect(names(snapshot)).toEqual(["b (workspace)"]);
      expect(codes(snapshot)).toEqual(["a: invalid_command_alias"]);
    },
  );

  it.each(["hi", "say-hi_2", "0"])("of the pattern is kept: %s", (command) => {
    expect(one({ command }).entries[0]?.command).toBe(command);
  });

  it("that is a built-in command excludes its skill", () => {
    const snapshot = one({ command: "help" });
    expect(names(snapshot)).toEqual(["b (workspace)"]);
    expect(codes(snapshot)).toEqual(["a: command_alias_collision"]);
  });

  it("that several ask for belongs to none of them; they keep their names", () => {
    const header = { command: "hi" };
    const [a, b] = [skill("a", "user", header), skill("b", "bundled", header)];
    const snapshot = loaded([b, skill("c", "user", { command: "ho" }), a]);
    expect(snapshot.entries.map(({ command }) => command)).toEqual([null, null, "ho"]);
    expect(codes(snapshot)).toEqual(["a: alias_ambiguous", "b: alias_ambiguous"]);
    expect(snapshot.diagnostics[0]?.message).toContain("/hi, because each asks for it: a, b");
  });

  it("is not contested by a skill that is absent", () => {
    const absent = skill("a", "user", { command: "hi", ...needs({ os: ["win32"] }) });
    const snapshot = loaded([absent, skill("b", "user", { command: "hi" })]);
    expect(snapshot.entries).toMatchObject([{ skill_name: "b", command: "hi" }]);
  });
});

describe("a skill that dispatches to a tool", () => {
  const mode = { invocationMode: "tool_dispatch" } as const;

  it("has its tool", () => {
    expect(one({ ...mode, commandTool: "shell" }).entries[0]?.command_tool).toBe("shell");
  });

  it.each([null, "none"])("is excluded if that is %s", (commandTool) => {
    const snapshot = one({ ...mode, commandTool });
    expect(names(snapshot)).toEqual(["b (workspace)"]);
    expect(codes(snapshot)).toEqual(["a: unknown_command_tool"]);
  });
});

describe("P10: all skills together", () => {
  it("have a limit; what does not fit is left out in the order of names", () => {
    const body = "x".repeat(SKILLS_BYTES_MAX / 2 - 1_000);
    const large = ["c", "a", "b"].map((name) => skill(name, "user", {}, body));
    const snapshot = loaded([...large, skill("d")]);
    expect(names(snapshot)).toEqual(["a (user)", "b (user)", "d (workspace)"]);
    expect(codes(snapshot)).toEqual(["c: too_large"]);
  });
});

/** Few names and aliases, so that they meet. */
const anySkill: fc.Arbitrary<PlayedSkill> = fc
  .record({
    name: fc.constantFrom("a", "A", "b", "caf\u00e9", "cafe\u0301", "\u{1f3b5}", "\uffee", "a b"),
    source: fc.constantFrom(...SKILL_SOURCES),
    command: fc.constantFrom(null, "hi", "ho", "help", "NO"),
    os: fc.constantFrom([], ["linux"], ["win32"]),
    kind: fc.constantFrom("good", "broken", "empty"),
  })
  .map(({ name, source, command, os, kind }) => {
    if (kind === "broken") return broken(name, source);
    return { ...skill(name, source, { command, ...needs({ os }) }), hasFile: kind === "good" };
  });

/** A directory has each name once. */
const anyTree = fc.uniqueArray(anySkill, {
  selector: ({ name, source }) => `${source}/${name}`,
  maxLength: 24,
});

describe("a snapshot of any tree", () => {
  it("is the same to the byte, in whatever order the directories were listed", () => {
    const shuffled = anyTree.chain((tree) => {
      const all = fc.shuffledSubarray(tree, { minLength: tree.length, maxLength: tree.length });
      return fc.tuple(fc.constant(tree), all);
    });
    fc.assert(
      fc.property(shuffled, ([tree, again]) => {
        expect(canonicalJson(loaded(again))).toBe(canonicalJson(loaded(tree)));
      }),
    );
  });

  it("is sorted, has each name once, and says something of all that is not in it", () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        const { entries, diagnostics } = loaded(tree, SURROUNDINGS);
        const found = entries.map((entry) => entry.skill_name);
        expect(found).toEqual([...new Set(found)].toSorted(byCodePoint));
        const told = [...entries, ...diagnostics].map((each) => each.skill_name.toLowerCase());
        const there = tree.map(({ name }) => name.normalize("NFC").toLowerCase());
        expect(new Set(told)).toEqual(new Set(there));
      }),
    );
  });
});
