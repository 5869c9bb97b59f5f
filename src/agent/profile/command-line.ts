import { basename, isAbsolute, resolve } from "node:path";
import { AGENT_ARGS_MAX, AGENT_COMMAND_LINE_CHARS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { KNOWN_PROFILES } from "./known.ts";
import { type AgentProfile, profileOf } from "./profile.ts";
import { invalid, textFault } from "./read.ts";

/**
 * The profile of a command line, such as `my-agent --acp`. It is quoted as in a shell, but no
 * shell expands anything. A relative path begins at `directory`. If the command is a known
 * agent's, the rest of the profile is too.
 */
export function adHocProfile(
  commandLine: string,
  { directory = process.cwd(), inherit = [] as readonly string[] } = {},
): Result<AgentProfile> {
  const words = wordsOf(commandLine);
  if (!words.ok) return words;
  const [first = "", ...args] = words.value;
  if (first === "") return wrong("the command is empty");
  if (/^[A-Za-z_]\w*=/.test(first)) {
    return wrong("variables cannot be set here; set them for the server, or write a profile");
  }
  const command = first.includes("/") && !isAbsolute(first) ? resolve(directory, first) : first;
  const known = KNOWN_PROFILES.find((profile) => profile.command === basename(command));
  const name = nameFor(command);
  const inherited = [...(known?.inherit ?? []), ...inherit];
  return ok({ ...profileOf({ ...known, name, command, args }), inherit: inherited });
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
