import { AGENT_SAID_CHARS_MAX, AGENT_STDERR_BYTES_MAX } from "../../core/limits.ts";
import { lastOfText } from "../../core/text.ts";
import { stripVTControlCharacters } from "node:util";

/**
 * The end of what an agent wrote to its error output, in a ring: however much it writes, and in
 * however small pieces, this is all that is kept of it (P10).
 */
export class LastWords {
  readonly #ring = Buffer.alloc(AGENT_STDERR_BYTES_MAX);
  readonly #redactor: Redactor;
  readonly #longestSecretBytes: number;
  #written = 0;

  constructor(secrets: readonly string[]) {
    this.#redactor = new Redactor(secrets);
    this.#longestSecretBytes = Math.max(0, ...secrets.map((secret) => Buffer.byteLength(secret)));
  }

  /** All that it ever wrote. */
  get heardBytes(): number {
    return this.#written;
  }

  hear(bytes: Buffer) {
    const end = bytes.subarray(-this.#ring.length);
    const at = (this.#written + bytes.length - end.length) % this.#ring.length;
    const fitting = end.subarray(0, this.#ring.length - at);
    this.#ring.set(fitting, at);
    this.#ring.set(end.subarray(fitting.length), 0);
    this.#written += bytes.length;
  }

  /**
   * Fit for people: the last of it, without secrets and without what would move a cursor; only
   * what came after so many bytes. If a secret came both before and after, it is nothing.
   */
  said(sinceBytes = 0): string {
    const all = this.all();
    const before = this.#redactor.readable(this.#text(sinceBytes));
    const since = all.startsWith(before) ? all.slice(before.length).trim() : "";
    return lastOfText(since, AGENT_SAID_CHARS_MAX);
  }

  /** The same, as much as there is. */
  all(): string {
    return this.#redactor.readable(this.#text(this.#written));
  }

  /** What there is of the first so many bytes, to the end of a character. */
  #text(untilBytes: number): string {
    const bytes = this.#kept();
    const cut = Math.max(0, bytes.length - this.#written + untilBytes);
    const end = bytes.subarray(cut).findIndex(isBeginning);
    return bytes.toString("utf8", 0, end === -1 ? bytes.length : cut + end);
  }

  #kept(): Buffer {
    if (this.#written <= this.#ring.length) return this.#ring.subarray(0, this.#written);
    const at = this.#written % this.#ring.length;
    const bytes = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    // The ring may have cut a secret in two, and half a secret is not recognised.
    const longest = this.#longestSecretBytes;
    const begin = bytes.subarray(longest).findIndex(isBeginning);
    return begin === -1 ? bytes.subarray(0, 0) : bytes.subarray(longest + begin);
  }
}

/** Whether a character begins with this byte. */
function isBeginning(byte: number): boolean {
  return (byte & 0xc0) !== 0x80;
}

/** Makes what an agent wrote fit to be read by people and kept: without the secrets it has. */
export class Redactor {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    // A secret that is part of another would break the longer one before it is found.
    this.#secrets = secrets.toSorted((a, b) => b.length - a.length);
  }

  /** Whoever cuts a text does so afterwards: of half a secret nobody knows that it is one. */
  readonly redacted = (text: string): string =>
    this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);

  /** Without what would move a cursor too, which may have stood in the midst of a secret. */
  readonly readable = (text: string): string => {
    const whole = this.redacted(text);
    const clean = stripVTControlCharacters(whole).replace(/\r\n?/g, "\n").replace(UNPRINTABLE, "");
    return this.redacted(clean).trim();
  };
}

const REDACTED = "[redacted]";

/** Control characters but for line ends and tabs, and what reverses the direction of a line. */
const UNPRINTABLE = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
