import { type JsonObject, stringAt } from "../json.ts";
import { SLASH_SUMMARY_CHARS_MAX } from "../limits.ts";
import type { SkillEntry, SkillSnapshot } from "../skill/skill.ts";
import { BUILT_INS, type BuiltIn, isBuiltIn } from "./built-in.ts";
import { skillByAlias } from "./lookup.ts";
import { oneLine } from "./plain.ts";

/** All that a line beginning with `/` can name, as ACP has it: ours, aliases, the agent's. */
export function offeredCommands(
  snapshot: SkillSnapshot,
  agentCommands: readonly JsonObject[],
): readonly JsonObject[] {
  const builtIns = Object.entries(BUILT_INS).map(([name, row]) => builtInCommand(name, row));
  const aliases = snapshot.entries.flatMap(aliasCommand);
  const passedOn = agentCommands.filter((command) => {
    const name = stringAt(command, "name") ?? "";
    return isPassedOn(snapshot, name);
  });
  return [...builtIns, ...aliases, ...passedOn];
}

/** Whether a name is left to the agent: neither ours nor a skill's alias stands before it. */
export function isPassedOn(snapshot: SkillSnapshot, name: string): boolean {
  return !isBuiltIn(name) && skillByAlias(snapshot, name) === null;
}

function builtInCommand(name: string, { usage, summary }: BuiltIn): JsonObject {
  const hint = usage.slice(name.length + 1).trim();
  return { name, description: summary, input: hint === "" ? null : { hint } };
}

function aliasCommand({ command, skill_name, summary }: SkillEntry): readonly JsonObject[] {
  if (command === null) return [];
  const description = oneLine(summary, SLASH_SUMMARY_CHARS_MAX) || `The skill ${skill_name}.`;
  return [{ name: command, description, input: { hint: "[text]" } }];
}
