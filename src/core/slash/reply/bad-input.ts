import { type Refusal, sentenceOf } from "../../error.ts";
import type { CommandResult } from "../../session/event.ts";
import { BUILT_INS, type BuiltInName } from "../built-in.ts";
import { failed, listed, shownName } from "./answer.ts";

export function emptySlash(): CommandResult {
  const message = 'Error: a command\'s name must follow the "/" at once. /help lists the commands.';
  return failed("parse_error", message);
}

export function unknownCommand(name: string): CommandResult {
  const shown = shownName(name);
  const message = `Error: there is no command /${shown}. /help lists the commands.`;
  return failed("unknown_command", message, { command: shown });
}

export function wrongWords(name: BuiltInName): CommandResult {
  const { usage } = BUILT_INS[name];
  return failed("invalid_args", `Error: wrong arguments for /${name}. Usage: ${usage}`, {
    command: name,
    usage,
  });
}

/** Two skills wanted the alias, so neither has it (ruling); both still have their names. */
export function aliasAmbiguous(alias: string, skills: readonly string[]): CommandResult {
  const names = listed(skills).map(shownName);
  const shown = shownName(alias);
  const message =
    `Error: /${shown} is ambiguous, several skills ask for it: ${names.join(", ")}. ` +
    "Use /skill NAME instead.";
  return failed("alias_ambiguous", message, { command: shown, skills: names });
}

/** What else can be refused says so with the code and the sentence it has everywhere. */
export function commandRefused(refusal: Refusal): CommandResult {
  return failed(refusal.code, `Error: ${sentenceOf(refusal)}`, refusal.details);
}
