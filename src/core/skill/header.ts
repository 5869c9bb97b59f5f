import { isObject, type JsonObject } from "../json.ts";
import { SKILL_NEED_CHARS_MAX, SKILL_NEEDS_MAX, SKILL_SUMMARY_CHARS_MAX } from "../limits.ts";
import { byCodePoint } from "../text.ts";
import { type Eligibility, INVOCATION_MODES, type InvocationMode, shown } from "./skill.ts";

/** What a SKILL.md says of itself, in either format, with the defaults filled in. */
export interface SkillHeader {
  readonly summary: string;
  readonly invocationMode: InvocationMode;
  readonly command: string | null;
  readonly commandTool: string | null;
  readonly requiresTools: readonly string[];
  readonly eligibility: Eligibility;
  /** The public format repeats the directory's name here. */
  readonly declaredName: string | null;
  /** Keys of neither format: ignored, with a diagnostic. */
  readonly unknownKeys: readonly string[];
}

export type HeaderReading =
  | { readonly header: SkillHeader; readonly fault: null }
  | { readonly header: null; readonly fault: string };

const HEADER_KEYS = [
  ...["summary", "invocation_mode", "command", "command_tool", "requires_tools", "eligibility"],
  // The public format's. What it allows for tools is advice to its own host, and ignored here.
  ...["name", "description", "license", "compatibility", "allowed-tools", "metadata"],
];
const ELIGIBILITY_KEYS = ["os", "env", "binaries"];

/** Reads a parsed frontmatter. A key without a value counts as not written at all. */
export function readHeader(parsed: unknown): HeaderReading {
  if (parsed !== null && parsed !== undefined && !isObject(parsed)) {
    return { header: null, fault: "the frontmatter is not a mapping" };
  }
  const block = new Block(parsed ?? {});
  const eligibility = block.block("eligibility");
  const unknownKeys = [
    ...block.keysBeside(HEADER_KEYS),
    ...eligibility.keysBeside(ELIGIBILITY_KEYS).map((key) => `eligibility.${key}`),
  ];
  const header: SkillHeader = {
    summary: block.line("summary") ?? block.line("description") ?? "",
    invocationMode: block.oneOf("invocation_mode", INVOCATION_MODES) ?? "llm_orchestration",
    command: block.text("command"),
    commandTool: block.word("command_tool"),
    requiresTools: block.words("requires_tools"),
    eligibility: {
      os: eligibility.words("os"),
      env: eligibility.words("env"),
      binaries: eligibility.words("binaries", isFileName),
    },
    declaredName: block.text("name"),
    unknownKeys: unknownKeys.map(shown).toSorted(byCodePoint),
  };
  const faults = [...block.faults, ...eligibility.faults.map((fault) => `eligibility.${fault}`)];
  return faults.length === 0 ? { header, fault: null } : { header: null, fault: faults.join("; ") };
}

/** A mapping whose values are looked at one by one; what is wrong comes together in `faults`. */
class Block {
  readonly faults: string[] = [];
  readonly #block: JsonObject;

  constructor(block: JsonObject) {
    this.#block = block;
  }

  keysBeside(known: readonly string[]): readonly string[] {
    return Object.keys(this.#block).filter((key) => !known.includes(key));
  }

  text(key: string): string | null {
    const value = this.#at(key);
    if (value === null) return null;
    if (typeof value !== "string") return this.#wrong(key, "is not a text");
    return value.isWellFormed() ? value : this.#wrong(key, "has half a character");
  }

  /** A text that is shown as one line, however it was written. */
  line(key: string): string | null {
    const line =
      this.text(key)
        // What people cannot see must not reach an agent either.
        ?.replace(/\p{Cf}+/gu, "")
        .replace(/[\s\p{Cc}]+/gu, " ")
        .trim() ?? null;
    if (line === null || line.length <= SKILL_SUMMARY_CHARS_MAX) return line;
    return this.#wrong(key, `is longer than ${SKILL_SUMMARY_CHARS_MAX} characters`);
  }

  word(key: string): string | null {
    const word = this.text(key);
    return word === null || isWord(word) ? word : this.#wrong(key, "is not a name");
  }

  words(key: string, isGood = isWord): readonly string[] {
    const value = this.#at(key) ?? [];
    if (!Array.isArray(value)) return this.#wrong(key, "is not a list") ?? [];
    if (value.length > SKILL_NEEDS_MAX) {
      return this.#wrong(key, `has more than ${SKILL_NEEDS_MAX} names`) ?? [];
    }
    const words = value.filter((item: unknown): item is string => {
      return typeof item === "string" && isGood(item);
    });
    if (words.length < value.length) this.#wrong(key, "has something that is not a name");
    return [...new Set(words)];
  }

  oneOf<Word extends string>(key: string, words: readonly Word[]): Word | null {
    const value = this.#at(key);
    if (value === null) return null;
    return words.find((word) => word === value) ?? this.#wrong(key, `is not ${words.join(" or ")}`);
  }

  block(key: string): Block {
    const value = this.#at(key) ?? {};
    if (isObject(value)) return new Block(value);
    this.#wrong(key, "is not a mapping");
    return new Block({});
  }

  #at(key: string): unknown {
    return Object.hasOwn(this.#block, key) ? (this.#block[key] ?? null) : null;
  }

  #wrong(key: string, how: string): null {
    this.faults.push(`${key} ${how}`);
    return null;
  }
}

/** Names of tools, variables and systems: one word, and not a long one. */
function isWord(text: string): boolean {
  return /^[^\s\p{Cc}\p{Cs}]+$/u.test(text) && text.length <= SKILL_NEED_CHARS_MAX;
}

/** Programs are looked for on PATH, by name; a path would look anywhere. */
function isFileName(text: string): boolean {
  return isWord(text) && !/^\.{1,2}$|[/\\]/.test(text);
}
