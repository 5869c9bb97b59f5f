import { OPTION_MS_MAX } from "../../core/limits.ts";
import { oneOf } from "../command-line.ts";

// The kinds of options of a server: what a value of each may be, and how it is read.

export interface ServeOption<Value> {
  readonly help: string;
  /** The value in the help; null for a switch. */
  readonly placeholder: string | null;
  /** Whether it may be repeated. */
  readonly isList: boolean;
  /** The letter of its short form; null for most. */
  readonly short: string | null;
  /** Further environment variables, which other servers of this kind read. */
  readonly variables: readonly string[];
  readonly default: Value;
  /** Parses a value, or throws the reason why it cannot. */
  parse(raw: unknown): Value;
}

interface OptionHelp {
  readonly help: string;
  readonly placeholder?: string;
  readonly short?: string;
  readonly variables?: readonly string[];
}

export function text(about: OptionHelp): ServeOption<string | null> {
  return { ...base(about, "TEXT"), default: null, parse: parseText };
}

export function folder(help: string): ServeOption<string | null> {
  return text({ help, placeholder: "DIR" });
}

export function folders(help: string): ServeOption<readonly string[]> {
  return texts({ help, placeholder: "DIR" });
}

export function texts(about: OptionHelp): ServeOption<readonly string[]> {
  const parse = (raw: unknown) => (Array.isArray(raw) ? raw : [raw]).map(parseText);
  return { ...base(about, "TEXT"), isList: true, default: [], parse };
}

export function choice<const Word extends string>(
  words: readonly Word[],
  fallback: Word,
  about: OptionHelp,
): ServeOption<Word> {
  const parse = (raw: unknown) => {
    const found = words.find((word) => word === raw);
    if (found === undefined) throw new Error(`it must be ${oneOf(String(raw), words)}`);
    return found;
  };
  return { ...base(about, words.join("|")), default: fallback, parse };
}

/** True or false; a flag without a value is true. */
export function toggle(about: OptionHelp): ServeOption<boolean> {
  const parse = (raw: unknown) => {
    const value = BOOLEANS.get(String(raw));
    if (value === undefined) throw new Error("it must be true or false");
    return value;
  };
  return { ...base(about, ""), placeholder: null, default: false, parse };
}

export function whole(least: number, most: number, about: OptionHelp): ServeOption<number | null> {
  const parse = (raw: unknown) => {
    const value = typeof raw === "string" && /^\d+$/.test(raw) ? Number(raw) : raw;
    const isFit = typeof value === "number" && Number.isSafeInteger(value);
    if (!isFit || value < least || value > most) {
      throw new Error(`it must be a whole number from ${least} to ${most}`);
    }
    return value;
  };
  return { ...base(about, "N"), default: null, parse };
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

function base(about: OptionHelp, defaultPlaceholder: string) {
  const { help, placeholder = defaultPlaceholder, short = null, variables = [] } = about;
  return { help, placeholder, short, variables, isList: false };
}

export function parseText(raw: unknown): string {
  if (typeof raw !== "string" || raw.trim() === "") throw new Error("it is empty");
  return raw;
}

export const count = (help: string, most = 1_000_000) => whole(0, most, { help });
export const ms = (help: string, variables: readonly string[] = []) =>
  whole(0, OPTION_MS_MAX, { help, placeholder: "MS", variables });
export const positiveMs = (help: string) => whole(1, OPTION_MS_MAX, { help, placeholder: "MS" });
export const bytes = (help: string, most: number) => whole(1, most, { help, placeholder: "BYTES" });
