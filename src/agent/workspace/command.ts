import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { TERMINAL_COMMAND_BYTES_MAX, TERMINAL_OUTPUT_BYTES_MAX } from "../../core/limits.ts";
import {
  commandLineOf,
  inDirectory,
  isPlainWords,
  quoted,
} from "../../core/policy/approval-key.ts";

/** A command of `terminal/create`. */
export interface CommandRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Null for the session's directory. */
  readonly cwd: string | null;
  readonly outputBytesMax: number;
}

/** The command in these parameters, or a sentence that says what is wrong with them. */
export function readCommand(params: JsonObject): CommandRequest | string {
  const command = stringAt(params, "command") ?? "";
  const args = params.args ?? [];
  const variables = readVariables(params.env ?? []);
  if (command === "") return "there is no command";
  if (!isTexts(args)) return "its arguments are not a list of texts";
  if (typeof variables === "string") return variables;
  if (!(params.cwd == null || typeof params.cwd === "string")) return "cwd is not a path";
  if (command.trim() === "") return "there is no command";
  const texts = [command, ...args, ...Object.entries(variables).flat(), params.cwd ?? ""];
  if (texts.some((text) => text.includes("\0"))) return "it holds a NUL character";
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > TERMINAL_COMMAND_BYTES_MAX) {
    return `it has ${bytes} bytes; at most ${TERMINAL_COMMAND_BYTES_MAX} are allowed`;
  }
  const outputBytesMax = readOutputLimit(params.outputByteLimit);
  return { command, args, variables, cwd: params.cwd ?? null, outputBytesMax };
}

/**
 * The command line about which people are asked, started in this directory. It has no variables
 * that only change how output looks; any other is part of the line, in a form that holds for all
 * of it: `PATH=/elsewhere git status` is another command than `git status`.
 */
export function shownLine(request: CommandRequest, directory: string, cwd: string): string {
  const { command, args, variables } = request;
  const line = inDirectory(
    directory,
    commandLineOf(command, args, cwd) ?? [command, ...args].join(" "),
    cwd,
  );
  const effective = Object.entries(variables).filter(([name, value]) => {
    return !HARMLESS.get(name)?.test(value);
  });
  const settings = effective.map(([name, value]) => `${name}=${quoted(value)}`).join(" ");
  if (settings === "") return line;
  return isPlainWords(line) ? `${settings} ${line}` : `export ${settings}; ${line}`;
}

const FEW_WORDS = /^[\w.:/-]*$/;
const DIGITS = /^\d*$/;

/** Variables that agents set for their commands, and the values that have no other effect. */
const HARMLESS: ReadonlyMap<string, RegExp> = new Map([
  ["CARGO_TERM_PROGRESS_WHEN", /^\w*$/],
  ["CARGO_TERM_PROGRESS_WIDTH", DIGITS],
  ["CI", /^(?:1|true|)$/],
  ["CLICOLOR", DIGITS],
  ["CLICOLOR_FORCE", DIGITS],
  ["COLORTERM", /^[\w.-]*$/],
  ["COLUMNS", DIGITS],
  ["DEBIAN_FRONTEND", /^noninteractive$/],
  ["FORCE_COLOR", DIGITS],
  ["GIT_PAGER", /^(?:cat|)$/],
  ["GIT_TERMINAL_PROMPT", DIGITS],
  ["GRADLE_OPTS", /^-Dorg\.gradle\.console=\w+$/],
  ["GROK_SESSION_ID", /^[\w-]*$/],
  ["LANG", FEW_WORDS],
  ["LANGUAGE", FEW_WORDS],
  ["LC_ALL", FEW_WORDS],
  ["LC_CTYPE", FEW_WORDS],
  ["LINES", DIGITS],
  ["MAVEN_OPTS", /^-Dstyle\.color=\w+$/],
  ["NO_COLOR", /^\w*$/],
  ["NPM_CONFIG_PROGRESS", /^\w*$/],
  ["PAGER", /^(?:cat|)$/],
  ["PIP_PROGRESS_BAR", /^\w*$/],
  ["SHELL", /^(?:\/usr)?\/bin\/(?:ba|da|z)?sh$/],
  ["TERM", /^[\w.-]*$/],
  ["TZ", FEW_WORDS],
]);

/** The program that is started. */
export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

/**
 * By ACP a command is an executable with separate arguments. Many agents send a whole shell line
 * instead: without arguments and with characters of such a line, it counts as one. Existing files
 * do not change that, because people were shown a line.
 */
export function commandLine({ command, args }: CommandRequest): CommandLine {
  if (args.length > 0 || !SHELL_CHARACTERS.test(command)) return { file: command, args };
  // Both outputs become one pipe, so that their lines stay in order.
  return { file: "/bin/sh", args: ["-c", `exec 2>&1\n${command}`] };
}

const SHELL_CHARACTERS = /[\s|&;<>()$`"'\\*?[\]{}~#=!]/;

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function readVariables(list: unknown): Readonly<Record<string, string>> | string {
  if (!Array.isArray(list)) return "its environment is not a list";
  const variables: [string, string][] = [];
  for (const variable of list) {
    const name = isObject(variable) ? stringAt(variable, "name") : null;
    const value = isObject(variable) ? stringAt(variable, "value") : null;
    if (name === null || value === null) return "a variable has no name or no value";
    if (!VARIABLE_NAME.test(name)) return "a variable has an invalid name";
    variables.push([name, value]);
  }
  return Object.fromEntries(variables);
}

function readOutputLimit(limit: unknown): number {
  const isLimit = typeof limit === "number" && Number.isFinite(limit) && limit >= 0;
  if (!isLimit) return TERMINAL_OUTPUT_BYTES_MAX;
  return Math.min(Math.floor(limit), TERMINAL_OUTPUT_BYTES_MAX);
}

function isTexts(list: unknown): list is readonly string[] {
  return Array.isArray(list) && list.every((item) => typeof item === "string");
}
