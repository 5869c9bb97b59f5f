import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as limits from "../core/limits/loader.ts";
import { PERSONA_FILES } from "../core/persona.ts";
import { SKILL_DIAGNOSTIC_CODES } from "../core/skill/skill.ts";
import { parseSkillFile } from "./skill-file.ts";

const PAGE = readFileSync(new URL("../../docs/skills.md", import.meta.url), "utf8");
const section = (title: string) => PAGE.split(`## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
const firstCells = (title: string) => {
  return [...section(title).matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell]) => cell);
};

describe("docs/skills.md", () => {
  it("has each diagnostic, and no others", () => {
    expect(firstCells("Diagnostics").toSorted()).toEqual(SKILL_DIAGNOSTIC_CODES.toSorted());
  });

  it("has the persona files in their order", () => {
    expect(firstCells("Personas")).toEqual([...PERSONA_FILES]);
  });

  it("P10: has the limits that a person can meet", () => {
    const told = [...section("Limits").matchAll(/\d+/g)].map(([number]) => Number(number));
    expect(told).toEqual([
      limits.SKILL_FILE_BYTES_MAX,
      limits.SKILL_FRONTMATTER_CHARS_MAX,
      limits.SKILL_NAME_CHARS_MAX,
      limits.SKILL_ALIAS_CHARS_MAX,
      limits.SKILL_SUMMARY_CHARS_MAX,
      limits.SKILL_NEEDS_MAX,
      limits.SKILLS_MAX,
      limits.SKILLS_BYTES_MAX,
      limits.SKILLS_READ_BYTES_MAX,
      limits.SKILL_ROOT_ENTRIES_MAX,
      limits.SKILL_DIAGNOSTICS_MAX,
      limits.SKILL_INDEX_CHARS_MAX,
      limits.PERSONA_FILE_BYTES_MAX,
    ]);
  });

  it("has examples that are what they seem", () => {
    const examples = [...PAGE.matchAll(/```markdown\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
    const headers = examples.map((text) => {
      const reading = parseSkillFile(text);
      return reading.kind === "read" ? reading.header : reading.reason;
    });
    expect(headers).toMatchObject([
      { command: "notes", eligibility: { binaries: ["git"] }, unknownKeys: [] },
      { declaredName: "pdf-forms", summary: expect.stringMatching(/^Fill in/), unknownKeys: [] },
    ]);
  });
});
