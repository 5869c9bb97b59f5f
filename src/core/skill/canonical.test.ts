import { describe, expect, it } from "vitest";
import { broken, entry, loaded, skill } from "./skill.fixture.ts";
import { NO_SKILLS, type SkillSnapshot } from "./skill.ts";
import { canonicalJson, readSnapshot } from "./snapshot.ts";

const SNAPSHOT: SkillSnapshot = loaded([
  skill("a", "bundled", { summary: "Says „hi“ \u{1f3b5}", command: "hi" }, "Line 1\nLine 2\u0001"),
  skill("b", "user", { invocationMode: "tool_dispatch", commandTool: "shell" }),
  broken("c"),
]);

describe("the text of a snapshot", () => {
  it("P7: reads back as the same snapshot", () => {
    expect(SNAPSHOT.entries).toHaveLength(2);
    expect(SNAPSHOT.diagnostics).toHaveLength(1);
    expect(readSnapshot(canonicalJson(SNAPSHOT))).toEqual(SNAPSHOT);
    expect(readSnapshot(canonicalJson(NO_SKILLS))).toEqual(NO_SKILLS);
  });

  it("does not depend on the order in which an object got its keys", () => {
    const { body, skill_name, ...others } = entry("a");
    const other = { body, ...others, skill_name };
    expect(JSON.stringify(other)).not.toBe(JSON.stringify(entry("a")));
    const [one, same] = [entry("a"), other].map((each) => {
      return canonicalJson({ diagnostics: [], entries: [each] });
    });
    expect(same).toBe(one);
  });

  it("is this text, so that its hash stays what it is", () => {
    expect(canonicalJson({ entries: [entry("a")], diagnostics: [] })).toBe(
      '{"form":"skills/1","entries":[{"skill_name":"a","source":"workspace",' +
        '"path":"a/SKILL.md","summary":"","invocation_mode":"llm_orchestration","command":null,' +
        '"command_tool":null,"requires_tools":[],' +
        '"eligibility":{"os":[],"env":[],"binaries":[]},"body":"Body of a."}],"diagnostics":[]}',
    );
  });

  const json = JSON.parse(canonicalJson(SNAPSHOT));
  it.each([
    ["no text", ""],
    ["half of it", canonicalJson(SNAPSHOT).slice(0, 100)],
    ["another form", JSON.stringify({ ...json, form: "skills/2" })],
    ["no entries", JSON.stringify({ ...json, entries: undefined })],
    ["a further field", JSON.stringify({ ...json, more: 1 })],
    ["an entry with another source", JSON.stringify({ ...json, entries: [{ source: "moon" }] })],
    ["a list", "[]"],
  ])("is nothing else: %s", (_, text) => {
    expect(readSnapshot(text)).toBeNull();
  });
});
