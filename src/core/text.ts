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

/** How long a text is where bytes are counted; a half of a character counts as its stand-in. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) bytes += unit >= 0x800 ? 2 : 1;
    // A pair is four bytes: two for its length, and two for its first half.
    if (isHighSurrogate(text[at]) && isLowSurrogate(text[at + 1])) at += 1;
  }
  return bytes;
}

function isLowSurrogate(unit: string | undefined): boolean {
  return unit !== undefined && unit >= "\udc00" && unit <= "\udfff";
}

/** How many bytes `JSON.stringify` would write, without writing them: a prompt may be 10 MiB. */
export function jsonBytes(value: unknown): number {
  if (typeof value === "string") return jsonStringBytes(value);
  if (Array.isArray(value)) {
    return value.reduce((sum: number, one) => sum + jsonBytes(one), Math.max(2, value.length + 1));
  }
  if (typeof value !== "object" || value === null) return (JSON.stringify(value) ?? "null").length;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  // Each field has a colon, and a comma or the closing brace after it.
  const marks = Math.max(2, 1 + 2 * fields.length);
  return fields.reduce((sum, [key, one]) => sum + jsonStringBytes(key) + jsonBytes(one), marks);
}

function jsonStringBytes(text: string): number {
  let bytes = text.length + 2;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22 || unit === 0x5c) bytes += 1;
    else if (unit < 0x20) bytes += SHORT_ESCAPES.includes(unit) ? 1 : 5;
    else if (unit < 0x80) continue;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += unit >= 0x800 ? 2 : 1;
    else if (isHighSurrogate(text[at]) && isLowSurrogate(text[at + 1])) {
      bytes += 2;
      at += 1;
    } else bytes += 5; // Half a character is written as its code.
  }
  return bytes;
}

/** Backspace, tab, line feed, form feed and carriage return: `\n` rather than `\u000a`. */
const SHORT_ESCAPES: readonly number[] = [0x08, 0x09, 0x0a, 0x0c, 0x0d];

/**
 * Orders texts by their code points, which no locale changes. UTF-16 puts the halves of large
 * characters before the last small ones; here they come after, as in UTF-8.
 */
export function byCodePoint(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  for (let at = 0; at < shorter; at += 1) {
    const difference = rankOf(one.charCodeAt(at)) - rankOf(other.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
