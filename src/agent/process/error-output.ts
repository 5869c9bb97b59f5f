import { stripVTControlCharacters } from "node:util";
import { AGENT_SAID_CHARS_MAX, AGENT_STDERR_BYTES_MAX } from "../../core/limits.ts";
import { lastOfText } from "../../core/text.ts";
import { isContinuation, OutputRing } from "./output.ts";

/** The end of an agent's error output, in a ring buffer: nothing more of it is kept (P10). */
export class ErrorOutput {
  readonly #ring = new OutputRing(AGENT_STDERR_BYTES_MAX);
  readonly #redactor: Redactor;
  readonly #longestSecretBytes: number;

  constructor(secrets: readonly string[]) {
    this.#redactor = new Redactor(secrets);
    this.#longestSecretBytes = Math.max(0, ...secrets.map((secret) => Buffer.byteLength(secret)));
  }

  /** The size of all output, kept or not. */
  get totalBytes(): number {
    return this.#ring.totalBytes;
  }

  push(bytes: Buffer) {
    this.#ring.push(bytes);
  }

  /**
   * The end of the output after so many bytes, without secrets and control characters. It is empty
   * if a secret lies across that position.
   */
  excerpt(sinceBytes = 0): string {
    const all = this.all();
    const before = this.#redactor.readable(this.#text(sinceBytes));
    const since = all.startsWith(before) ? all.slice(before.length).trim() : "";
    return lastOfText(since, AGENT_SAID_CHARS_MAX);
  }

  /** All that is kept, without secrets and control characters. */
  all(): string {
    return this.#redactor.readable(this.#text(this.totalBytes));
  }

  /** What is kept of the first so many bytes, to the end of a character. */
  #text(untilBytes: number): string {
    const bytes = this.#kept();
    const cut = Math.max(0, bytes.length - this.totalBytes + untilBytes);
    const end = bytes.subarray(cut).findIndex(isBeginning);
    return bytes.toString("utf8", 0, end === -1 ? bytes.length : cut + end);
  }

  #kept(): Buffer {
    const bytes = this.#ring.bytes();
    if (bytes.length === this.totalBytes) return bytes;
    // The ring may have cut a secret in two, and half a secret is not recognized.
    const longest = this.#longestSecretBytes;
    const begin = bytes.subarray(longest).findIndex(isBeginning);
    return begin === -1 ? bytes.subarray(0, 0) : bytes.subarray(longest + begin);
  }
}

function isBeginning(byte: number): boolean {
  return !isContinuation(byte);
}

/** Removes an agent's secrets from its output, so that people may read and keep it. */
export class Redactor {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    // Longest first: a secret that is part of another would break the longer one.
    this.#secrets = secrets.toSorted((a, b) => b.length - a.length);
  }

  /** Cut a text only after this: half a secret is not recognized. */
  readonly redacted = (text: string): string =>
    this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);

  /** Also without control characters, which may have stood inside a secret. */
  readonly readable = (text: string): string => {
    const whole = this.redacted(text);
    const clean = stripVTControlCharacters(whole).replace(/\r\n?/g, "\n").replace(UNPRINTABLE, "");
    return this.redacted(clean).trim();
  };
}

const REDACTED = "[redacted]";

/** Control characters except line ends and tabs, and marks of writing direction. */
const UNPRINTABLE = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
