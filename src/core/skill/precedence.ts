import { SKILL_ALIAS_CHARS_MAX, SKILLS_MAX } from "../limits.ts";
import { byCodePoint } from "../text.ts";
import type { SkillHeader } from "./header.ts";
import {
  lookOf,
  nameFault,
  ofDirectory,
  ofSkill,
  SKILL_SOURCES,
  type SkillDiagnostic,
  type SkillSubject,
  shown,
  skillName,
} from "./skill.ts";

/** A child directory of a root, as discovery found it. */
export interface FoundSkill extends SkillSubject {
  /** Its base name, exactly as it is on the disk. */
  readonly name: string;
  /** Whether there is a SKILL.md in it; without one it is no candidate. */
  readonly hasFile: boolean;
}

/** Which directories are the session's skills, if they turn out to be good for it. */
export interface Precedence<Skill extends FoundSkill> {
  /** At most one for each name, in the order of names. */
  readonly winners: readonly Skill[];
  readonly diagnostics: readonly SkillDiagnostic[];
}

/**
 * Workspace over user over bundled. The directories are sorted before anything else, so
 * that the order in which they were listed means nothing.
 */
export function precedenceOf<Skill extends FoundSkill>(found: readonly Skill[]): Precedence<Skill> {
  const diagnostics: SkillDiagnostic[] = [];
  const contests = new Map<string, Skill[]>();
  for (const skill of found.toSorted(strongestFirst)) {
    const fault = nameFault(skill.name);
    if (fault !== null) {
      diagnostics.push(ofDirectory(skill, "invalid_skill_name", `the name is no use: ${fault}`));
    } else if (!skill.hasFile) {
      diagnostics.push(ofDirectory(skill, "missing_skill_md", "there is no SKILL.md in it"));
    } else {
      const look = lookOf(skill.name);
      contests.set(look, [...(contests.get(look) ?? []), skill]);
    }
  }
  const winners: Skill[] = [];
  for (const contest of contests.values()) {
    const { winner, said } = judged(contest);
    diagnostics.push(...said);
    if (winner !== null) winners.push(winner);
  }
  return bounded(winners.toSorted(byName), diagnostics);
}

/** Whether two names look alike is decided here once, so a snapshot never has both. */
function judged<Skill extends FoundSkill>(contest: readonly Skill[]) {
  const [winner = null] = contest;
  if (winner === null) return { winner, said: [] };
  const rivals = contest.filter((skill) => skill.source === winner.source);
  if (rivals.length > 1) {
    const names = rivals.map(({ name }) => shown(name)).join(", ");
    const why = `names that differ only by case or normal form exclude each other: ${names}`;
    return { winner: null, said: rivals.map((rival) => ofSkill(rival, "name_conflict", why)) };
  }
  const losers = contest.filter((skill) => skill !== winner);
  return { winner, said: losers.length === 0 ? [] : [passedOver(winner, losers)] };
}

function passedOver(winner: FoundSkill, losers: readonly FoundSkill[]): SkillDiagnostic {
  const isSameName = losers.every(({ name }) => skillName(name) === skillName(winner.name));
  if (isSameName) {
    const sources = losers.map(({ source }) => source).join(" and ");
    const why = `the one of the ${winner.source} root is used, not that of ${sources}`;
    return ofSkill(winner, "precedence_conflict", why);
  }
  const names = losers.map(({ name, source }) => `${shown(name)} (${source})`).join(", ");
  const why = `it looks like, and is used in place of: ${names}`;
  return ofSkill(winner, "name_conflict", why);
}

function bounded<Skill extends FoundSkill>(
  winners: readonly Skill[],
  diagnostics: readonly SkillDiagnostic[],
): Precedence<Skill> {
  const first = winners[SKILLS_MAX];
  if (first === undefined) return { winners, diagnostics };
  const left = winners.length - SKILLS_MAX;
  const why = `${left} skills from this one on are left out; at most ${SKILLS_MAX} are taken`;
  const said = [...diagnostics, ofSkill(first, "too_many_skills", why)];
  return { winners: winners.slice(0, SKILLS_MAX), diagnostics: said };
}

function strongestFirst(one: FoundSkill, other: FoundSkill): number {
  const strength = SKILL_SOURCES.indexOf(other.source) - SKILL_SOURCES.indexOf(one.source);
  return strength || byCodePoint(one.name, other.name);
}

function byName(one: FoundSkill, other: FoundSkill): number {
  return byCodePoint(skillName(one.name), skillName(other.name));
}

/** What skills are judged by, taken down once for a whole load: nothing here is looked up later. */
export interface SkillEnvironment {
  /** As Node names it: linux, darwin, win32. */
  readonly platform: string;
  /** Variables that are set, and not to nothing. */
  readonly variables: ReadonlySet<string>;
  /** Programs that were found, of those that the skills ask for. */
  readonly binaries: ReadonlySet<string>;
  /** Tools that can be called without a model. */
  readonly tools: ReadonlySet<string>;
  /** Names of built-in commands. */
  readonly reserved: ReadonlySet<string>;
}

const ALIAS = /^[a-z0-9_-]+$/;

/** Everything that excludes a skill, not only the first: who mends one thing wants to see all. */
export function objectionsTo(
  subject: SkillSubject,
  header: SkillHeader,
  surroundings: SkillEnvironment,
): readonly SkillDiagnostic[] {
  const objections: SkillDiagnostic[] = [];
  const { command } = header;
  if (command !== null && !isAlias(command)) {
    const why = `the alias "${shown(command)}" is not made of lowercase letters, digits, _ and -`;
    objections.push(ofSkill(subject, "invalid_command_alias", why));
  } else if (command !== null && surroundings.reserved.has(command)) {
    const why = `/${command} is a built-in command`;
    objections.push(ofSkill(subject, "command_alias_collision", why));
  }
  const toolFault = commandToolFault(header, surroundings);
  if (toolFault !== null) objections.push(ofSkill(subject, "unknown_command_tool", toolFault));
  const reasons = ineligibility(header, surroundings);
  if (reasons.length > 0) objections.push(ofSkill(subject, "ineligible", reasons.join("; ")));
  const lacking = header.requiresTools.filter((tool) => !surroundings.tools.has(tool));
  if (lacking.length > 0) {
    const why = `these tools are not available: ${lacking.join(", ")}`;
    objections.push(ofSkill(subject, "missing_required_tools", why));
  }
  return objections;
}

function isAlias(command: string): boolean {
  return ALIAS.test(command) && command.length <= SKILL_ALIAS_CHARS_MAX;
}

function commandToolFault(header: SkillHeader, { tools }: SkillEnvironment): string | null {
  const { invocationMode, commandTool } = header;
  if (invocationMode !== "tool_dispatch") return null;
  if (commandTool === null) return "it dispatches to a tool and names none in command_tool";
  return tools.has(commandTool) ? null : `there is no tool ${shown(commandTool)}`;
}

function ineligibility(header: SkillHeader, surroundings: SkillEnvironment): readonly string[] {
  const { os, env, binaries } = header.eligibility;
  const { platform, variables, binaries: found } = surroundings;
  const isElsewhere = os.length > 0 && !os.includes(platform);
  const unset = env.filter((name) => !variables.has(name));
  const missing = binaries.filter((name) => !found.has(name));
  return [
    ...(isElsewhere ? [`it is for ${os.join(", ")}, and this is ${platform}`] : []),
    ...(unset.length > 0 ? [`these variables are not set: ${unset.join(", ")}`] : []),
    ...(missing.length > 0 ? [`these programs are not on PATH: ${missing.join(", ")}`] : []),
  ];
}
