import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SKILL_DIAGNOSTIC_CODES, type SkillSnapshot } from "../skill/skill.ts";
import { BUILT_IN_NAMES, readSlash } from "./commands.ts";
import { commandHelp } from "./reply.ts";
import { resolveSlash } from "./resolve.ts";
import { skillHelp, skillsListed } from "./skill-reply.ts";
import { AGENT_COMMANDS, remark, SNAPSHOT, skill } from "./snapshot.fixture.ts";

/** Halves of characters, too: what a caller sends need not be text that a terminal can show. */
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit));
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: anyUnit, maxLength: 60 }),
);
const anyWord = fc.constantFrom(
  ...BUILT_IN_NAMES,
  ...AGENT_COMMANDS,
  ...SNAPSHOT.entries.map((entry) => entry.skill_name),
  "sh",
  "two",
  "list",
);
const anyLine = fc.oneof(
  anyText.map((text) => `/${text}`),
  fc.array(fc.oneof(anyWord, anyText), { maxLength: 4 }).map((words) => `/${words.join(" ")}`),
  anyText,
);

const anySkill = fc.record({ name: anyText, summary: anyText, command: fc.option(anyText) });
const anyRemark = fc.record({
  name: anyText,
  code: fc.constantFrom(...SKILL_DIAGNOSTIC_CODES),
  message: anyText,
});
const anySnapshot: fc.Arbitrary<SkillSnapshot> = fc
  .record({
    skills: fc.array(anySkill, { maxLength: 8 }),
    remarks: fc.array(anyRemark, { maxLength: 8 }),
  })
  .map(({ skills, remarks }) => ({
    entries: skills.map(({ name, ...more }) => skill(name, more)),
    diagnostics: remarks.map(({ name, code, message }) => remark(name, code, message)),
  }));

/** What a line may name without being unknown. */
const KNOWN = new Set([
  ...BUILT_IN_NAMES,
  ...AGENT_COMMANDS,
  ...SNAPSHOT.entries.flatMap((entry) => entry.command ?? []),
]);

describe("what a line means", () => {
  it("is said of every text, and always the same", () => {
    const ways = fc.tuple(anyLine, anySnapshot, fc.array(anyText));
    fc.assert(
      fc.property(ways, ([line, snapshot, commands]) => {
        const first = JSON.stringify(resolveSlash(line, snapshot, commands));
        expect(JSON.stringify(resolveSlash(line, snapshot, commands))).toBe(first);
      }),
    );
  });

  it("is nothing for a name that is neither ours nor a skill's alias nor the agent's", () => {
    fc.assert(
      fc.property(anyLine, (line) => {
        const name = readSlash(line)?.name;
        fc.pre(name !== undefined && !KNOWN.has(name) && name !== "two");
        const found = resolveSlash(line, SNAPSHOT, AGENT_COMMANDS);
        expect(found).toMatchObject({ kind: "refused", result: { code: "unknown_command" } });
      }),
    );
  });

  it("is nothing for a known name in another case, or for a part of one", () => {
    const names = fc.constantFrom(...KNOWN);
    fc.assert(
      fc.property(names, fc.nat(), fc.boolean(), (name, at, cuts) => {
        const index = at % name.length;
        const raised = name.slice(0, index) + (name[index] ?? "").toUpperCase();
        const other = cuts ? name.slice(0, index) : raised + name.slice(index + 1);
        fc.pre(other !== "" && !KNOWN.has(other));
        const found = resolveSlash(`/${other}`, SNAPSHOT, AGENT_COMMANDS);
        expect(found).toMatchObject({ kind: "refused", result: { code: "unknown_command" } });
      }),
    );
  });

  it("never is a skill that the snapshot does not have", () => {
    fc.assert(
      fc.property(anyLine, anySnapshot, (line, snapshot) => {
        const found = resolveSlash(line, snapshot, []);
        if (found.kind === "skill") expect(snapshot.entries).toContain(found.entry);
      }),
    );
  });
});

describe("what is answered from a snapshot", () => {
  it("is always the same, is well-formed text, and has no body in it", () => {
    const ways = fc.tuple(anySnapshot, fc.array(anyText), anyText);
    fc.assert(
      fc.property(ways, ([snapshot, commands, name]) => {
        const answers = () => [
          skillsListed(snapshot),
          commandHelp(snapshot, commands),
          skillHelp(snapshot, snapshot.entries[0]?.skill_name ?? name),
        ];
        const first = JSON.stringify(answers());
        expect(JSON.stringify(answers())).toBe(first);
        expect(first).not.toContain("The instructions of");
        for (const { message } of answers()) {
          expect(message.isWellFormed()).toBe(true);
          // No control character but the end of a line, and nothing that turns a line around.
          expect(message).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e]/u);
        }
      }),
    );
  });
});
