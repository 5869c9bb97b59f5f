// A command is a row. Parsing, help, completion and docs/cli.md come from it, so none of them can
// say what another does not.

/** The headings under which commands are listed, in their order. */
export const COMMAND_GROUPS = [
  "Sessions",
  "Servers",
  "Agents and extensions",
  "People and credits",
  "Care of the data",
] as const;

type CommandGroup = (typeof COMMAND_GROUPS)[number];

/** What a word or a value can be completed to. */
export type Completion =
  | "session"
  | "ask"
  | "agent"
  | "context"
  | "file"
  | "folder"
  | readonly string[];

/** An option; the first four fields are those of `parseArgs`. */
export interface OptionRow {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: true;
  readonly default?: string | boolean;
  /** The value in the help; empty for a switch. */
  readonly value: string;
  readonly help: string;
  readonly completes?: Completion;
}

export interface Example {
  readonly line: string;
  readonly means: string;
}

export interface CommandRow {
  readonly name: string;
  /** Other words for it. */
  readonly aliases?: readonly string[];
  readonly group: CommandGroup;
  /** What it does, in the list of all commands. */
  readonly line: string;
  /** What follows its name, one way to call it on each line. */
  readonly usage: readonly string[];
  /** What people should know of it: paragraphs. */
  readonly about: string;
  readonly options: Readonly<Record<string, OptionRow>>;
  /** Where its options are too many to be here: those of a server. */
  readonly moreOptions?: "serve";
  readonly examples?: readonly Example[];
  /** Its exit codes beside 0 and 2, with what they mean. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** What its words are completed to: the last also stands for all that follow. */
  readonly completes?: readonly Completion[];
}

type MoreOfOption = Omit<Partial<OptionRow>, "type" | "value" | "help">;

/** An option with a value. */
export function text(
  value: string,
  help: string,
): { readonly type: "string"; readonly value: string; readonly help: string };
export function text<const More extends MoreOfOption>(
  value: string,
  help: string,
  more: More,
): { readonly type: "string"; readonly value: string; readonly help: string } & More;
export function text(value: string, help: string, more: MoreOfOption = {}): OptionRow {
  return { type: "string", value, help, ...more };
}

/** A switch. */
export function toggle(help: string): {
  readonly type: "boolean";
  readonly value: string;
  readonly help: string;
};
export function toggle<const More extends MoreOfOption>(
  help: string,
  more: More,
): { readonly type: "boolean"; readonly value: string; readonly help: string } & More;
export function toggle(help: string, more: MoreOfOption = {}): OptionRow {
  return { type: "boolean", value: "", help, ...more };
}

/** The option of every command. */
export const HELP_OPTION = { help: toggle("Print this help.", { short: "h" }) };

/** The option of commands that programs may read. */
export const JSON_OPTION = { json: toggle("Print JSON, for programs.") };

/** The options of every command that works on a data directory. */
export const DATA_OPTIONS = {
  data: text("DIR", "The server's data directory (~/.fermata, or FERMATA_DATA).", {
    completes: "folder",
  }),
};

/** The options of every command that works on one tenant of it. */
export const TENANT_OPTIONS = {
  ...DATA_OPTIONS,
  tenant: text("NAME", "The tenant (local).", { default: "local" }),
};

/** The options by which each such command finds its server. */
export const SERVER_OPTIONS = {
  url: text("URL", "Address of the server (FERMATA_URL, else the context in use, else local)."),
  "token-file": text("FILE", "File with your token, or - for the input (FERMATA_TOKEN).", {
    completes: "file",
  }),
  context: text("NAME", 'A server that you have signed in to; "local" is this machine\'s.', {
    short: "c",
    completes: "context",
  }),
  insecure: toggle("Allow a token over plain http to another machine: others can read it."),
  ...JSON_OPTION,
};
