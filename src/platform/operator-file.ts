// What is wrong with a file that an operator has written: a clause that says what to do. It never
// repeats the text of the file, which may hold a secret.

/** Why a file cannot be read. */
export function fileFault(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return FILE_FAULTS[code] ?? (thrown instanceof Error ? thrown.message : String(thrown));
}

const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file; check its path, or make it",
  ENOTDIR: "a part of its path is a file; check its path",
  EISDIR: "it is a directory; name a file in it",
  EACCES: "permission is denied; let the user of the server read it",
  EPERM: "permission is denied; let the user of the server read it",
  ELOOP: "its links lead in a circle; check its path",
  ENAMETOOLONG: "its name is too long",
  EROFS: "its disk is read-only; choose another directory, or mount it writable",
};

type ParsedJson =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

/** The value of a JSON text, or the clause that says where the text is wrong. */
export function parseJson(text: string): ParsedJson {
  if (text.trim() === "") return { fault: "it is empty; write {} into it" };
  const message = messageOf(text);
  if (message === null) return { value: JSON.parse(text) };
  const [, what = "it ends too early", at] = POSITION.exec(message) ?? [];
  if (at !== undefined) return { fault: `it is not JSON: ${lowered(what)}, ${place(text, +at)}` };
  const token = TOKEN.exec(message)?.[0];
  if (token === undefined) return { fault: `it is not JSON: it ends too early, ${place(text)}` };
  return { fault: `it is not JSON: ${lowered(token)}, ${place(text, tokenPosition(text))}` };
}

const POSITION = /^(.+?)(?: in JSON| after JSON)? at position (\d+)/;

/** Here the parser of V8 quotes the text, and does not say where it is. */
const TOKEN = /^Unexpected token '.{1,2}'/u;

/** Null if the text is JSON. */
function messageOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : "";
  }
}

/** The longest beginning that does not have the wrong token yet: each shorter one has it neither. */
function tokenPosition(text: string): number {
  let without = 0;
  let within = text.length;
  while (within - without > 1) {
    const middle = Math.floor((without + within) / 2);
    if (TOKEN.test(messageOf(text.slice(0, middle)) ?? "")) within = middle;
    else without = middle;
  }
  return without;
}

function place(text: string, position = text.length): string {
  const lines = text.slice(0, position).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

function lowered(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1);
}
