import { describe, expect, it } from "vitest";
import { SKILL_INDEX_CHARS_MAX, SKILL_INDEX_SUMMARY_CHARS_MAX } from "../limits.ts";
import { NO_PERSONA, type Persona } from "../persona.ts";
import { instructionsOf, skillBlock } from "./instructions.ts";
import { entry } from "./skill.fixture.ts";
import { NO_SKILLS, type SkillEntry } from "./skill.ts";

const PERSONA: Persona = {
  files: [
    { name: "AGENTS.md", source: "workspace", path: "AGENTS.md", text: "\nUse tabs.\n" },
    { name: "SOUL.md", source: "user", path: "SOUL.md", text: "Be kind." },
  ],
  diagnostics: [],
};

const skills = (...entries: readonly SkillEntry[]) => ({ entries, diagnostics: [] });

describe("what an agent is told first", () => {
  it("is nothing where there is nothing to say", () => {
    expect(instructionsOf(NO_PERSONA, NO_SKILLS)).toBeNull();
  });

  it("is nothing where there are only the skills that every server has", () => {
    const bundled = entry("commit", { source: "bundled" });
    expect(instructionsOf(NO_PERSONA, skills(bundled))).toBeNull();
    const own = entry("deploy", { source: "workspace" });
    expect(instructionsOf(NO_PERSONA, skills(bundled, own))).toMatch(/- commit[\s\S]*- deploy/);
    expect(instructionsOf(PERSONA, skills(bundled))).toMatch(/Use tabs[\s\S]*- commit/);
  });

  it("names the tool that reads skills where the agent has it, and only there", () => {
    const own = skills(entry("deploy", { source: "workspace" }));
    expect(instructionsOf(NO_PERSONA, own)).not.toContain("read_skill");
    expect(instructionsOf(NO_PERSONA, own, true)).toContain("`read_skill`");
    expect(instructionsOf(PERSONA, NO_SKILLS, true)).not.toContain("read_skill");
  });

  it("is the persona's files in order, each under its name", () => {
    expect(instructionsOf(PERSONA, NO_SKILLS)).toBe(
      "# AGENTS.md\n\nUse tabs.\n\n# SOUL.md\n\nBe kind.",
    );
  });

  it("is then the skills by name and summary, and how they are used", () => {
    const told = instructionsOf(
      PERSONA,
      skills(
        entry("commit", { summary: "Commits.", body: "SECRET BODY" }),
        entry("plain"),
        entry("run", { summary: "Runs.", invocation_mode: "tool_dispatch" }),
      ),
    );
    expect(told?.startsWith("# AGENTS.md\n")).toBe(true);
    expect(
      told?.endsWith(
        "\n\n- commit: Commits.\n- plain\n- run: Runs. (the user runs it, without you)",
      ),
    ).toBe(true);
    for (const rule of ["at most one", "before you use it", "choosing none", "`/skill NAME`"]) {
      expect(told).toContain(rule);
    }
    expect(told).not.toContain("SECRET BODY");
  });

  it("P10: has a limit, and says how many skills it leaves out", () => {
    const summary = "s".repeat(SKILL_INDEX_SUMMARY_CHARS_MAX + 1);
    const many = Array.from({ length: 1_000 }, (_, at) => entry(`skill-${at}`, { summary }));
    const told = instructionsOf(NO_PERSONA, skills(...many)) ?? "";
    expect(told.length).toBeLessThan(SKILL_INDEX_CHARS_MAX + 1_000);
    const [, left] = /and (\d+) more, which the user can list with `\/skills`$/.exec(told) ?? [];
    expect(told.match(/^- skill-/gm)?.length).toBe(1_000 - Number(left));
    expect(told).not.toContain(summary);
  });
});

describe("the text of a chosen skill", () => {
  it("is marked as one, and has its body whole", () => {
    expect(skillBlock(entry("commit", { body: "Line 1\n\nLine 2" }))).toBe(
      'The user chose the skill "commit" for this request. Its instructions:\n' +
        '<skill name="commit">\nLine 1\n\nLine 2\n</skill>',
    );
  });

  it("has a mark that no name can break out of", () => {
    expect(skillBlock(entry('a"><b&'))).toContain('<skill name="a&quot;>&lt;b&amp;">\n');
  });
});
