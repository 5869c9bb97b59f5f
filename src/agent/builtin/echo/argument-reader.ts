import { isObject, type JsonObject } from "../../../core/json.ts";

/**
 * Reads what follows the verb of a directive. It keeps the first fault; what is read after that is
 * filled in, so that no directive has to look for faults itself.
 */
export class ArgumentReader {
  #rest: string;
  #fault: string | null = null;

  constructor(text: string) {
    this.#rest = text.trim();
  }

  get fault(): string | null {
    return this.#fault;
  }

  /** The rest of the line. A JSON string is parsed, so that it can hold newlines. */
  text(name: string): string {
    return this.optionalText() ?? this.#lacks(name, "");
  }

  optionalText(): string | null {
    const text = this.#rest;
    this.#rest = "";
    return text === "" ? null : unquoted(text);
  }

  word(name: string): string {
    return this.optionalWord() ?? this.#lacks(name, "");
  }

  optionalWord(): string | null {
    const [whole, word] = WORD.exec(this.#rest) ?? [];
    if (whole === undefined || word === undefined) return null;
    this.#rest = this.#rest.slice(whole.length);
    return unquoted(word);
  }

  /** The next word, unless it is one of the `key=value` kind. */
  optionalName(): string | null {
    return OPTION.test(this.#rest) ? null : this.optionalWord();
  }

  words(): readonly string[] {
    const words: string[] = [];
    for (let word = this.optionalWord(); word !== null; word = this.optionalWord()) {
      words.push(word);
    }
    return words;
  }

  count(name: string, max: number): number {
    return this.optionalCount(name, max) ?? this.#lacks(name, 0);
  }

  optionalCount(name: string, max: number): number | null {
    const word = this.optionalWord();
    if (word === null) return null;
    const value = readCount(word);
    if (value !== null && value <= max) return value;
    return this.#wrong(`${name} is a whole number up to ${max}`, 0);
  }

  /** A whole number of either sign, such as a code. */
  integer(name: string): number {
    const word = this.optionalWord();
    if (word === null) return this.#lacks(name, 0);
    const value = Number(word);
    return Number.isSafeInteger(value) ? value : this.#wrong(`${name} is a whole number`, 0);
  }

  choice(name: string, choices: readonly string[]): string {
    const word = this.optionalWord() ?? "";
    return choices.includes(word)
      ? word
      : this.#wrong(`${name} is one of ${choices.join(", ")}`, "");
  }

  /** `key=value` words, as long as they come; a value with spaces is written as a JSON string. */
  options<K extends string>(keys: readonly K[]) {
    const values = new Map<string, string>();
    for (;;) {
      const [whole, name, value] = OPTION.exec(this.#rest) ?? [];
      if (whole === undefined || name === undefined || value === undefined) break;
      if (!keys.some((known) => known === name)) {
        this.refuse(`it knows no ${name}=, only ${keys.map((known) => `${known}=`).join(" ")}`);
        break;
      }
      values.set(name, unquoted(value));
      this.#rest = this.#rest.slice(whole.length);
    }
    const text = (key: K) => values.get(key) ?? null;
    const number = <T>(key: K, kind: string, read: (text: string) => number | null, absent: T) => {
      const written = text(key);
      return written === null
        ? absent
        : (read(written) ?? this.#wrong(`${key}= is ${kind}`, absent));
    };
    return {
      text,
      list: (key: K) =>
        text(key)
          ?.split(",")
          .filter((item) => item !== "") ?? null,
      count: (key: K): number => number(key, "a whole number", readCount, 0),
      amount: (key: K): number | null => number(key, "a number", readAmount, null),
    };
  }

  json(name: string): JsonObject {
    const value = parseJson(this.#rest);
    this.#rest = "";
    return isObject(value) ? value : this.#wrong(`${name} is an object in JSON`, {});
  }

  optionalJson(name: string): JsonObject {
    return this.#rest === "" ? {} : this.json(name);
  }

  /** Notes a fault, unless there is one already. */
  refuse(fault: string) {
    this.#fault ??= fault;
  }

  /** What no directive has read is a mistake of the script. */
  end() {
    if (this.#rest !== "") this.refuse(`nobody expects ${JSON.stringify(this.#rest)} there`);
  }

  #lacks<T>(name: string, filler: T): T {
    return this.#wrong(`it wants ${name}`, filler);
  }

  #wrong<T>(fault: string, filler: T): T {
    this.refuse(fault);
    return filler;
  }
}

const WORD = /^("(?:[^"\\]|\\.)*"|\S+)\s*/;
const OPTION = /^([a-z]+)=("(?:[^"\\]|\\.)*"|\S*)\s*/;
const COUNT = /^(\d[\d_]*)([kmg]?)$/;
const UNITS: Readonly<Record<string, number>> = { k: 1_024, m: 1_024 ** 2, g: 1_024 ** 3 };

/** `4096`, `64_000`, and `64k`, `1m`, `2g` in powers of 1024. */
export function readCount(word: string): number | null {
  const [, digits, unit] = COUNT.exec(word) ?? [];
  if (digits === undefined) return null;
  const value = Number(digits.replaceAll("_", "")) * (UNITS[unit ?? ""] ?? 1);
  return Number.isSafeInteger(value) ? value : null;
}

function readAmount(text: string): number | null {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) && value >= 0 ? value : null;
}

function unquoted(text: string): string {
  const value = text.startsWith('"') ? parseJson(text) : null;
  return typeof value === "string" ? value : text;
}

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
