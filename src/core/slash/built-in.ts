/** How a built-in command's words are checked before it does anything. */
export type ArgumentRule = "none" | "optional_word" | "word_and_text";

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
  }
}

function row(rule: ArgumentRule, usage: string, summary: string): BuiltIn {
  return { usage, summary, rule };
}
