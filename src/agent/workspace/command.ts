import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { TERMINAL_COMMAND_BYTES_MAX, TERMINAL_OUTPUT_BYTES_MAX } from "../../core/limits.ts";
import { commandLineOf, quoted } from "../../core/policy/command-line.ts";

/** What an agent wants to run, as `terminal/create` says it. */
export interface CommandOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Null for where the session begins. */
  readonly cwd: string | null;
  readonly outputBytesMax: number;
}

/** The order in these parameters, or the sentence that says why they are none. */
export function readOrder(params: JsonObject): CommandOrder | string {
  const command = stringAt(params, "command") ?? "";
  const args = params.args ?? [];
  const variables = readVariables(params.env ?? []);
  if (command === "") return "there is no command";
  if (!isTexts(args)) return "its arguments are not a list of texts";
  if (typeof variables === "string") return variables;
  if (!(params.cwd == null || typeof params.cwd === "string")) return "cwd is not a path";
  const texts = [command, ...args, ...Object.entries(variables).flat()];
  if (texts.some((text) => text.includes("\0"))) return "it holds a NUL character";
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > TERMINAL_COMMAND_BYTES_MAX) {
    return `it has ${bytes} bytes; at most ${TERMINAL_COMMAND_BYTES_MAX} are allowed`;
  }
  const outputBytesMax = readOutputLimit(params.outputByteLimit);
  return { command, args, variables, cwd: params.cwd ?? null, outputBytesMax };
}

/**
 * The order as people are asked about it. A variable that changes nothing but how output looks is
 * passed over; any other is part of the line, for `PATH=/elsewhere git status` is another command.
 */
export function shownLine({ command, args, variables }: CommandOrder, cwd: string): string {
  const line = commandLineOf(command, args, cwd) ?? command;
  const telling = Object.entries(variables).filter(([name, value]) => {
    return !(HARMLESS[name]?.test(value) ?? /^LC_[A-Z]+$/.test(name));
  });
  const settings = telling.map(([name, value]) => `${name}=${quoted(value)} `);
  return `${settings.join("")}${line}`;
}

/** Variables that agents set for their commands, with the values that make them no others. */
const HARMLESS: Readonly<Record<string, RegExp>> = {
  CARGO_TERM_PROGRESS_WHEN: /^\w*$/,
  CARGO_TERM_PROGRESS_WIDTH: /^\d+$/,
  CI: /^(?:1|true|)$/,
  CLICOLOR: /^\d?$/,
  CLICOLOR_FORCE: /^\d?$/,
  COLORTERM: /^[\w.-]*$/,
  COLUMNS: /^\d+$/,
  DEBIAN_FRONTEND: /^noninteractive$/,
  FORCE_COLOR: /^\d?$/,
  GIT_PAGER: /^(?:cat|)$/,
  GIT_TERMINAL_PROMPT: /^[01]$/,
  GRADLE_OPTS: /^-Dorg\.gradle\.console=\w+$/,
  GROK_SESSION_ID: /^[\w-]*$/,
  LANG: /^[\w.-]*$/,
  LANGUAGE: /^[\w.:-]*$/,
  LINES: /^\d+$/,
  MAVEN_OPTS: /^-Dstyle\.color=\w+$/,
  NO_COLOR: /^\w*$/,
  PAGER: /^(?:cat|)$/,
  NPM_CONFIG_PROGRESS: /^\w*$/,
  PIP_PROGRESS_BAR: /^\w*$/,
  SHELL: /^(?:\/usr)?\/bin\/(?:ba|da|z)?sh$/,
  TERM: /^[\w.-]*$/,
  TZ: /^[\w/+-]*$/,
};

/** What is really started. */
export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

/**
 * By ACP a command is an executable and its arguments are apart. Many agents send a whole shell
 * line instead: where there are no arguments, the command has characters of such a line, and
 * there is no executable of that name, it is given to the shell.
 */
export async function commandLine(
  { command, args }: CommandOrder,
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<CommandLine> {
  const searchPath = environment.PATH ?? SYSTEM_PATH;
  const looksLikeLine = args.length === 0 && SHELL_CHARACTERS.test(command);
  if (!looksLikeLine || (await isExecutable(command, cwd, searchPath))) {
    return { file: command, args };
  }
  // Both outputs become one, so that their lines stay in the order in which they were written.
  return { file: "/bin/sh", args: ["-c", `exec 2>&1\n${command}`] };
}

const SHELL_CHARACTERS = /[\s|&;<>()$`"'\\*?[\]{}~#=!]/;

/** Where the system looks if there is no PATH. */
const SYSTEM_PATH = "/usr/bin:/bin";

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

/** As the system looks: a name with a slash is a path, others are searched for. */
async function isExecutable(command: string, cwd: string, searchPath: string): Promise<boolean> {
  const places = command.includes("/") ? ["."] : searchPath.split(":");
  for (const place of places) {
    const path = resolve(cwd, place, command);
    if (await isProgram(path)) return true;
  }
  return false;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
