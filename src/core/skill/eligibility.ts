import { SKILL_ALIAS_CHARS_MAX } from "../limits.ts";
import { ofSkill, type Subject } from "./diagnostic.ts";
import type { SkillHeader } from "./header.ts";
import { shown } from "./name.ts";
import type { SkillDiagnostic } from "./skill.ts";

/** What skills are judged by, taken down once for a whole load: nothing here is looked up later. */
export interface Surroundings {
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
  subject: Subject,
  header: SkillHeader,
  surroundings: Surroundings,
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

function commandToolFault(header: SkillHeader, { tools }: Surroundings): string | null {
  const { invocationMode, commandTool } = header;
  if (invocationMode !== "tool_dispatch") return null;
  if (commandTool === null) return "it dispatches to a tool and names none in command_tool";
  return tools.has(commandTool) ? null : `there is no tool ${shown(commandTool)}`;
}

function ineligibility(header: SkillHeader, surroundings: Surroundings): readonly string[] {
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
