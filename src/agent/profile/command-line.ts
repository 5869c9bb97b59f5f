import { statSync } from "node:fs";
import { basename, isAbsolute, resolve } from "node:path";
import { AGENT_ARGS_MAX, AGENT_COMMAND_LINE_CHARS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { KNOWN_PROFILES } from "./known.ts";
import { type AgentProfile, profileOf, quoted } from "./profile.ts";
import { invalid, PROFILE_NAME, shown, textFault, variableFault } from "./spelling.ts";

interface CommandLineOptions {
  /** Where relative paths begin: the folder of the shell that it was typed into. */
  readonly directory?: string;
  /** Variables that it gets beside those of the known agent that it is. */
  readonly inherit?: readonly string[];
  /** Its name; null for that of its file. */
  readonly name?: string | null;
}

/**
 * The profile of a command line, such as `my-agent --acp`. It is quoted as in a shell, but no
 * shell expands anything. Relative paths begin at `directory`, not at the workspace that the agent
 * runs in. If the name or the command is a known agent's, the rest of the profile is too.
 */
export function adHocProfile(
  commandLine: string,
  { directory = process.cwd(), inherit = [], name: chosen = null }: CommandLineOptions = {},
): Result<AgentProfile> {
  if (chosen !== null && !PROFILE_NAME.test(chosen)) {
    return invalid(shown(chosen), "name", `it must match ${PROFILE_NAME.source}`);
  }
  const words = wordsOf(commandLine);
  if (!words.ok) return words;
  const [first = "", ...rest] = words.value;
  if (first === "") return wrong("the command is empty");
  if (/^[A-Za-z_]\w*=/.test(first)) {
    return wrong("variables cannot be set here; set them for the server, or write a profile");
  }
  const command = first.includes("/") && !isAbsolute(first) ? resolve(directory, first) : first;
  const args = rest.map((word) => fromFolder(word, directory));
  const known = KNOWN_PROFILES.find(({ name: its, command: theirs }) => {
    return chosen === null ? theirs === basename(command) : its === chosen;
  });
  const name = chosen ?? nameFor(command);
  const absolute = [command, ...args].map(quoted).join(" ");
  const profile = profileOf({ ...known, name, command, args, commandLine: absolute });
  return withVariables(profile, inherit);
}

/** The profile with further variables of the server, if it has them. */
export function withVariables(
  profile: AgentProfile,
  names: readonly string[],
): Result<AgentProfile> {
  for (const name of names) {
    const fault = variableFault(name);
    if (fault !== null) return invalid("--agent-env", shown(name), fault);
  }
  return ok({ ...profile, inherit: [...new Set([...profile.inherit, ...names])] });
}

/**
 * A path that begins with a dot, also behind `--option=`, and the name of a file that is there,
 * such as `agent.mjs` in `node agent.mjs`. A word without dot and slash may be a subcommand.
 */
function fromFolder(word: string, directory: string): string {
  const pathAt = word.startsWith("-") ? word.indexOf("=") + 1 : 0;
  const path = word.slice(pathAt);
  if (/^\.{1,2}\//.test(path)) return `${word.slice(0, pathAt)}${resolve(directory, path)}`;
  if (word.startsWith("-") || isAbsolute(word) || !/[./]/.test(word)) return word;
  const file = resolve(directory, word);
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? file : word;
}

/** Follows the rules of profile names, because a session's record has it. */
function nameFor(command: string): string {
  const name = basename(command).toLowerCase();
  return (
    name
      .replace(/[^a-z0-9._-]/g, "-")
      .replace(/^[._-]+/, "")
      .slice(0, 64) || "agent"
  );
}

/**
 * Words as a POSIX shell would split them: single quotes escape everything; in double quotes a
 * backslash escapes only a quote or itself, and elsewhere any character.
 */
function wordsOf(line: string): Result<readonly string[]> {
  if (line.length > AGENT_COMMAND_LINE_CHARS_MAX) return wrong("it is too long");
  const words: string[] = [];
  let word: string | null = null;
  let rest = line;
  while (rest !== "") {
    const piece = PIECES.exec(rest);
    if (piece === null) return wrong(`a quote or backslash is open at: ${rest.slice(0, 32)}`);
    const [whole, space, single, double, escaped, plain] = piece;
    rest = rest.slice(whole.length);
    if (space === undefined) {
      word ??= "";
      word += single ?? double?.replace(/\\(["\\])/g, "$1") ?? escaped ?? plain ?? "";
    } else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (word !== null) words.push(word);
  if (words.length > AGENT_ARGS_MAX) return wrong("it has too many words");
  const fault = words.map(textFault).find((found) => found !== null);
  return fault ? wrong(fault) : ok(words);
}

/** Spaces, 'single', "double", \escaped, or what needs no quotes. */
const PIECES = /^(?:( +)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^ '"\\]+))/u;

function wrong(reason: string): Result<never> {
  return invalid("--agent", "command", reason);
}
