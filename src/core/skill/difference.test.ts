import { describe, expect, it } from "vitest";
import { DIFFERENCE_LINES_MAX } from "../limits.ts";
import { NO_PERSONA, type Persona, type PersonaFile } from "../persona.ts";
import { broken, entry, loaded, skill } from "./skill.fixture.ts";
import { NO_SKILLS, type SkillEntry, type SkillSnapshot } from "./skill.ts";
import { personaDifference, skillDifference } from "./snapshot.ts";

const of = (...entries: readonly SkillEntry[]): SkillSnapshot => ({ entries, diagnostics: [] });

describe("the difference between two snapshots", () => {
  it("is nothing if they are equal", () => {
    const snapshot = loaded([skill("a"), broken("b")]);
    expect(skillDifference(snapshot, structuredClone(snapshot))).toBe("nothing changed");
    expect(skillDifference(NO_SKILLS, NO_SKILLS)).toBe("nothing changed");
  });

  it("names what came, went and changed, in the order of names", () => {
    const before = of(entry("gone", { source: "user" }), entry("kept"), entry("other"));
    const after = of(
      entry("kept"),
      entry("new", { source: "bundled" }),
      entry("other", { source: "user", summary: "New.", command: "o", body: "New." }),
    );
    expect(skillDifference(before, after)).toBe(
      "- gone (user)\n+ new (bundled)\n~ other: source, summary, alias, body",
    );
  });

  it("has every other field of an entry, too", () => {
    const after = entry("a", {
      path: "b/SKILL.md",
      invocation_mode: "tool_dispatch",
      command_tool: "shell",
      requires_tools: ["shell"],
      eligibility: { os: ["linux"], env: [], binaries: [] },
    });
    expect(skillDifference(of(entry("a")), of(after))).toBe(
      "~ a: path, mode, tool, required tools, eligibility",
    );
  });

  it("says why a skill is gone, and that it is well again", () => {
    const [good, bad] = [loaded([skill("a")]), loaded([broken("a")])];
    expect(skillDifference(good, bad)).toBe("- a (workspace)\n! a: malformed_frontmatter");
    expect(skillDifference(bad, good)).toBe(
      "+ a (workspace)\n= a: no longer malformed_frontmatter",
    );
  });

  it("P10: has a limit, and says how much it leaves out", () => {
    const many = Array.from({ length: DIFFERENCE_LINES_MAX + 3 }, (_, at) => entry(`s${at}`));
    const lines = skillDifference(NO_SKILLS, of(...many)).split("\n");
    expect(lines).toHaveLength(DIFFERENCE_LINES_MAX + 1);
    expect(lines.at(-1)).toBe("… and 3 more");
  });
});

describe("the difference between two personas", () => {
  const file = (name: PersonaFile["name"], text: string): PersonaFile => {
    return { name, source: "user", path: name, text };
  };
  const persona = (...files: readonly PersonaFile[]): Persona => ({ files, diagnostics: [] });

  it("is nothing if they are equal", () => {
    const one = persona(file("SOUL.md", "a"));
    expect(personaDifference(one, structuredClone(one))).toBe("nothing changed");
  });

  it("names files and lengths, and never what they say", () => {
    const before = persona(file("AGENTS.md", "abc"), file("SOUL.md", "secret"));
    const after = persona(file("AGENTS.md", "abcd"), file("USER.md", "xy"));
    expect(personaDifference(before, after)).toBe(
      "~ AGENTS.md (user, 3 characters -> user, 4 characters)\n" +
        "- SOUL.md (user, 6 characters)\n+ USER.md (user, 2 characters)",
    );
  });

  it("sees a file of the same text at another place", () => {
    const moved: PersonaFile = { ...file("SOUL.md", "a"), source: "workspace" };
    expect(personaDifference(persona(file("SOUL.md", "a")), persona(moved))).toContain("~ SOUL.md");
  });

  it("says why a file is not taken", () => {
    const fault = { name: "SOUL.md", code: "too_large", message: "", path: "SOUL.md" } as const;
    const after = { files: [], diagnostics: [fault] };
    expect(personaDifference(NO_PERSONA, after)).toBe("! SOUL.md: too_large");
    expect(personaDifference(after, NO_PERSONA)).toBe("= SOUL.md: no longer too_large");
  });
});
