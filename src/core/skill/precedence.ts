import { SKILLS_MAX } from "../limits.ts";
import { byCodePoint } from "./code-point.ts";
import { ofDirectory, ofSkill, type Subject } from "./diagnostic.ts";
import { lookOf, nameFault, shown, skillName } from "./name.ts";
import { SKILL_SOURCES, type SkillDiagnostic } from "./skill.ts";

/** A child directory of a root, as discovery found it. */
export interface FoundSkill extends Subject {
  /** Its base name, exactly as it is on the disk. */
  readonly name: string;
  /** Whether there is a SKILL.md in it, of whatever kind; without one it is no candidate. */
  readonly hasFile: boolean;
}

/** Which directories are the session's skills, if they turn out to be good for it. */
export interface Precedence<Skill extends FoundSkill> {
  /** At most one for each name, in the order of names. */
  readonly winners: readonly Skill[];
  readonly diagnostics: readonly SkillDiagnostic[];
}

/**
 * Workspace over user over bundled (B5.3). The directories are sorted before anything else, so
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
