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
  yield* textsFrom(text, 1);
}

/**
 * Those of its verdicts. A turn ends with its verdict and a few small events, so as a rule it looks
 * at nothing before those.
 */
export function verdictTexts(turn: Pick<StoredTurn, "text">): readonly string[] {
  const { text } = turn;
  const at = text.indexOf(VERDICT);
  if (at < 0) return [];
  const start = text.lastIndexOf(EVENT_START, at);
  const isStart = start >= 0 && NUMBERED.test(text.slice(start + EVENT_START.length, at));
  const texts = (isStart ? lastTexts(text, start) : null) ?? [...eventTexts(turn)];
  return texts.filter((one) => one.includes(VERDICT));
}

/** How the type of a verdict begins; in what anyone says, its quotes are escaped. */
const VERDICT = '"type":"turn_';
const EVENT_START = '{"id":';
const NUMBERED = /^\d+,"v":1,$/;

/** The events from here on; null if it is no event that begins here, but a value in one. */
function lastTexts(text: string, start: number): readonly string[] | null {
  const texts: string[] = [];
  const split = textsFrom(text, start);
  for (;;) {
    const { done, value } = split.next();
    if (done) return value === text.length - 1 ? texts : null;
    texts.push(value);
  }
}

/** The values of a list, from one that begins here. Returns where the list ends. */
function* textsFrom(text: string, from: number): Generator<string, number> {
  let depth = 1;
  let start = from;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (unit === OPEN_OBJECT || unit === OPEN_LIST) depth += 1;
    else if (unit === CLOSE_OBJECT || unit === CLOSE_LIST) depth -= 1;
    const isEnd = depth === 0 || (depth === 1 && unit === COMMA);
    if (!isEnd) continue;
    if (at > start) yield text.slice(start, at);
    if (depth === 0) return at;
    start = at + 1;
  }
  return text.length;
}

/**
 * Several stored turns as one JSON array, with this before them: in pieces, so that who sends it
 * copies it once.
 */
export function joinedTurns(turns: readonly StoredTurn[], first: object | null): readonly string[] {
  const pieces = ["["];
  const add = (events: string) => {
    if (events === "") return;
    if (pieces.length > 1) pieces.push(",");
    pieces.push(events);
  };
  if (first !== null) add(JSON.stringify(first));
  for (const { text } of turns) add(text.slice(1, -1));
  pieces.push("]");
  return pieces;
}

/** A search for quotes looks at many characters at once; most of a turn is inside of strings. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    if (!isEscaped(text, at)) return at;
  }
  return text.length;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
