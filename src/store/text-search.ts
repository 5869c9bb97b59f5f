/**
 * Tells whether a text has one of several others in it, after Wu and Manber: it looks at a pair of
 * characters, and unless one of the others has that pair it goes on by nearly a whole length of
 * theirs. So it looks at few characters of most texts, and makes nothing.
 */
export class TextSearch {
  /** As many characters of each text are looked for at a time as the shortest one has. */
  readonly #length: number;
  /** By pair: how far the next place may be where one of the texts ends with its `#length`. */
  readonly #steps = new Uint8Array(PAIRS);
  /** The texts, by the pair with which their first `#length` characters end. */
  readonly #byEnd = new Map<number, string[]>();

  /** Each has two characters or more. */
  constructor(texts: readonly string[]) {
    const shortest = texts.reduce((least, { length }) => Math.min(least, length), LENGTH_MAX);
    this.#length = shortest;
    this.#steps.fill(shortest - 1);
    for (const text of texts) this.#add(text);
  }

  #add(text: string) {
    const last = this.#length - 1;
    for (let at = 1; at < last; at += 1) {
      const pair = pairAt(text, at);
      this.#steps[pair] = Math.min(this.#steps[pair] ?? 0, last - at);
    }
    const pair = pairAt(text, last);
    this.#steps[pair] = 0;
    const sameEnd = this.#byEnd.get(pair) ?? [];
    if (!sameEnd.includes(text)) sameEnd.push(text);
    this.#byEnd.set(pair, sameEnd);
  }

  isIn(text: string): boolean {
    const last = this.#length - 1;
    for (let at = last; at < text.length; ) {
      const pair = pairAt(text, at);
      const step = this.#steps[pair] ?? 1;
      if (step === 0 && this.#beginsAt(text, at - last, pair)) return true;
      at += step === 0 ? 1 : step;
    }
    return false;
  }

  #beginsAt(text: string, from: number, pair: number): boolean {
    for (const one of this.#byEnd.get(pair) ?? []) if (text.startsWith(one, from)) return true;
    return false;
  }
}

/** A longer step would be gone less often than not. */
const LENGTH_MAX = 32;

const PAIRS = 65_536;

/** This character and the one before it; pairs of letters that no ASCII has may share a number. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at - 1) << 8) ^ text.charCodeAt(at)) & (PAIRS - 1);
}
