import {
  SESSION_NAME_AUTOMATIC_CHARS_MAX,
  SESSION_NAME_CHARS_MAX,
  SESSION_NAME_WORDS_MAX,
} from "../limits.ts";

declare const kind: unique symbol;

/** What people call a session by where its id would do: typed by hand, so short and plain. */
export type SessionName = string & { readonly [kind]: "session name" };

/** A name that begins with a hyphen would be taken for an option of a command line. */
const NAME = /^[a-z0-9][a-z0-9-]+$/;

/** What a client is told whose name is none. */
export const SESSION_NAME_RULE = `A name of a session has 2 to ${SESSION_NAME_CHARS_MAX} letters \
a-z, digits and hyphens, begins with no hyphen, and is not like an id: fix-login is one`;

export function parseSessionName(text: string): SessionName | null {
  return isSessionName(text) ? text : null;
}

export function isSessionName(text: string): text is SessionName {
  return text.length <= SESSION_NAME_CHARS_MAX && NAME.test(text) && !isStartOfUuid(text);
}

/** Clients write ids short, by their first four letters or more: no name may be one of those. */
function isStartOfUuid(text: string): boolean {
  const rest = "00000000-0000-0000-0000-000000000000".slice(text.length);
  return text.length >= 4 && UUID_SHAPE.test(`${text}${rest}`);
}

const UUID_SHAPE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The words of a text as a name; null if it has none that a name can be made of. */
export function nameFromWords(text: string): SessionName | null {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  const words = plain.match(/[\p{L}\p{N}]+/gu)?.filter(isPlain) ?? [];
  const telling = words.filter((word) => !FILLERS.has(word));
  const chosen = telling.length > 0 ? telling : words;
  let name = "";
  for (const word of chosen.slice(0, SESSION_NAME_WORDS_MAX)) {
    const longer = name === "" ? word : `${name}-${word}`;
    if (longer.length > SESSION_NAME_AUTOMATIC_CHARS_MAX && name !== "") break;
    name = longer.slice(0, SESSION_NAME_AUTOMATIC_CHARS_MAX);
  }
  if (name === "") return null;
  return parseSessionName(name) ?? parseSessionName(`session-${name}`);
}

/** The name with a number behind it; 1 is the name as it is. */
export function numberedName(name: SessionName, number: number): SessionName {
  if (number < 2) return name;
  const ending = `-${number}`;
  const beginning = name.slice(0, SESSION_NAME_CHARS_MAX - ending.length).replace(/-+$/, "");
  return parseSessionName(`${beginning}${ending}`) ?? name;
}

const isPlain = (word: string) => /^[a-z0-9]+$/.test(word);

/** They tell one request from another in no language that has them. */
const FILLERS: ReadonlySet<string> = new Set(["a", "an", "the", "please"]);
