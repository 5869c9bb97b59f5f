/**
 * What a session can do, as it was found when the session was made or its skills were reloaded.
 * The names are the seed's (001): this is what is stored and what is shown.
 */

/** Where a skill comes from, weakest first: the last that has a skill of some name wins. */
export const SKILL_SOURCES = ["bundled", "user", "workspace"] as const;
export type SkillSource = (typeof SKILL_SOURCES)[number];

export const INVOCATION_MODES = ["llm_orchestration", "tool_dispatch"] as const;
export type InvocationMode = (typeof INVOCATION_MODES)[number];

/** What a machine must have for a skill to be of use on it; an empty list asks for nothing. */
export interface Eligibility {
  readonly os: readonly string[];
  readonly env: readonly string[];
  readonly binaries: readonly string[];
}

export interface SkillEntry {
  readonly skill_name: string;
  readonly source: SkillSource;
  /** Inside its root, with `/`: two machines with the same files agree. */
  readonly path: string;
  readonly summary: string;
  readonly invocation_mode: InvocationMode;
  /** Its alias, if it has one that is its own. */
  readonly command: string | null;
  /** What `tool_dispatch` runs. */
  readonly command_tool: string | null;
  readonly requires_tools: readonly string[];
  readonly eligibility: Eligibility;
  /** The instructions, as they were then: the file is never read again. */
  readonly body: string;
}

/** What was found and not taken, or taken with a reservation. */
export interface SkillDiagnostic {
  readonly skill_name: string;
  readonly code: SkillDiagnosticCode;
  readonly message: string;
  readonly source: SkillSource;
  readonly path: string;
}

export const SKILL_DIAGNOSTIC_CODES = [
  "missing_skill_md",
  "precedence_conflict",
  "malformed_frontmatter",
  "unknown_frontmatter_key",
  "invalid_command_alias",
  "command_alias_collision",
  "alias_ambiguous",
  "ineligible",
  "missing_required_tools",
  "unknown_command_tool",
  "invalid_skill_name",
  "name_conflict",
  "unreadable",
  "too_large",
  "too_many_skills",
  "too_many_diagnostics",
  "untrusted_workspace",
] as const;
export type SkillDiagnosticCode = (typeof SKILL_DIAGNOSTIC_CODES)[number];

/** Entries by name, diagnostics by name, code and path, both in the order of code points. */
export interface SkillSnapshot {
  readonly entries: readonly SkillEntry[];
  readonly diagnostics: readonly SkillDiagnostic[];
}

export const NO_SKILLS: SkillSnapshot = { entries: [], diagnostics: [] };
