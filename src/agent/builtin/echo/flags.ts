import { readCount } from "./argument-reader.ts";
import { LANGUAGE } from "./language.ts";
import { WAIT_MS_MAX } from "./limits.ts";

interface EchoFlag {
  /** What has to follow the flag; null if nothing has. */
  readonly value: string | null;
  /** The largest number that the flag takes; null where it takes a text. */
  readonly max: number | null;
  readonly says: string;
}

const on = (says: string): EchoFlag => ({ value: null, max: null, says });
const text = (value: string, says: string): EchoFlag => ({ value, max: null, says });
const count = (value: string, max: number, says: string): EchoFlag => ({ value, max, says });

const CAPABILITY_FLAGS = {
  "--no-load": on("does not offer session/load"),
  "--no-resume": on("does not offer session/resume"),
  "--no-close": on("does not offer session/close"),
  "--no-list": on("does not offer session/list"),
  "--no-fork": on("does not offer session/fork"),
  "--no-modes": on("has no modes"),
  "--no-config": on("has no configuration options, and so no models"),
  "--no-effort": on("has no option for how much it thinks"),
  "--no-temperature": on("has no option for the temperature"),
  "--no-verbosity": on("has no option for how much it says"),
  "--no-images": on("takes no images"),
  "--no-embedded": on("takes no embedded resources"),
  "--no-system-prompt": on("takes no system prompt"),
  "--with-legacy-model": on("has models in the old way too: session/set_model"),
  "--needs-auth": on("makes no session before `authenticate`"),
  "--single-session": on("has one session at a time"),
  "--steer": on("takes further prompts into the running turn"),
  "--queue": on("takes further prompts, and does them one after the other"),
  "--state": text("DIR", "keeps its sessions in this folder, and so over restarts"),
} as const satisfies Record<string, EchoFlag>;

const MISCONDUCT_FLAGS = {
  "--protocol": count("N", 65_535, "answers `initialize` with this version"),
  "--slow-start": count("MS", WAIT_MS_MAX, "reads nothing for so long"),
  "--start-when": text("FILE", "reads nothing until this file is there"),
  "--never-answer": on("does not answer `initialize`"),
  "--exit-at-start": count("CODE", 255, "says why on its error output, and exits"),
  "--help-text": on("prints this and exits, as programs do that know no ACP"),
  "--garbage-at-start": on("begins with lines that are no messages"),
  "--die-on-load": on("exits when it should load or resume a session"),
  "--late-replay": on("answers session/load first, and sends most of the past behind it"),
  "--refuse-option": text("ID", "does not let this option be changed"),
  "--reset-with-model": on("goes back to its other options when it gets another model"),
  "--fail-close": on("answers session/close with an error"),
  "--ignore-eof": on("stays when its input ends"),
  "--ignore-term": on("stays when it gets SIGTERM"),
} as const satisfies Record<string, EchoFlag>;

/** The flags under the headings of the help. */
export const FLAG_GROUPS = {
  "What it offers": CAPABILITY_FLAGS,
  "How it misbehaves": MISCONDUCT_FLAGS,
} as const;

const FLAGS = { ...CAPABILITY_FLAGS, ...MISCONDUCT_FLAGS, "--help": on("prints this") };

export type FlagName = keyof typeof FLAGS;

/** The flags of this process. */
export class Flags {
  readonly #values: ReadonlyMap<FlagName, string>;
  /** The command line as it was. */
  readonly argv: readonly string[];

  constructor(values: ReadonlyMap<FlagName, string>, argv: readonly string[]) {
    this.#values = values;
    this.argv = argv;
  }

  has(name: FlagName): boolean {
    return this.#values.has(name);
  }

  text(name: FlagName): string | null {
    return this.#values.get(name) ?? null;
  }

  count(name: FlagName): number | null {
    const value = this.text(name);
    return value === null ? null : readCount(value);
  }
}

/** The flags, or a sentence that says what is wrong with them. */
export function readFlags(argv: readonly string[]): Flags | string {
  const values = new Map<FlagName, string>();
  const words = argv.values();
  for (const name of words) {
    if (!isFlag(name)) return `${name} is no flag of echo`;
    const { value, max } = FLAGS[name];
    const written = value === null ? "" : words.next().value;
    if (written === undefined) return `${name} wants ${value}`;
    if (max !== null) {
      const number = readCount(written);
      if (number === null || number > max) return `${name} wants a whole number up to ${max}`;
    }
    values.set(name, written);
  }
  return new Flags(values, argv);
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

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

/** Follows the first answer of a session, for a new user. */
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
