/** The beginning of a text, never with half a character at its end. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = text.slice(0, charsMax);
  return isHighSurrogate(cut.at(-1)) ? cut.slice(0, -1) : cut;
}

/** The end of a text, never with half a character at its beginning. */
export function lastOfText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = text.slice(text.length - charsMax);
  return isHighSurrogate(text[text.length - charsMax - 1]) ? cut.slice(1) : cut;
}

function isHighSurrogate(unit: string | undefined): boolean {
  return unit !== undefined && unit >= "\ud800" && unit <= "\udbff";
}

/** How long a text is where bytes are counted. */
export function utf8Bytes(text: string): number {
  return ENCODER.encode(text).length;
}

const ENCODER = new TextEncoder();
