/** Characters of this range are looked up in a table, and all others count as candidates. */
const ASCII = 128;

/**
 * Tells whether the end of a text begins one of these forms. A text of which no end does, which is
 * nearly every one, costs one lookup for each of its last characters, and nothing is made.
 */
export class SecretBeginnings {
  /** In order, so that all forms with a common beginning stand together. */
  readonly #forms: readonly string[];
  readonly #longest: number;
  /** Which characters begin a form, and which pairs of them. */
  readonly #firsts = new Uint8Array(ASCII);
  readonly #pairs = new Uint8Array(ASCII * ASCII);
  /** Whether a form begins with another character. */
  #hasOthers = false;

  constructor(forms: readonly string[]) {
    this.#forms = forms.toSorted();
    this.#longest = forms.reduce((most, { length }) => Math.max(most, length), 0);
    for (const form of forms) {
      const first = form.charCodeAt(0);
      const second = form.charCodeAt(1);
      if (first >= ASCII) this.#hasOthers = true;
      else this.#firsts[first] = 1;
      if (first < ASCII && second < ASCII) this.#pairs[first * ASCII + second] = 1;
    }
  }

  /** Where the longest end of the text begins that begins a form; its length if there is none. */
  openFrom(text: string, start = 0): number {
    const { length } = text;
    const from = Math.max(start, length - this.#longest + 1);
    const last = length - 1;
    let first = from < length ? text.charCodeAt(from) : 0;
    for (let at = from; at < last; at += 1) {
      const second = text.charCodeAt(at + 1);
      const mayBegin =
        first < ASCII && second < ASCII
          ? this.#pairs[first * ASCII + second] === 1
          : this.#mayBegin(first);
      if (mayBegin && this.#begins(text.slice(at))) return at;
      first = second;
    }
    const isOpen = from <= last && this.#mayBegin(first) && this.#begins(text.slice(last));
    return isOpen ? last : length;
  }

  #mayBegin(first: number): boolean {
    return first < ASCII ? this.#firsts[first] === 1 : this.#hasOthers;
  }

  /** Whether a form begins so and goes on. */
  #begins(end: string): boolean {
    let low = 0;
    let high = this.#forms.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#forms[middle] ?? "") < end) low = middle + 1;
      else high = middle;
    }
    for (let form = this.#forms[low]; form?.startsWith(end); form = this.#forms[low]) {
      if (form.length > end.length) return true;
      low += 1;
    }
    return false;
  }
}
