import { isObject, type JsonObject } from "../../core/json.ts";
import { AGENT_PROFILE_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";

interface Fault {
  readonly path: string;
  readonly reason: string;
}

/** One object of a configuration, of which the first thing that is wrong is remembered. */
export class Section {
  fault: Fault | null = null;
  readonly #object: JsonObject;
  readonly #path: string;

  /** Without a list of keys, any are allowed. */
  constructor(object: JsonObject, path: string, allowed: readonly string[] | null) {
    this.#object = object;
    this.#path = path;
    const unknown = this.keys().find((key) => allowed !== null && !allowed.includes(key));
    if (unknown !== undefined) this.complain(unknown, "there is no such setting");
  }

  keys(): readonly string[] {
    return Object.keys(this.#object);
  }

  hasText(key: string): boolean {
    return typeof this.#at(key) === "string";
  }

  /** Null where it is not said, or is wrong. */
  text(key: string, { mayBeEmpty = false } = {}): string | null {
    const value = this.#at(key);
    if (value === undefined) return null;
    const fault = value === "" && !mayBeEmpty ? "it is empty" : textFault(value);
    if (fault !== null) this.complain(key, fault);
    return fault === null && typeof value === "string" ? value : null;
  }

  /** Null where it is not said, or is neither yes nor no. */
  flag(key: string): boolean | null {
    const value = this.#at(key);
    return typeof value === "boolean" ? value : null;
  }

  whole(key: string, least: number, most: number): number | null {
    const value = this.#at(key);
    if (value === undefined) return null;
    const isWhole = typeof value === "number" && Number.isSafeInteger(value);
    if (isWhole && value >= least && value <= most) return value;
    this.complain(key, `it must be a whole number from ${least} to ${most}`);
    return null;
  }

  list(key: string, most: number, faultOf: (value: unknown) => string | null): readonly string[] {
    const value = this.#at(key);
    if (value === undefined) return [];
    if (!Array.isArray(value) || value.length > most) {
      this.complain(key, `it must be a list of at most ${most} texts`);
      return [];
    }
    const texts: string[] = [];
    const items: readonly unknown[] = value;
    for (const [index, item] of items.entries()) {
      const fault = faultOf(item);
      if (fault !== null) this.complain(`${key}[${index}]`, fault);
      else if (typeof item === "string") texts.push(item);
    }
    return texts;
  }

  section(key: string, allowed: readonly string[] | null): Section | null {
    const value = this.#at(key);
    if (value === undefined) return null;
    if (isObject(value)) return new Section(value, this.#pathTo(key), allowed);
    this.complain(key, "it must be an object");
    return null;
  }

  sections(key: string, most: number, allowed: readonly string[]): readonly Section[] {
    const value = this.#at(key);
    if (value === undefined) return [];
    if (!Array.isArray(value) || value.length > most || !value.every(isObject)) {
      this.complain(key, `it must be a text, or a list of at most ${most} objects`);
      return [];
    }
    const path = this.#pathTo(key);
    return value.map((item, index) => new Section(item, `${path}[${index}]`, allowed));
  }

  /** What is wrong in a part is wrong in the whole. */
  adopt({ fault }: Section) {
    this.fault ??= fault;
  }

  complain(key: string, reason: string) {
    this.fault ??= { path: this.#pathTo(key), reason };
  }

  #at(key: string): unknown {
    return Object.hasOwn(this.#object, key) ? this.#object[key] : undefined;
  }

  #pathTo(key: string): string {
    return this.#path === "" ? shown(key) : `${this.#path}.${shown(key)}`;
  }
}

/** What is wrong with a text that is to be given to the system; null if nothing is. */
export function textFault(value: unknown): string | null {
  if (typeof value !== "string") return "it must be a text";
  if (value.length > AGENT_PROFILE_TEXT_CHARS_MAX) {
    return `it has more than ${AGENT_PROFILE_TEXT_CHARS_MAX} characters`;
  }
  if (/\p{Cc}/u.test(value)) return "it has control characters";
  return value.isWellFormed() ? null : "it has half a character";
}

/** A name from outside, fit to be shown in a sentence. */
export function shown(name: string): string {
  return cutText(name, SHOWN_CHARS_MAX).replace(/\p{Cc}/gu, "?");
}

const SHOWN_CHARS_MAX = 64;
