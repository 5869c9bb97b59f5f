import type { CommandResult } from "../session/event.ts";
import type { SkillEntry, SkillSnapshot } from "../skill/skill.ts";
import {
  ambiguousSkills,
  BUILT_INS,
  type BuiltInName,
  firstWord,
  isBuiltIn,
  readSlash,
  type SlashLine,
  skillByAlias,
  skillByName,
  takesWords,
} from "./commands.ts";
import { aliasAmbiguous, emptySlash, unknownCommand, wrongWords } from "./reply.ts";
import { skillNameMissing, skillNotFound } from "./skill-reply.ts";

/** What a line that begins with `/` comes to; only `skill` and `agent` can lead to a turn. */
export type SlashMeaning =
  | ({ readonly kind: "built_in"; readonly name: OwnCommand } & Omit<SlashLine, "name">)
  | { readonly kind: "skill"; readonly entry: SkillEntry; readonly words: string }
  | { readonly kind: "agent" }
  | { readonly kind: "refused"; readonly result: CommandResult };

/** Every built-in command but `/skill`, which has become the skill by then. */
export type OwnCommand = Exclude<BuiltInName, "skill">;

/**
 * Ours first, then the skills' aliases, then what the agent says it understands; exactly and with
 * no guessing. It looks only at the session's snapshot, never at files.
 */
export function resolveSlash(
  text: string,
  snapshot: SkillSnapshot,
  agentCommands: readonly string[],
): SlashMeaning {
  const line = readSlash(text);
  if (line === null) return refused(emptySlash());
  const { name, rest } = line;
  if (isBuiltIn(name)) return builtIn(name, line, snapshot);
  const entry = skillByAlias(snapshot, name);
  if (entry !== null) return { kind: "skill", entry, words: rest };
  if (agentCommands.includes(name)) return { kind: "agent" };
  const claimants = ambiguousSkills(snapshot, name);
  return refused(claimants.length > 0 ? aliasAmbiguous(name, claimants) : unknownCommand(name));
}

function builtIn(name: BuiltInName, line: SlashLine, snapshot: SkillSnapshot): SlashMeaning {
  const { args, rest } = line;
  if (name === "skill") return namedSkill(rest, snapshot);
  if (!takesWords(BUILT_INS[name].rule, args)) return refused(wrongWords(name));
  return { kind: "built_in", name, args, rest };
}

function namedSkill(rest: string, snapshot: SkillSnapshot): SlashMeaning {
  const { word, rest: words } = firstWord(rest);
  if (word === "") return refused(skillNameMissing());
  const entry = skillByName(snapshot, word);
  return entry === null ? refused(skillNotFound(word)) : { kind: "skill", entry, words };
}

function refused(result: CommandResult): SlashMeaning {
  return { kind: "refused", result };
}
