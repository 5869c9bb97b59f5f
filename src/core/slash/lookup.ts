import type { SkillEntry, SkillSnapshot } from "../skill/skill.ts";

/** The skill of exactly this name, as the session has it. */
export function skillByName(snapshot: SkillSnapshot, name: string): SkillEntry | null {
  return snapshot.entries.find((entry) => entry.skill_name === name) ?? null;
}

export function skillByAlias(snapshot: SkillSnapshot, alias: string): SkillEntry | null {
  return snapshot.entries.find((entry) => entry.command === alias) ?? null;
}

/** The skills that lost this alias to one another, in the order of the snapshot. */
export function ambiguousSkills(snapshot: SkillSnapshot, alias: string): readonly string[] {
  const claims = snapshot.diagnostics.filter(
    ({ code, message }) => code === "alias_ambiguous" && namesCommand(message, alias),
  );
  return [...new Set(claims.map((claim) => claim.skill_name))];
}

/** A diagnostic is for people and says the alias as they would type it. */
function namesCommand(message: string, alias: string): boolean {
  return message.split(/[^a-z0-9_/-]+/u).includes(`/${alias}`);
}
