import { FLAG_GROUPS } from "./flags.ts";
import { LANGUAGE } from "./language.ts";

/** What `--help` prints. */
export function helpText(program: string): string {
  const flags = Object.entries(FLAG_GROUPS).flatMap(([heading, group]) => {
    const rows = Object.entries(group).map(([name, { value, says }]) => {
      return [value === null ? name : `${name} ${value}`, says] as const;
    });
    return ["", `${heading}:`, ...columns(rows)];
  });
  return [...INTRODUCTION, `Usage: node ${program} [flags]`, ...flags, "", languageText(), ""].join(
    "\n",
  );
}

/** What the directive `help` says. */
export function languageText(): string {
  const rows = Object.values(LANGUAGE).map(({ usage, says }) => [usage, says] as const);
  return [
    "A prompt whose first line begins with one of these words is a script, one",
    "directive a line; # begins a remark. Any other prompt is said back.",
    "",
    ...columns(rows),
    "",
    "Numbers may end in k, m or g. A TEXT or value in double quotes is a JSON string.",
  ].join("\n");
}

/** What a newcomer is told below the first answer. */
export const HINT =
  "\n\n(I am echo: I say back what you say. I can also act like a busy agent; " +
  'try "think hm", "plan a|b", "tool kind=edit path=a.txt", "ask command=ls" or "help".)';

const INTRODUCTION = [
  "echo: an agent for tests, benchmarks and a first try. It speaks ACP (version 1) on",
  "its input and output, needs no model, and does the same each time.",
  "",
];

const COLUMN_CHARS = 32;

/** A name that is too wide for its column has a line of its own. */
function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.map(([name, says]) => {
    const isWide = name.length >= COLUMN_CHARS;
    return isWide
      ? `  ${name}\n  ${" ".repeat(COLUMN_CHARS)}${says}`
      : `  ${name.padEnd(COLUMN_CHARS)}${says}`;
  });
}
