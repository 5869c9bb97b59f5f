/**
 * Foreign text in an HTML document. Nothing in it is ever markup, and nothing in it changes how
 * the text around it looks: not by colours for terminals, not by turning the direction of a line.
 */
export function escaped(text: string): string {
  return withEntities(visible(text));
}

/** For text that is `visible` already: what means something in HTML, as entities. */
export function withEntities(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** The same text without what only a terminal understands, and with signs for what is unseen. */
export function visible(text: string): string {
  const lines = text.replace(TERMINAL_SEQUENCES, "").replace(/\r\n?/g, "\n");
  return lines.replace(UNSEEN, signFor);
}

const ESCAPE = "\u001b";
const BELL = "\u0007";

/**
 * Colours and moves of a cursor; titles and links, up to their end; and all the short ones. Each
 * part stops at the next escape, so that a text of nothing else does not cost its length squared.
 */
const TERMINAL_SEQUENCES = new RegExp(
  [
    `(?:${ESCAPE}\\[|\u009b)[0-?]*[ -/]*[@-~]`,
    `${ESCAPE}[\\]PX^_][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\)`,
    `${ESCAPE}[ -/]*[0-~]`,
  ].join("|"),
  "g",
);

/** Control characters but for line ends and tabs, and what reverses the direction of a line. */
const UNSEEN = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;

const PICTURE_OF_NULL = 0x2400;
const PICTURE_OF_DELETE = "\u2421";

function signFor(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x20) return String.fromCodePoint(PICTURE_OF_NULL + point);
  if (point === 0x7f) return PICTURE_OF_DELETE;
  return `[U+${point.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/** An address that a link may lead to, in its plainest form; null if it had better not. */
export function safeAddress(text: string): string | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(text) || !URL.canParse(text)) return null;
  return new URL(text).href;
}
