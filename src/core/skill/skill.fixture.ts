import type { SkillHeader } from "./header.ts";
import { type FoundSkill, precedenceOf, type SkillEnvironment } from "./precedence.ts";
import type { SkillEntry, SkillSnapshot, SkillSource } from "./skill.ts";
import { type SkillReading, snapshotOf } from "./snapshot.ts";

export const PLAIN_HEADER: SkillHeader = {
  summary: "",
  invocationMode: "llm_orchestration",
  command: null,
  commandTool: null,
  requiresTools: [],
  eligibility: { os: [], env: [], binaries: [] },
  declaredName: null,
  unknownKeys: [],
};

/** A Linux machine with one of everything. */
export const SURROUNDINGS: SkillEnvironment = {
  platform: "linux",
  variables: new Set(["HOME"]),
  binaries: new Set(["git"]),
  tools: new Set(["shell"]),
  reserved: new Set(["skills", "help"]),
};

export interface PlayedSkill extends FoundSkill {
  readonly reading: SkillReading;
}

/** A directory with a SKILL.md that says this. */
export function skill(
  name: string,
  source: SkillSource = "workspace",
  header: Partial<SkillHeader> = {},
  body = `Body of ${name} (${source}).`,
): PlayedSkill {
  const reading: SkillReading = { kind: "read", header: { ...PLAIN_HEADER, ...header }, body };
  return { name, source, hasFile: true, reading };
}

/** One whose file cannot be used. */
export function broken(name: string, source: SkillSource = "workspace"): PlayedSkill {
  const reading = { kind: "fault", code: "malformed_frontmatter", reason: "it is odd" } as const;
  return { name, source, hasFile: true, reading };
}

/** All the pure work of a load, in its order. */
export function loaded(
  skills: readonly PlayedSkill[],
  surroundings: SkillEnvironment = SURROUNDINGS,
): SkillSnapshot {
  const { winners, diagnostics } = precedenceOf(skills);
  return snapshotOf(winners, diagnostics, surroundings);
}

/** `name (source)` of each entry. */
export function names({ entries }: SkillSnapshot): readonly string[] {
  return entries.map((entry) => `${entry.skill_name} (${entry.source})`);
}

/** `name: code` of each diagnostic. */
export function codes({ diagnostics }: SkillSnapshot): readonly string[] {
  return diagnostics.map((each) => `${each.skill_name}: ${each.code}`);
}

export function entry(name: string, fields: Partial<SkillEntry> = {}): SkillEntry {
  return {
    skill_name: name,
    source: "workspace",
    path: `${name}/SKILL.md`,
    summary: "",
    invocation_mode: "llm_orchestration",
    command: null,
    command_tool: null,
    requires_tools: [],
    eligibility: { os: [], env: [], binaries: [] },
    body: `Body of ${name}.`,
    ...fields,
  };
}
