import { stripVTControlCharacters } from "node:util";

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
