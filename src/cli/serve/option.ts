/** One thing that can be chosen about a server: by flag, environment or file, under one name. */
export interface Option<Value> {
  readonly help: string;
  /** What stands behind the flag in the help; none for a switch. */
  readonly placeholder: string | null;
  /** Whether it may be given several times. */
  readonly isList: boolean;
  /** Variables that other servers of this kind read, beside our own. */
  readonly variables: readonly string[];
  readonly usual: Value;
  /** Reads what was given; throws a sentence that follows a colon if it makes no sense. */
  read(given: unknown): Value;
}

interface About {
  readonly help: string;
  readonly placeholder?: string;
  readonly variables?: readonly string[];
}

/** A text, or null where none was given. */
export function text(about: About): Option<string | null> {
  return { ...named(about, "TEXT"), usual: null, read: readText };
}

export function texts(about: About): Option<readonly string[]> {
  const read = (given: unknown) => (Array.isArray(given) ? given : [given]).map(readText);
  return { ...named(about, "TEXT"), isList: true, usual: [], read };
}

export function choice<const Word extends string, Usual extends Word | null>(
  words: readonly Word[],
  usual: Usual,
  about: About,
): Option<Word | Usual> {
  const read = (given: unknown) => {
    const found = words.find((word) => word === given);
    if (found === undefined) throw new Error(`it is one of ${words.join(", ")}`);
    return found;
  };
  return { ...named(about, words.join("|")), usual, read };
}

/** On or off; as a flag, being there is on. */
export function toggle(about: About): Option<boolean> {
  const read = (given: unknown) => {
    const value = SWITCHED.get(String(given));
    if (value === undefined) throw new Error("it is true or false");
    return value;
  };
  return { ...named(about, ""), placeholder: null, usual: false, read };
}

/** A whole number within bounds; null where none was given. */
export function whole(least: number, most: number, about: About): Option<number | null> {
  const read = (given: unknown) => {
    const value = typeof given === "string" && /^\d+$/.test(given) ? Number(given) : given;
    const isFit = typeof value === "number" && Number.isSafeInteger(value);
    if (!isFit || value < least || value > most) {
      throw new Error(`it is a whole number from ${least} to ${most}`);
    }
    return value;
  };
  return { ...named(about, "N"), usual: null, read };
}

const SWITCHED: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

function named({ help, placeholder, variables = [] }: About, usual: string) {
  return { help, placeholder: placeholder ?? usual, isList: false, variables };
}

function readText(given: unknown): string {
  if (typeof given !== "string" || given.trim() === "") throw new Error("it is empty");
  return given;
}
