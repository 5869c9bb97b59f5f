import { SLASH_SUMMARY_CHARS_MAX } from "../../limits.ts";
import type { CommandResult } from "../../session/event.ts";
import type { SkillEntry, SkillSnapshot } from "../../skill/skill.ts";
import { BUILT_INS, type BuiltIn } from "../built-in.ts";
import { isPassedOn } from "../offered.ts";
import { oneLine } from "../plain.ts";
import { done, leftOut, listed, section, shownName } from "./answer.ts";

/** `/help` alone: everything that a line beginning with `/` can name, and who answers it. */
export function commandHelp(
  snapshot: SkillSnapshot,
  agentCommands: readonly string[],
): CommandResult {
  const aliased = snapshot.entries.flatMap(aliasOf);
  const passedOn = [...new Set(agentCommands)].filter((name) => isPassedOn(snapshot, name));
  const lines = [
    ...section("Commands:", Object.values(BUILT_INS).map(usageLine)),
    ...section("Skills by alias:", [...listed(aliased).map(aliasLine), ...leftOut(aliased)]),
    ...section("The agent's own commands:", [
      ...listed(passedOn).map((name) => `/${shownName(name)}`),
      ...leftOut(passedOn),
    ]),
  ];
  return done("help_shown", lines.join("\n"), {
    commands: Object.keys(BUILT_INS),
    aliases: listed(aliased).map(({ alias, entry }) => ({
      alias: shownName(alias),
      skill: shownName(entry.skill_name),
    })),
    agentCommands: listed(passedOn).map(shownName),
  });
}

interface Aliased {
  readonly alias: string;
  readonly entry: SkillEntry;
}

function aliasOf(entry: SkillEntry): readonly Aliased[] {
  return entry.command === null ? [] : [{ alias: entry.command, entry }];
}

function usageLine({ usage, summary }: BuiltIn): string {
  return `${usage}: ${summary}`;
}

function aliasLine({ alias, entry }: Aliased): string {
  const summary = oneLine(entry.summary, SLASH_SUMMARY_CHARS_MAX);
  const name = shownName(entry.skill_name);
  return `/${shownName(alias)} [text]: skill ${name}${summary === "" ? "" : `: ${summary}`}`;
}
