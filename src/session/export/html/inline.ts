import { safeAddress, withEntities } from "./text.ts";

/**
 * The words of a paragraph as HTML: code, emphasis and links. What is not understood stays as it
 * was written. The time this takes grows with the text and not faster, whatever is in it.
 */
export function inlineHtml(text: string): string {
  return new InlineSetter(text, true).html();
}

/** Where something may begin. */
const MARK = /[\\`[<]|!\[|\*+|_+|~~|https?:\/\//g;

const BARE = String.raw`[^\s()<>[\]]*`;
const TARGET = String.raw`\(<?(${BARE}(?:\(${BARE}\)${BARE}){0,8})>?(?:\s+"[^"[\]]*")?\s*\)`;
const LINK = new RegExp(String.raw`\[([^[\]]*)\]${TARGET}`, "y");
const IMAGE = new RegExp(`!${LINK.source}`, "y");
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]*)>/iy;
const BARE_ADDRESS = /https?:\/\/[^\s<>"'`[\]]*/y;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;

/** Emphasis that has begun, and the piece that becomes its tag if it ends. */
interface Begun {
  readonly marks: string;
  readonly piece: number;
}

const TAGS: ReadonlyMap<string, string> = new Map([
  ["**", "strong"],
  ["__", "strong"],
  ["*", "em"],
  ["_", "em"],
  ["~~", "del"],
]);

class InlineSetter {
  readonly #text: string;
  readonly #mayLink: boolean;
  readonly #mark = new RegExp(MARK);
  readonly #pieces: string[] = [];
  #at = 0;
  /** At most one for each kind of marks, so that a search in it is short. */
  #begun: Begun[] = [];
  #fences: Map<number, number[]> | null = null;

  constructor(text: string, mayLink: boolean) {
    this.#text = text;
    this.#mayLink = mayLink;
  }

  html(): string {
    for (let found = this.#next(); found !== null; found = this.#next()) {
      this.#literal(found.index);
      this.#set(found[0]);
      this.#literal(found.index + 1); // A mark that came to nothing is a character like others.
    }
    this.#literal(this.#text.length);
    return this.#pieces.join("");
  }

  #next(): RegExpExecArray | null {
    this.#mark.lastIndex = this.#at;
    return this.#mark.exec(this.#text);
  }

  #literal(end: number) {
    if (end > this.#at) this.#pieces.push(withEntities(this.#text.slice(this.#at, end)));
    this.#at = Math.max(this.#at, end);
  }

  #set(mark: string) {
    if (mark === "\\") this.#escaped();
    else if (mark === "`") this.#code();
    else if (mark === "![") this.#image();
    else if (TAGS.has(mark.slice(0, 1)) || mark === "~~") this.#emphasis(mark);
    else if (!this.#mayLink) return;
    else if (mark === "[") this.#link();
    else if (mark === "<") this.#autolink();
    else this.#bareAddress();
  }

  /** What stands here, if it has that form. */
  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  #push(html: string, length: number) {
    this.#pieces.push(html);
    this.#at += length;
  }

  #escaped() {
    const [whole = "", character = ""] = this.#match(ESCAPED) ?? [];
    if (whole !== "") this.#push(withEntities(character), whole.length);
  }

  #code() {
    const [marks = ""] = this.#match(/`+/y) ?? [];
    const begin = this.#at + marks.length;
    const end = this.#nextFence(marks.length);
    if (end === null) return this.#literal(begin);
    const inside = this.#text.slice(begin, end).replaceAll("\n", " ");
    const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
    const code = isPadded ? inside.slice(1, -1) : inside;
    this.#push(`<code>${withEntities(code)}</code>`, end + marks.length - this.#at);
  }

  /** Where the next run of so many backticks stands; they are looked up once for the whole text. */
  #nextFence(length: number): number | null {
    this.#fences ??= fencesIn(this.#text);
    const places = this.#fences.get(length) ?? [];
    while ((places.at(-1) ?? Number.POSITIVE_INFINITY) <= this.#at) places.pop();
    return places.at(-1) ?? null;
  }

  #link() {
    const [whole = "", words = "", target = ""] = this.#match(LINK) ?? [];
    const address = safeAddress(target);
    if (address === null) return; // All of it is shown then, also where it would have led.
    const set = new InlineSetter(words, false).html(); // There are no links in links.
    this.#push(linkHtml(address, set || withEntities(address), "named"), whole.length);
  }

  #image() {
    const [whole = "", words = "", target = ""] = this.#match(IMAGE) ?? [];
    if (whole === "") return;
    // An image that is its own address is of no use to readers, and long.
    const parts = target.startsWith("data:") ? [words] : [words, target];
    const told = parts.filter((part) => part !== "").join(", ");
    this.#push(`<em>[image: ${withEntities(told)}]</em>`, whole.length);
  }

  #autolink() {
    const [whole = "", target = ""] = this.#match(AUTOLINK) ?? [];
    const address = safeAddress(target);
    if (address !== null) this.#push(linkHtml(address, withEntities(target), "bare"), whole.length);
  }

  #bareAddress() {
    const target = withoutPunctuation(this.#match(BARE_ADDRESS)?.[0] ?? "");
    const address = safeAddress(target);
    const words = withEntities(target);
    this.#push(address === null ? words : linkHtml(address, words, "bare"), target.length);
  }

  /** A run of marks may end something and begin something else: `**a *b***`. */
  #emphasis(run: string) {
    const before = this.#text[this.#at - 1] ?? " ";
    const after = this.#text[this.#at + run.length] ?? " ";
    const isWord = run.startsWith("_") ? /[\p{L}\p{N}]/u : null;
    const mayEnd = !/\s/.test(before) && !isWord?.test(after);
    const mayBegin = !/\s/.test(after) && !isWord?.test(before);
    let rest = run.length <= 3 ? run : ""; // A longer run is a line, and no emphasis.
    while (rest !== "") {
      const ending = mayEnd ? this.#endingWith(rest) : null;
      const marks = ending?.marks ?? (rest.length > 1 ? rest.slice(0, 2) : rest);
      if (ending !== null) this.#end(ending);
      else if (mayBegin && !this.#begun.some((begun) => begun.marks === marks)) this.#begin(marks);
      else this.#literal(this.#at + marks.length);
      rest = rest.slice(marks.length);
    }
    if (run.length > 3) this.#literal(this.#at + run.length);
  }

  /** What ends with these marks, or else what began last of all that ends with some of them. */
  #endingWith(marks: string): Begun | null {
    const whole = this.#begun.find((begun) => begun.marks === marks);
    return whole ?? this.#begun.findLast((begun) => marks.startsWith(begun.marks)) ?? null;
  }

  #begin(marks: string) {
    this.#begun.push({ marks, piece: this.#pieces.length });
    this.#push(withEntities(marks), marks.length);
  }

  /** What began inside and did not end stays as it was written, so that tags never cross. */
  #end(begun: Begun) {
    const tag = TAGS.get(begun.marks) ?? "em";
    this.#begun = this.#begun.slice(0, this.#begun.indexOf(begun));
    this.#pieces[begun.piece] = `<${tag}>`;
    this.#push(`</${tag}>`, begun.marks.length);
  }
}

/** The runs of backticks by their lengths, the last one first. */
function fencesIn(text: string): Map<number, number[]> {
  const fences = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const places = fences.get(run.length);
    if (places) places.push(index);
    else fences.set(run.length, [index]);
  }
  for (const places of fences.values()) places.reverse();
  return fences;
}

/** Named links have their addresses beside them on paper; bare ones show them anyway. */
function linkHtml(address: string, words: string, sort: "named" | "bare"): string {
  const href = withEntities(address);
  return `<a class="${sort}" href="${href}" rel="noopener noreferrer">${words}</a>`;
}

/** An address at the end of a sentence, without the end of the sentence. */
function withoutPunctuation(address: string): string {
  const isClosed = address.includes("(");
  let end = address.length;
  while (end > 0 && (".,;:!?*_~".includes(address[end - 1] ?? "") || isBracket(end))) end -= 1;
  return address.slice(0, end);

  function isBracket(at: number) {
    return !isClosed && address[at - 1] === ")";
  }
}
