/**
 * An id as a file name on disks that do not see case: the id in small letters, and after a plus,
 * which no id has, which of its characters were capital, four to a hexadecimal digit. `MyTeam`
 * becomes `myteam+a`; an id without capitals stays as it is. At most 161 bytes for an id of 128,
 * so that the 255 that file systems take leave room for a suffix.
 */
export function caseSafe(id: string): string {
  const capitals = digitsOf(id).replace(/0+$/, "");
  return capitals === "" ? id : `${id.toLowerCase()}+${capitals}`;
}

/** The id that `caseSafe` made this name of; null if it made no such name. */
export function idOfCaseSafe(name: string): string | null {
  const [small = "", capitals = ""] = name.split("+");
  const id = [...small].map((character, at) =>
    isMarked(capitals, at) ? character.toUpperCase() : character,
  );
  const found = id.join("");
  return caseSafe(found) === name ? found : null;
}

const DIGIT_CHARS = 4;

function digitsOf(id: string): string {
  const groups = id.match(/.{1,4}/gs) ?? [];
  const digits = groups.map((group) =>
    [...group.padEnd(DIGIT_CHARS)].reduce((sum, one) => sum * 2 + (/[A-Z]/.test(one) ? 1 : 0), 0),
  );
  return digits.map((digit) => digit.toString(16)).join("");
}

function isMarked(capitals: string, at: number): boolean {
  const digit = Number.parseInt(capitals[Math.floor(at / DIGIT_CHARS)] ?? "0", 16);
  return ((digit >> (DIGIT_CHARS - 1 - (at % DIGIT_CHARS))) & 1) === 1;
}
