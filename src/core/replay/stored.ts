/** A finished turn as it is stored and sent: the text of a JSON array of its folded events. */
export interface StoredTurn {
  readonly text: string;
  /** How many it is on the wire. */
  readonly bytes: number;
}

/**
 * The events of a stored turn, each as its text. It looks for the commas between them only, which
 * takes a fraction of the time that parsing takes.
 */
export function* eventTexts({ text }: Pick<StoredTurn, "text">): Generator<string> {
  let depth = 0;
  let start = 1;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (unit === OPEN_OBJECT || unit === OPEN_LIST) depth += 1;
    else if (unit === CLOSE_OBJECT || unit === CLOSE_LIST) depth -= 1;
    const isEnd = depth === 0 || (depth === 1 && unit === COMMA);
    if (!isEnd) continue;
    if (at > start) yield text.slice(start, at);
    start = at + 1;
  }
}

/** Several stored turns as one JSON array, with this before them. */
export function joinedTurns(turns: readonly StoredTurn[], first: object | null): string {
  const texts = turns.map(({ text }) => text.slice(1, -1)).filter((text) => text !== "");
  return `[${[...(first === null ? [] : [JSON.stringify(first)]), ...texts].join(",")}]`;
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
