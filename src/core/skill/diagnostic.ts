import { SKILL_DIAGNOSTICS_MAX, SKILL_MESSAGE_CHARS_MAX } from "../limits.ts";
import { cutText } from "../text.ts";
import { byCodePoint } from "./code-point.ts";
import { inOneLine, shown } from "./name.ts";
import type { SkillDiagnostic, SkillDiagnosticCode, SkillSource } from "./skill.ts";

/** The directory that a diagnostic is about. */
export interface Subject {
  readonly name: string;
  readonly source: SkillSource;
}

/** About a skill's file. */
export function ofSkill(
  subject: Subject,
  code: SkillDiagnosticCode,
  message: string,
): SkillDiagnostic {
  return { ...ofDirectory(subject, code, message), path: skillPath(subject.name) };
}

/** About a directory in which there is no such file, or none that matters. */
export function ofDirectory(
  { name, source }: Subject,
  code: SkillDiagnosticCode,
  message: string,
): SkillDiagnostic {
  const words = inOneLine(`${message[0]?.toUpperCase() ?? ""}${message.slice(1)}.`);
  const isLong = words.length > SKILL_MESSAGE_CHARS_MAX;
  const told = isLong ? `${cutText(words, SKILL_MESSAGE_CHARS_MAX - 1)}…` : words;
  return { skill_name: shown(name), code, message: told, source, path: shown(name) };
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
export function inOrder(diagnostics: readonly SkillDiagnostic[]): readonly SkillDiagnostic[] {
  const sorted = diagnostics.toSorted(byPlace);
  const once = sorted.filter((each, at) => at === 0 || byPlace(each, sorted[at - 1]) !== 0);
  const left = once[SKILL_DIAGNOSTICS_MAX - 1];
  if (left === undefined || once.length === SKILL_DIAGNOSTICS_MAX) return once;
  const kept = once.slice(0, SKILL_DIAGNOSTICS_MAX - 1);
  const message = `${once.length - kept.length} diagnostics from here on are left out.`;
  return [...kept, { ...left, code: "too_many_diagnostics" as const, message }].toSorted(byPlace);
}

function byPlace(one: SkillDiagnostic, other: SkillDiagnostic | undefined): number {
  if (other === undefined) return 1;
  return (
    byCodePoint(one.skill_name, other.skill_name) ||
    byCodePoint(one.code, other.code) ||
    byCodePoint(one.path, other.path) ||
    byCodePoint(one.source, other.source) ||
    byCodePoint(one.message, other.message)
  );
}
