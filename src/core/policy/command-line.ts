/**
 * One spelling for a command, however an agent says it: as a line, as words, or inside a shell.
 * `npm test`, `["npm", "test"]`, `bash -lc 'npm test'` and `cd <the session's directory> && npm
 * test` are one command, so that a grant for one of them is a grant for the others; whatever
 * differs by a byte after that is another command.
 */
export function commandLineOf(command: unknown, args: unknown, cwd: string): string | null {
  const words = [command, args ?? []].flat();
  if (!isTexts(words)) return null;
  const [only] = words;
  let line = words.length === 1 && typeof command === "string" ? (only ?? "") : joined(words);
  for (let layer = 0; layer < WRAPPERS_MAX; layer += 1) {
    const inner = withoutShell(line) ?? withoutCd(line, cwd);
    if (inner === null) break;
    line = inner;
  }
  return line;
}

/** A shell in a shell in a directory is what agents come to; more of them hide something. */
const WRAPPERS_MAX = 4;

const SHELL = /^(?:\S*\/)?(?:ba|da|z|k)?sh$/;
const SHELL_FLAG = /^-(?:l?c|cl)$/;

/** What a shell is told to run; null if the line is not exactly that. */
function withoutShell(line: string): string | null {
  if (!/sh\s/.test(line)) return null;
  const words = wordsOf(line);
  if (words === null) return null;
  const [shell = "", flag = "", inner = null] = words;
  return words.length === 3 && SHELL.test(shell) && SHELL_FLAG.test(flag) ? inner : null;
}

/** What follows a change to the directory that the session is in anyway. */
function withoutCd(line: string, cwd: string): string | null {
  const found = /^cd\s+/.exec(line);
  if (found === null) return null;
  const [, word = "", rest = ""] = WORD_THEN.exec(line.slice(found[0].length)) ?? [];
  const [directory] = wordsOf(word) ?? [];
  return directory === cwd && rest !== "" ? rest : null;
}

const WORD = String.raw`(?:'[^']*'|"[^"\\$\x60]*"|\\[^\n]|[^\s'"\\$\x60;&|<>(){}*?[\]#~!])+`;
const WORD_THEN = new RegExp(`^(${WORD})\\s+&&\\s+([^]*)$`);
const WORDS = new RegExp(WORD, "gy");
const PIECES = /'([^']*)'|"([^"]*)"|\\(.)|([^'"\\]+)/g;

/** The words of a line in which a shell would expand nothing; null for any other line. */
function wordsOf(line: string): readonly string[] | null {
  const words: string[] = [];
  for (let at = 0; at < line.length; ) {
    WORDS.lastIndex = at;
    const word = WORDS.exec(line)?.[0];
    if (word === undefined) return null;
    words.push(
      word.replace(PIECES, (_, single, double, escaped, bare) => {
        return single ?? double ?? escaped ?? bare;
      }),
    );
    at += word.length;
    const gap = /^\s*/.exec(line.slice(at))?.[0].length ?? 0;
    if (gap === 0 && at < line.length) return null;
    at += gap;
  }
  return words;
}

/** As a shell would read them back: words that hold more than plain characters are quoted. */
function joined(words: readonly string[]): string {
  const [shell = "", flag = "", inner] = words;
  if (words.length === 3 && SHELL.test(shell) && SHELL_FLAG.test(flag)) return inner ?? "";
  return words.map(quoted).join(" ");
}

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function isTexts(words: readonly unknown[]): words is readonly string[] {
  return words.length > 0 && words.every((word) => typeof word === "string");
}
