import { SKILL_NAME_CHARS_MAX } from "../limits.ts";
import { cutText } from "../text.ts";

/** Controls, format characters, halves of characters and every kind of space. */
const UNTYPEABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}/]/u;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** What decoding puts in the place of bytes that are no text. */
const UNDECODED = "\ufffd";

/** Why nobody could type this name as one word of a command; null if they can. */
export function nameFault(name: string): string | null {
  if (name === "") return "it is empty";
  if (name.length > SKILL_NAME_CHARS_MAX) {
    return `it is longer than ${SKILL_NAME_CHARS_MAX} characters`;
  }
  if (name.includes(UNDECODED)) return "it is not UTF-8";
  if (UNTYPEABLE.test(name)) return "it has whitespace, a control character or a slash";
  return null;
}

/** The name that a skill has in its session: two machines may spell one name differently. */
export function skillName(directory: string): string {
  return directory.normalize("NFC");
}

/**
 * Equal for names that differ only by case or by Unicode normal form: some systems cannot hold
 * two of them in one directory, and people cannot tell them apart.
 */
export function lookOf(name: string): string {
  return name.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
}

/** A name that somebody else chose, as part of a line. */
export function shown(name: string): string {
  const cut = cutText(name, SKILL_NAME_CHARS_MAX);
  const line = inOneLine(cut.normalize("NFC"));
  return cut.length < name.length ? `${line}…` : line;
}

/** Foreign words among our own: what cannot be seen in a line is spelled out. */
export function inOneLine(text: string): string {
  return text.replace(UNSEEN, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
