import { parseArgs } from "node:util";
import { didYouMean, nearestName } from "../core/spelling.ts";

// One way to read a command line, and one style for what is wrong with it: what it is, and what to
// type instead.

type LineConfig = NonNullable<Parameters<typeof parseArgs>[0]>;

type Options = NonNullable<LineConfig["options"]>;

/** As `parseArgs` of Node, but a fault is thrown as a clause that says what to type instead. */
export function readCommandLine<const Config extends LineConfig>(config: Config) {
  const fault = faultIn(config);
  if (fault !== null) throw new Error(fault);
  return parseArgs(config);
}

/** What is wrong with a command line, as a clause for people; null if nothing is. */
function faultIn(config: LineConfig): string | null {
  const { options = {}, allowPositionals = false } = config;
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true });
  for (const token of tokens ?? []) {
    if (token.kind === "positional" && !allowPositionals) {
      return `the word "${token.value}" is one too many`;
    }
    if (token.kind !== "option") continue;
    const fault = optionFault(token, options, config.allowNegative === true);
    if (fault !== null) return fault;
  }
  return null;
}

interface GivenOption {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function optionFault(
  { name, rawName, value, inlineValue }: GivenOption,
  options: Options,
  allowNegative: boolean,
): string | null {
  const isNegated = allowNegative && /^--no-/.test(rawName);
  const known = options[isNegated ? name.replace(/^no-/, "") : name];
  if (known === undefined) return unknownOption(rawName, namesOf(options, allowNegative));
  if (known.type === "boolean") {
    const off = allowNegative ? ` or --no-${name}` : "";
    return value === undefined ? null : `${rawName} takes no value; write ${rawName}${off}`;
  }
  if (isNegated) return `${rawName} is not possible, because --${name} is no switch`;
  if (value === undefined) return `${rawName} needs a value`;
  if (inlineValue !== true && value.startsWith("-") && value.length > 1) {
    return `${rawName} needs a value; one that begins with a dash is written --${name}=${value}`;
  }
  return null;
}

function namesOf(options: Options, allowNegative: boolean): readonly string[] {
  const names = Object.keys(options);
  const switches = names.filter((name) => options[name]?.type === "boolean");
  return allowNegative ? [...names, ...switches.map((name) => `no-${name}`)] : names;
}

/** Of a single letter, the shortest option that begins with it is most likely meant. */
function unknownOption(rawName: string, names: readonly string[]): string {
  const bare = rawName.replace(/^-+/, "");
  const meant = rawName.startsWith("--") ? nearestName(bare, names) : shortestOf(bare, names);
  return `there is no option ${rawName}${meant === null ? "" : ` (did you mean --${meant}?)`}`;
}

function shortestOf(initial: string, names: readonly string[]): string | null {
  const fitting = names.filter((name) => name.startsWith(initial.toLowerCase()));
  return fitting.toSorted((one, other) => one.length - other.length)[0] ?? null;
}

/** Says that a word of the command line is none of these, and which of them is near. */
export function unknownWord(word: string, known: Iterable<string>): string {
  return `there is no "${word}"${didYouMean(word, known)}`;
}

/** The names that there are, and which of them is near. */
export function oneOf(typed: string, known: readonly string[]): string {
  return `one of ${known.join(", ")}${didYouMean(typed, known)}`;
}

/**
 * What a command expects as its first word, which is missing or wrong. The words are those of small
 * letters: in "list, or delete NAME" they are `list` and `delete`.
 */
export function expectedWord(word: string | undefined, expected: string): string {
  const known = (expected.match(/[a-z-]+/g) ?? []).filter((one) => one !== "or");
  const isKnown = word === undefined || known.includes(word);
  return `${isKnown ? "" : `${unknownWord(word, known)}; `}expected ${expected}`;
}
