import { JSON_FAULT_CHARS_MAX } from "../core/limits.ts";

/** Where a text stops being JSON, and why. Lines and columns begin at 1. */
export interface SyntaxFault {
  readonly line: number;
  readonly column: number;
  /** Of the text itself it has one character at most: the rest may be secret. */
  readonly reason: string;
}

/**
 * The first fault of a text that `JSON.parse` refuses, whose own errors often do not say where.
 * Null if the text is too long to be looked through.
 */
export function faultOf(text: string): SyntaxFault | null {
  if (text.length > JSON_FAULT_CHARS_MAX) return null;
  const scan = new JsonScan(text);
  const expected = scan.all() ?? "JSON";
  const before = text.slice(0, scan.at);
  const line = before.split("\n").length;
  const column = scan.at - before.lastIndexOf("\n");
  return {
    line,
    column,
    reason: `expected ${expected}, found ${shown(text.codePointAt(scan.at))}`,
  };
}

function shown(code: number | undefined): string {
  if (code === undefined) return "the end";
  const char = String.fromCodePoint(code);
  if (char === "\n" || char === "\r") return "the end of the line";
  if (/^\p{C}$/u.test(char)) return "a control character";
  return char === '"' ? `'"'` : `"${char}"`;
}

/**
 * Goes over a text once, up to its first fault. Each step returns what it expected where it stands,
 * or null if that is there. The depth of the text is checked before.
 */
class JsonScan {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  all(): string | null {
    const fault = this.#value();
    if (fault !== null) return fault;
    return this.#next() === "" ? null : "nothing more";
  }

  #value(): string | null {
    const char = this.#next();
    if (char === "{") return this.#list("}", () => this.#member());
    if (char === "[") return this.#list("]", () => this.#value());
    if (char === '"') return this.#string();
    return this.#word();
  }

  /** What is in brackets, with commas between. */
  #list(end: string, item: () => string | null): string | null {
    this.at += 1;
    if (this.#skip(end)) return null;
    do {
      const fault = item();
      if (fault !== null) return fault;
    } while (this.#skip(","));
    return this.#skip(end) ? null : `"," or "${end}"`;
  }

  #member(): string | null {
    if (this.#next() !== '"') return "a name in double quotes";
    const fault = this.#string();
    if (fault !== null) return fault;
    return this.#skip(":") ? this.#value() : '":"';
  }

  #string(): string | null {
    this.at += 1;
    for (;;) {
      const char = this.#text[this.at] ?? "";
      if (char < " ") return "the end of a text in double quotes";
      const isEscape = char === "\\";
      const isBad = isEscape && !this.#isEscape();
      this.at += isEscape && !isBad ? 2 : 1;
      if (isBad) return 'an escape such as "n" after "\\"';
      if (char === '"') return null;
    }
  }

  #isEscape(): boolean {
    return /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/.test(this.#text.slice(this.at, this.at + 6));
  }

  /** A number, `true`, `false` or `null`. */
  #word(): string | null {
    const start = this.at;
    while (/[-+.\w]/.test(this.#text[this.at] ?? "")) this.at += 1;
    try {
      JSON.parse(this.#text.slice(start, this.at));
      return null;
    } catch {
      this.at = start;
      return "a value";
    }
  }

  #skip(char: string): boolean {
    const isThere = this.#next() === char;
    if (isThere) this.at += 1;
    return isThere;
  }

  /** The next character that is no blank; empty at the end. */
  #next(): string {
    while (/[ \t\n\r]/.test(this.#text[this.at] ?? "")) this.at += 1;
    return this.#text[this.at] ?? "";
  }
}
