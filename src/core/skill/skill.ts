import { SKILL_DIAGNOSTICS_MAX, SKILL_MESSAGE_CHARS_MAX, SKILL_NAME_CHARS_MAX } from "../limits.ts";
import { byCodePoint, cutText } from "../text.ts";

/**
 * What a session can do, as it was found when the session was made or its skills were reloaded.
 * The field names are published: this is what is stored and what is shown.
 */

/** The server's own tool that runs a command line. */
export const SHELL_TOOL = "shell";

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

/** Controls, format characters, halves of characters and every kind of space. */
const UNTYPEABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}/]/u;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** What decoding puts in the place of bytes that are no text. */
const UNDECODED = "\ufffd";

/** Why people could not type this name as one word of a command; null if they can. */
export function nameFault(name: string): string | null {
  if (name === "") return "it is empty";
  if (name.length > SKILL_NAME_CHARS_MAX) {
    return `it is longer than ${SKILL_NAME_CHARS_MAX} characters`;
  }
  if (name.includes(UNDECODED)) return "it is not UTF-8";
  if (UNTYPEABLE.test(name)) return "it has whitespace, a control character or a slash";
  return null;
}

/** The name that a skill has in its session: two machines may spell one name differently. */
export function skillName(directory: string): string {
  return directory.normalize("NFC");
}

/**
 * Equal for names that differ only by case or by Unicode normal form: some systems cannot hold
 * two of them in one directory, and people cannot tell them apart.
 */
export function lookOf(name: string): string {
  return name.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
}

/** A foreign name, as part of a line. */
export function shown(name: string): string {
  const cut = cutText(name, SKILL_NAME_CHARS_MAX);
  const line = inOneLine(cut.normalize("NFC"));
  return cut.length < name.length ? `${line}…` : line;
}

/** Foreign words among our own: what cannot be seen in a line is spelled out. */
function inOneLine(text: string): string {
  return text.replace(UNSEEN, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** The directory that a diagnostic is about. */
export interface SkillSubject {
  readonly name: string;
  readonly source: SkillSource;
}

/** About a skill's file. */
export function ofSkill(
  subject: SkillSubject,
  code: SkillDiagnosticCode,
  message: string,
): SkillDiagnostic {
  return { ...ofDirectory(subject, code, message), path: skillPath(subject.name) };
}

/** About a directory in which there is no such file, or none that matters. */
export function ofDirectory(
  { name, source }: SkillSubject,
  code: SkillDiagnosticCode,
  message: string,
): SkillDiagnostic {
  const words = inOneLine(`${message[0]?.toUpperCase() ?? ""}${message.slice(1)}.`);
  const isLong = words.length > SKILL_MESSAGE_CHARS_MAX;
  const cut = isLong ? `${cutText(words, SKILL_MESSAGE_CHARS_MAX - 1)}…` : words;
  return { skill_name: shown(name), code, message: cut, source, path: shown(name) };
}

/** About a whole root, which has no name. */
export function ofRoot(
  source: SkillSource,
  code: SkillDiagnosticCode,
  message: string,
): SkillDiagnostic {
  return { ...ofDirectory({ name: "", source }, code, message), path: "." };
}

/** Inside its root, as it is shown. */
export function skillPath(name: string): string {
  return `${shown(name)}/SKILL.md`;
}

/** In their one order, each once, and no more than a person could want. */
export function sortedDiagnostics(
  diagnostics: readonly SkillDiagnostic[],
): readonly SkillDiagnostic[] {
  const sorted = diagnostics.toSorted(byPosition);
  const once = sorted.filter((each, at) => at === 0 || byPosition(each, sorted[at - 1]) !== 0);
  const left = once[SKILL_DIAGNOSTICS_MAX - 1];
  if (left === undefined || once.length === SKILL_DIAGNOSTICS_MAX) return once;
  const kept = once.slice(0, SKILL_DIAGNOSTICS_MAX - 1);
  const message = `${once.length - kept.length} diagnostics from here on are left out.`;
  return [...kept, { ...left, code: "too_many_diagnostics" as const, message }].toSorted(
    byPosition,
  );
}

function byPosition(one: SkillDiagnostic, other: SkillDiagnostic | undefined): number {
  if (other === undefined) return 1;
  return (
    byCodePoint(one.skill_name, other.skill_name) ||
    byCodePoint(one.code, other.code) ||
    byCodePoint(one.path, other.path) ||
    byCodePoint(one.source, other.source) ||
    byCodePoint(one.message, other.message)
  );
}
