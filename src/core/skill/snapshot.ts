import { SKILLS_BYTES_MAX } from "../limits.ts";
import { utf8Bytes } from "../text.ts";
import { byCodePoint } from "./code-point.ts";
import { inOrder, ofSkill, type Subject, skillPath } from "./diagnostic.ts";
import { objectionsTo, type Surroundings } from "./eligibility.ts";
import type { SkillHeader } from "./header.ts";
import { shown, skillName } from "./name.ts";
import type { SkillDiagnostic, SkillDiagnosticCode, SkillEntry, SkillSnapshot } from "./skill.ts";

/** What reading a skill's file came to. */
export type SkillReading =
  | { readonly kind: "read"; readonly header: SkillHeader; readonly body: string }
  | { readonly kind: "fault"; readonly code: ReadingFault; readonly reason: string };

type ReadingFault = Extract<
  SkillDiagnosticCode,
  "malformed_frontmatter" | "unreadable" | "too_large"
>;

/** A winner of `precedenceOf`, with its file read: nobody reads those that lost. */
export interface SkillCandidate extends Subject {
  readonly reading: SkillReading;
}

/**
 * The skills of a session, from what won and what was said on the way there. A winner that cannot
 * be used is absent: what it stands in front of does not take its place (B5.3).
 */
export function snapshotOf(
  winners: readonly SkillCandidate[],
  said: readonly SkillDiagnostic[],
  surroundings: Surroundings,
): SkillSnapshot {
  const diagnostics = [...said];
  const judged = winners.flatMap((candidate) => {
    const { entry, objections } = judge(candidate, surroundings);
    diagnostics.push(...objections);
    return entry === null ? [] : [entry];
  });
  const entries = judged.toSorted((one, other) => byCodePoint(one.skill_name, other.skill_name));
  const fitting = withinBytes(withOwnAliases(entries, diagnostics), diagnostics);
  return { entries: fitting, diagnostics: inOrder(diagnostics) };
}

interface Judgement {
  readonly entry: SkillEntry | null;
  readonly objections: readonly SkillDiagnostic[];
}

function judge(candidate: SkillCandidate, surroundings: Surroundings): Judgement {
  const { name, source, reading } = candidate;
  if (reading.kind === "fault") {
    const objection = ofSkill(
      candidate,
      reading.code,
      `SKILL.md cannot be used: ${reading.reason}`,
    );
    return { entry: null, objections: [objection] };
  }
  const { header, body } = reading;
  const objections = objectionsTo(candidate, header, surroundings);
  const remarks = remarksOn(candidate, header);
  if (objections.length > 0) return { entry: null, objections: [...objections, ...remarks] };
  const { summary, invocationMode, command, requiresTools, eligibility } = header;
  const entry: SkillEntry = {
    skill_name: skillName(name),
    source,
    path: skillPath(name),
    summary,
    invocation_mode: invocationMode,
    command,
    command_tool: invocationMode === "tool_dispatch" ? header.commandTool : null,
    requires_tools: requiresTools,
    eligibility,
    body,
  };
  return { entry, objections: remarks };
}

/** What is odd about a file and keeps nobody from using it. */
function remarksOn(subject: Subject, header: SkillHeader): readonly SkillDiagnostic[] {
  const remarks: SkillDiagnostic[] = [];
  const { unknownKeys, declaredName } = header;
  if (unknownKeys.length > 0) {
    const why = `these keys of its frontmatter mean nothing here: ${unknownKeys.join(", ")}`;
    remarks.push(ofSkill(subject, "unknown_frontmatter_key", why));
  }
  if (declaredName !== null && skillName(declaredName) !== skillName(subject.name)) {
    const why = `it calls itself "${shown(declaredName)}", but its directory's name counts`;
    remarks.push(ofSkill(subject, "name_conflict", why));
  }
  return remarks;
}

/**
 * An alias that several ask for belongs to none of them (ruling). The message has it as people
 * type it, by which `/alias` is later told from a command that never was.
 */
function withOwnAliases(
  entries: readonly SkillEntry[],
  diagnostics: SkillDiagnostic[],
): readonly SkillEntry[] {
  const claims = Map.groupBy(entries, (entry) => entry.command);
  return entries.map((entry) => {
    const { command, skill_name: name, source } = entry;
    const claimants = command === null ? [] : (claims.get(command) ?? []);
    if (claimants.length < 2) return entry;
    const names = claimants.map((claimant) => claimant.skill_name).join(", ");
    const why = `none of these has the alias /${command}, because each asks for it: ${names}`;
    diagnostics.push(ofSkill({ name, source }, "alias_ambiguous", why));
    return { ...entry, command: null };
  });
}

/** As many as fit together, in the order of names; a smaller one may still fit after a large. */
function withinBytes(
  entries: readonly SkillEntry[],
  diagnostics: SkillDiagnostic[],
): readonly SkillEntry[] {
  let bytes = 0;
  return entries.filter((entry) => {
    const more = utf8Bytes(JSON.stringify(entry));
    if (bytes + more <= SKILLS_BYTES_MAX) {
      bytes += more;
      return true;
    }
    const { skill_name: name, source } = entry;
    const why = `it does not fit: all skills together have at most ${SKILLS_BYTES_MAX} bytes`;
    diagnostics.push(ofSkill({ name, source }, "too_large", why));
    return false;
  });
}
