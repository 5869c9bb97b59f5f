import { APPROVAL_KEYS_CHARS_MAX } from "../limits.ts";

/**
 * One spelling for a command, however an agent says it: as a line for a shell, or as words. `npm
 * test`, `["npm", "test"]`, `bash -lc 'npm test'` and `cd <the session's directory> && npm test`
 * are one command, so that a grant for one of them is a grant for the others; what differs by a
 * byte after that is another command. Only what a shell would read in just one way is looked
 * through. Null for what is no command, or too long to be one that people read.
 */
export function commandLineOf(command: unknown, args: unknown, cwd: string): string | null {
  const words = [command, args ?? []].flat();
  if (!isTexts(words) || isTooLong(words)) return null;
  const [only] = words;
  const isLine = words.length === 1 && typeof command === "string";
  return unwrapped(isLine ? (only ?? "") : joined(words), cwd);
}

/** The same command, begun in another directory. */
export function inDirectory(directory: string, line: string, cwd: string): string {
  return directory === cwd ? line : `cd ${quoted(directory)} && ${line}`;
}

/** As one word of a shell: one that holds more than plain characters is put into quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Whether it is nothing but words, of which a shell expands none. */
export function isPlainWords(line: string): boolean {
  return wordsOf(line) !== null;
}

function unwrapped(line: string, cwd: string): string {
  let inner = line;
  for (let layer = 0; layer < WRAPPERS_MAX; layer += 1) {
    const [directory, rest] = changeOfDirectory(inner);
    if (directory !== null && directory !== cwd) return inDirectory(directory, rest, cwd);
    const next = directory === null ? shellLine(wordsOf(inner)) : rest;
    if (next === null) return inner;
    inner = next;
  }
  return inner;
}

/** A shell in a shell in a directory is what agents come to; more of them hide something. */
const WRAPPERS_MAX = 4;

/** The system's own: a program of that name elsewhere may be anything. */
const SHELL = /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|da|z|k)?sh$/;
const SHELL_FLAG = /^-(?:l?c|cl)$/;

/** What a shell is told to run; null if the words are not exactly that. */
function shellLine(words: readonly string[] | null): string | null {
  const [shell = "", flag = "", inner = null] = words ?? [];
  return words?.length === 3 && SHELL.test(shell) && SHELL_FLAG.test(flag) ? inner : null;
}

/** The directory that a line changes to first, and the rest of it. */
function changeOfDirectory(line: string): readonly [string, string] | readonly [null, string] {
  const [, word = "", rest = ""] = CHANGE.exec(line) ?? [];
  const [directory = null] = wordsOf(word) ?? [];
  return directory === null || rest === "" ? [null, line] : [directory, rest];
}

/** A shell's blanks are these two alone: any other one is part of a word, or ends the command. */
const BLANK = String.raw`[ \t]`;
const WORD = String.raw`(?:'[^']*'|"[^"\\$\x60]*"|\\[^\n]|[^\s'"\\$\x60;&|<>(){}*?[\]#~!])+`;
const CHANGE = new RegExp(`^cd${BLANK}+(${WORD})${BLANK}+&&${BLANK}+(.*)$`, "s");
const WORDS = new RegExp(`(${WORD})(${BLANK}*)`, "gy");
const PIECES = /'([^']*)'|"([^"]*)"|\\(.)|([^'"\\]+)/gs;

/** The words of a line in which a shell would expand nothing; null for any other line. */
function wordsOf(line: string): readonly string[] | null {
  const words: string[] = [];
  for (let at = 0; at < line.length; at = WORDS.lastIndex) {
    WORDS.lastIndex = at;
    const [, word = null, blanks = ""] = WORDS.exec(line) ?? [];
    if (word === null || (blanks === "" && WORDS.lastIndex < line.length)) return null;
    words.push(
      word.replace(PIECES, (_, single, double, escaped, bare) => {
        return single ?? double ?? escaped ?? bare;
      }),
    );
  }
  return words;
}

/** A shell's own words are its line; any others, as a shell would read them back. */
function joined(words: readonly string[]): string {
  return shellLine(words) ?? words.map(quoted).join(" ");
}

function isTexts(words: readonly unknown[]): words is readonly string[] {
  return words.length > 0 && words.every((word) => typeof word === "string");
}

function isTooLong(words: readonly string[]): boolean {
  if (words.length > APPROVAL_KEYS_CHARS_MAX) return true;
  return words.reduce((sum, word) => sum + word.length, 0) > APPROVAL_KEYS_CHARS_MAX;
}
