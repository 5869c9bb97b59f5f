import { stripVTControlCharacters } from "node:util";
import { AGENT_SAID_CHARS_MAX, AGENT_STDERR_BYTES_MAX } from "../../core/limits.ts";
import { lastOfText } from "../../core/text.ts";

/**
 * The end of what an agent wrote to its error output, in a ring: however much it writes, and in
 * however small pieces, this is all that is kept of it (P10).
 */
export class LastWords {
  readonly #ring = Buffer.alloc(AGENT_STDERR_BYTES_MAX);
  readonly #secrets: readonly string[];
  #written = 0;

  constructor(secrets: readonly string[]) {
    // A secret that is part of another would break the longer one before it is found.
    this.#secrets = secrets.toSorted((a, b) => b.length - a.length);
  }

  hear(bytes: Buffer) {
    const end = bytes.subarray(-this.#ring.length);
    const at = (this.#written + bytes.length - end.length) % this.#ring.length;
    const fitting = end.subarray(0, this.#ring.length - at);
    this.#ring.set(fitting, at);
    this.#ring.set(end.subarray(fitting.length), 0);
    this.#written += bytes.length;
  }

  /** Fit for people: the last of it, without secrets and without what would move a cursor. */
  said(): string {
    const whole = this.#redacted(this.#text());
    const clean = stripVTControlCharacters(whole).replace(/\r\n?/g, "\n").replace(UNPRINTABLE, "");
    // Once more: a secret may have had colours, or another control character, in its midst.
    return lastOfText(this.#redacted(clean).trim(), AGENT_SAID_CHARS_MAX);
  }

  #text(): string {
    if (this.#written <= this.#ring.length) {
      return this.#ring.toString("utf8", 0, this.#written);
    }
    const at = this.#written % this.#ring.length;
    const bytes = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    // The ring may have cut a secret in two, and half a secret is not recognised.
    const longest = Math.max(0, ...this.#secrets.map((secret) => Buffer.byteLength(secret)));
    const begin = bytes.subarray(longest).findIndex((byte) => (byte & 0xc0) !== 0x80);
    return begin === -1 ? "" : bytes.toString("utf8", longest + begin);
  }

  #redacted(text: string): string {
    return this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  }
}

const REDACTED = "[redacted]";

/** Control characters but for line ends and tabs, and what reverses the direction of a line. */
const UNPRINTABLE = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
