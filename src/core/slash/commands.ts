import type { ContentBlock } from "../agent-update.ts";
import { type JsonObject, stringAt } from "../json.ts";
import { SLASH_SUMMARY_CHARS_MAX, SLASH_WORDS_MAX } from "../limits.ts";
import type { SkillEntry, SkillSnapshot } from "../skill/skill.ts";
import { oneLine } from "./answer.ts";

/** How a built-in command's words are checked before it does anything. */
export type ArgumentRule = "none" | "optional_word" | "word_and_text" | "any";

export interface BuiltIn {
  readonly usage: string;
  readonly summary: string;
  readonly rule: ArgumentRule;
}

/** Our own commands, in the order in which `/help` lists them. */
export const BUILT_INS = {
  help: row("optional_word", "/help [skill]", "Lists the commands, or describes one skill."),
  skills: row("none", "/skills", "Lists the skills of this session."),
  skill: row("word_and_text", "/skill NAME [text]", "Uses exactly that skill, with your text."),
  agent: row("optional_word", "/agent [NAME]", "Lists the agents, or changes to another one."),
  model: row("optional_word", "/model [NAME]", "Shows the model, or changes to another one."),
  status: row("none", "/status", "Shows what this session is set to and what it is doing."),
  reload_skills: row("none", "/reload_skills", "Reads the skill files again."),
  reload_persona: row("none", "/reload_persona", "Reads the persona files again."),
  workflow: row("any", "/workflow [what] [text]", "Lists, starts, shows or steers a workflow."),
  new: row("none", "/new", "Makes a new session; this one stays as it is."),
  "save-and-close": row("none", "/save-and-close", "Finishes what runs, saves and closes."),
} as const satisfies Readonly<Record<string, BuiltIn>>;

export type BuiltInName = keyof typeof BUILT_INS;

/** No skill's alias may be one of these. */
export const BUILT_IN_NAMES: ReadonlySet<string> = new Set(Object.keys(BUILT_INS));

export function isBuiltIn(name: string): name is BuiltInName {
  return BUILT_IN_NAMES.has(name);
}

/** Whether a command can be called with these words. */
export function takesWords(rule: ArgumentRule, words: readonly string[]): boolean {
  switch (rule) {
    case "none":
      return words.length === 0;
    case "optional_word":
      return words.length <= 1;
    case "word_and_text":
      return words.length >= 1;
    case "any":
      return true;
  }
}

function row(rule: ArgumentRule, usage: string, summary: string): BuiltIn {
  return { usage, summary, rule };
}

/** The skill of exactly this name, as the session has it. */
export function skillByName(snapshot: SkillSnapshot, name: string): SkillEntry | null {
  return snapshot.entries.find((entry) => entry.skill_name === name) ?? null;
}

export function skillByAlias(snapshot: SkillSnapshot, alias: string): SkillEntry | null {
  return snapshot.entries.find((entry) => entry.command === alias) ?? null;
}

/** The skills that lost this alias to one another, in the order of the snapshot. */
export function ambiguousSkills(snapshot: SkillSnapshot, alias: string): readonly string[] {
  const claims = snapshot.diagnostics.filter(
    ({ code, message }) => code === "alias_ambiguous" && namesCommand(message, alias),
  );
  return [...new Set(claims.map((claim) => claim.skill_name))];
}

/** A diagnostic is for people and says the alias as they would type it. */
function namesCommand(message: string, alias: string): boolean {
  return message.split(/[^a-z0-9_/-]+/u).includes(`/${alias}`);
}

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

/** A line that begins with `/`, taken apart; nothing is known yet of what it names. */
export interface SlashLine {
  readonly name: string;
  /** Its first words, as many as a command looks at. */
  readonly args: readonly string[];
  /** All that follows the name, as it was written. */
  readonly rest: string;
}

/** The text that is a command and not conversation: the very first character decides. */
export function slashTextOf(content: readonly ContentBlock[]): string | null {
  const [first] = content;
  if (first?.type !== "text") return null;
  const text = stringAt(first, "text");
  return text?.startsWith("/") ? text : null;
}

/** Null if no name follows the slash at once. */
export function readSlash(text: string): SlashLine | null {
  if (!text.startsWith("/")) return null;
  const { word: name, rest } = firstWord(text.slice(1));
  if (name === "") return null;
  return { name, args: wordsOf(rest), rest };
}

/** What stands before the first whitespace, and what after it. */
export function firstWord(text: string): { readonly word: string; readonly rest: string } {
  const end = text.search(/\s/u);
  if (end === -1) return { word: text, rest: "" };
  return { word: text.slice(0, end), rest: text.slice(end).trimStart() };
}

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/u, SLASH_WORDS_MAX).filter((word) => word !== "");
}
