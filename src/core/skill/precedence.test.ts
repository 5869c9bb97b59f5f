import { describe, expect, it } from "vitest";
import { SKILL_DIAGNOSTICS_MAX, SKILL_NAME_CHARS_MAX, SKILLS_MAX } from "../limits.ts";
import { precedenceOf } from "./precedence.ts";
import { broken, codes, loaded, names, skill } from "./skill.fixture.ts";
import type { SkillSource } from "./skill.ts";

const sources = (...all: SkillSource[]) => all.map((source) => skill("a", source));

describe("a name in several roots", () => {
  it.each([
    [["bundled", "user"], "user", "not that of bundled"],
    [["bundled", "workspace"], "workspace", "not that of bundled"],
    [["user", "workspace"], "workspace", "not that of user"],
    [["bundled", "user", "workspace"], "workspace", "not that of user and bundled"],
  ] as const)("%s: %s is used, and the conflict recorded", (roots, winner, words) => {
    for (const found of [sources(...roots), sources(...roots).toReversed()]) {
      const snapshot = loaded(found);
      expect(names(snapshot)).toEqual([`a (${winner})`]);
      expect(snapshot.entries[0]?.body).toBe(`Body of a (${winner}).`);
      const [conflict, ...others] = snapshot.diagnostics;
      expect(others).toEqual([]);
      expect(conflict).toMatchObject({ code: "precedence_conflict", source: winner });
      expect(conflict?.message).toContain(words);
    }
  });

  it("has no skill if the winner is malformed, whatever stands behind it", () => {
    const snapshot = loaded([skill("a", "bundled"), skill("a", "user"), broken("a"), skill("b")]);
    expect(names(snapshot)).toEqual(["b (workspace)"]);
    expect(codes(snapshot)).toEqual(["a: malformed_frontmatter", "a: precedence_conflict"]);
  });

  it("is not contested by a directory without SKILL.md", () => {
    const snapshot = loaded([skill("a", "bundled"), { ...skill("a"), hasFile: false }]);
    expect(names(snapshot)).toEqual(["a (bundled)"]);
    expect(snapshot.diagnostics).toMatchObject([{ code: "missing_skill_md", path: "a" }]);
  });
});

describe("names that look alike", () => {
  it.each([
    ["case", "Review", "review"],
    ["special case", "stra\u00dfe", "STRASSE"],
    ["composed and decomposed", "caf\u00e9", "cafe\u0301"],
    ["compatible", "\uff41", "a"],
  ])("exclude each other within one root (%s)", (_, one, other) => {
    const snapshot = loaded([skill(one), skill(other), skill("x")]);
    expect(names(snapshot)).toEqual(["x (workspace)"]);
    expect(new Set(snapshot.diagnostics.map(({ code }) => code))).toEqual(
      new Set(["name_conflict"]),
    );
  });

  it("leave no room for a weaker root's, as there is no fallback", () => {
    const snapshot = loaded([skill("A"), skill("a"), skill("a", "bundled")]);
    expect(names(snapshot)).toEqual([]);
    expect(codes(snapshot)).toEqual(["A: name_conflict", "a: name_conflict"]);
  });

  it("are one name across roots, of which the stronger root's spelling counts", () => {
    const snapshot = loaded([skill("Review"), skill("review", "bundled")]);
    expect(names(snapshot)).toEqual(["Review (workspace)"]);
    expect(snapshot.diagnostics).toMatchObject([{ skill_name: "Review", code: "name_conflict" }]);
    expect(snapshot.diagnostics[0]?.message).toContain("review (bundled)");
  });

  it("are the same if only the normal form differs, and have the composed name", () => {
    const snapshot = loaded([skill("cafe\u0301"), skill("caf\u00e9", "user")]);
    expect(snapshot.entries).toMatchObject([
      { skill_name: "caf\u00e9", path: "caf\u00e9/SKILL.md" },
    ]);
    expect(codes(snapshot)).toEqual(["caf\u00e9: precedence_conflict"]);
  });
});

describe("a name that cannot be typed as one word", () => {
  it.each([
    ["a b", "a b"],
    ["a\nb", "a\\u{a}b"],
    ["a\u0000b", "a\\u{0}b"],
    ["a\u00a0b", "a\u00a0b"],
    ["a\u200bb", "a\\u{200b}b"],
    ["\u202eab", "\\u{202e}ab"],
    ["a/b", "a/b"],
    ["a\ufffdb", "a\ufffdb"],
    ["\ud800", "\\u{d800}"],
    ["a".repeat(SKILL_NAME_CHARS_MAX + 1), `${"a".repeat(SKILL_NAME_CHARS_MAX)}…`],
  ])("%j is invalid, and shown as %j", (name, shown) => {
    const snapshot = loaded([skill(name), skill("ok")]);
    expect(names(snapshot)).toEqual(["ok (workspace)"]);
    expect(snapshot.diagnostics).toMatchObject([{ code: "invalid_skill_name", skill_name: shown }]);
  });
});

describe("P10: the number of skills", () => {
  it("is limited, in the order of names", () => {
    const found = Array.from({ length: SKILLS_MAX + 2 }, (_, at) => skill(`s${10_000 + at}`));
    const { winners, diagnostics } = precedenceOf(found.toReversed());
    expect(winners).toHaveLength(SKILLS_MAX);
    expect(winners.at(-1)?.name).toBe(`s${10_000 + SKILLS_MAX - 1}`);
    expect(diagnostics).toMatchObject([
      { skill_name: `s${10_000 + SKILLS_MAX}`, code: "too_many_skills" },
    ]);
    expect(diagnostics[0]?.message).toContain("2 skills");
  });

  it("that are told of as faulty is limited, and says how many are not", () => {
    const found = Array.from({ length: SKILL_DIAGNOSTICS_MAX + 5 }, (_, at) => {
      return { ...skill(`s${10_000 + at}`), hasFile: false };
    });
    const { diagnostics } = loaded(found);
    expect(diagnostics).toHaveLength(SKILL_DIAGNOSTICS_MAX);
    expect(diagnostics.at(-1)).toMatchObject({ code: "too_many_diagnostics" });
    expect(diagnostics.at(-1)?.message).toContain("6 diagnostics");
  });
});
