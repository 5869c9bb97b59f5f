import { isObject, type JsonObject, objectAt, stringAt } from "../json.ts";
import { APPROVAL_KEYS_CHARS_MAX, APPROVAL_KEYS_MAX } from "../limits.ts";
import { covers, isToolKind, type RiskTier, riskTier } from "./risk.ts";

/**
 * What a tool call wants, as texts that patterns and grants are compared with: its kind and its
 * subject, `execute:git status` or `edit:/src/main.ts`. The subject is a command, a path, the
 * address of a fetch or the words of a search; never a title, which may say anything. A call that
 * has none of them has an exact key, `other=Title {"its":"input"}`, which no pattern matches. One
 * that touches several places has several keys, and is allowed only if every one of them is. One
 * that does not say what it does has none: people may allow it once, and no pattern or grant but
 * the lone `*` can.
 */
export function approvalKeys(toolCall: JsonObject, cwd: string): readonly string[] {
  const kind = kindOf(toolCall);
  const keys = KIND.test(kind) ? keysOf(kind, toolCall, cwd) : [];
  const told = keys.every((key) => key.slice(key.search(/[:=]/) + 1).trim() !== "");
  const chars = keys.reduce((sum, key) => sum + key.length, 0);
  const isShort = keys.length <= APPROVAL_KEYS_MAX && chars <= APPROVAL_KEYS_CHARS_MAX;
  return told && isShort ? [...new Set(keys)] : [];
}

/**
 * The keys of what the agent may have the server do for this call, beside its own. A command that
 * is granted in one setting only is still the command; and a call of a kind that ACP does not know
 * may write where it says that it works, since the person who allowed it has seen the place.
 */
export function coveredKeys(toolCall: JsonObject, cwd: string): readonly string[] {
  const kind = kindOf(toolCall);
  const input = objectAt(toolCall, "rawInput") ?? {};
  if (commandIn(toolCall) !== undefined) {
    const line = hasSetting(input, COMMAND_SETTING) ? lineOf(toolCall, cwd) : null;
    return line === null ? [] : [commandKey(line)];
  }
  const isOwnWord = kind === "other" || !isToolKind(kind);
  const paths = isOwnWord ? (pathsOf(toolCall, input) ?? []) : [];
  return paths.slice(0, APPROVAL_KEYS_MAX).map((path) => pathKey("edit", path));
}

/** How much harm it can do: what runs a command is no mere edit, even if it claims to be. */
export function tierOf(toolCall: JsonObject): RiskTier {
  const tier = riskTier(stringAt(toolCall, "kind"));
  return commandIn(toolCall) === undefined || covers(tier, "execute") ? tier : "execute";
}

/** The key of a command line, and of a path that an agent writes or reads through the server. */
export function commandKey(line: string): string {
  return `execute:${line}`;
}

export function pathKey(kind: "edit" | "read", path: string): string {
  return `${kind}:${path}`;
}

/** The path of a key that lets its place be written; null for any other key. */
export function writtenPath(key: string): string | null {
  return key.startsWith("edit:") ? key.slice("edit:".length) : null;
}

/** The kind of call that a key speaks of. */
export function keyKind(key: string): string {
  return key.slice(0, Math.max(0, key.search(/[:=]/)));
}

/** Whether it holds a whole call and is compared letter by letter only. */
export function isExactKey(key: string): boolean {
  return /^[^:=]+=/.test(key);
}

/** A kind with one of these could pass for another kind and the beginning of its subject. */
const KIND = /^[^:=]+$/;

/** Kinds of which a place says enough to grant them there again; a move has two of them. */
const PLACED: ReadonlySet<string> = new Set(["read", "search", "edit", "delete"]);

/** Names of what changes where or how a command runs, or what is sent to an address. */
const COMMAND_SETTING = new RegExp(
  "^(?:env|environment|stdin|input|script|code|arguments|argv|shell|user|host|container|image)$" +
    "|sandbox|permission|escalat|privileg",
  "i",
);
const FETCH_SETTING = /^(?:method|body|data|payload|headers|cookies|auth)$/i;

function kindOf(toolCall: JsonObject): string {
  return stringAt(toolCall, "kind") ?? "other";
}

function keysOf(kind: string, toolCall: JsonObject, cwd: string): readonly string[] {
  const input = objectAt(toolCall, "rawInput") ?? {};
  const paths = PLACED.has(kind) ? pathsOf(toolCall, input) : [];
  if (paths === null) return [];
  const places = paths.map((path) => `${kind}:${path}`);
  if (commandIn(toolCall) !== undefined) {
    const line = lineOf(toolCall, cwd);
    if (line === null || line.trim() === "") return [];
    if (hasSetting(input, COMMAND_SETTING)) return [exactKey("execute", toolCall, input)];
    // Tools that edit by sub-commands say `create` and a path: neither alone tells what they do.
    return [commandKey(line), ...places];
  }
  if (places.length > 0) return places;
  const subject = kind === "fetch" ? input.url : kind === "search" ? input.query : undefined;
  const isBare = kind !== "fetch" || !hasSetting(input, FETCH_SETTING);
  if (typeof subject === "string" && isBare) return [`${kind}:${subject}`];
  return Object.keys(input).length > 0 ? [exactKey(kind, toolCall, input)] : [];
}

function exactKey(kind: string, toolCall: JsonObject, input: JsonObject): string {
  return `${kind}=${stringAt(toolCall, "title") ?? ""} ${canonical(input)}`;
}

function hasSetting(input: JsonObject, names: RegExp): boolean {
  return Object.entries(input).some(([name, value]) => {
    const isSaid = value !== null && value !== false && value !== "" && value !== "GET";
    return isSaid && names.test(name);
  });
}

/** The command, in the directory that the call names for it. */
function lineOf(toolCall: JsonObject, cwd: string): string | null {
  const input = objectAt(toolCall, "rawInput") ?? {};
  const line = commandLineOf(commandIn(toolCall), input.args, cwd);
  const [directory] = DIRECTORY_FIELDS.flatMap((field) => stringAt(input, field) || []);
  if (line === null || directory === undefined) return line;
  return inDirectory(absolutePath(directory, cwd), line, cwd);
}

/** What the known agents call the directory of a command. */
const DIRECTORY_FIELDS = ["cwd", "workdir", "working_directory", "directory", "dir_path"];

/** By its letters alone: a path that climbs stays as it is, since links decide where it leads. */
export function absolutePath(path: string, cwd: string): string {
  const whole = path.startsWith("/") ? path : `${cwd}/${path}`;
  return whole.replaceAll(/\/(?:\.?\/)+/g, "/").replace(/(?<=.)\/\.?$/, "");
}

/** Undefined if it names none; what is not a command all the same leaves the call untold. */
function commandIn(toolCall: JsonObject): unknown {
  const { command, cmd } = objectAt(toolCall, "rawInput") ?? {};
  return command === undefined ? cmd : command;
}

/** The places that it names; null if one of them cannot be read. */
function pathsOf(toolCall: JsonObject, input: JsonObject): readonly string[] | null {
  const { locations, content } = toolCall;
  const places = Array.isArray(locations) ? locations : [];
  const diffs = Array.isArray(content) ? content.filter(isDiff) : [];
  const named = [...places, ...diffs].map((place: unknown) => {
    return isObject(place) ? stringAt(place, "path") : null;
  });
  const said = named.length > 0 ? named : PATH_FIELDS.flatMap((field) => input[field] ?? []);
  const paths = said.filter((path) => typeof path === "string");
  return paths.length === said.length ? paths : null;
}

/** All places that a call names anywhere, for those who judge it by them. */
export function namedPaths(toolCall: JsonObject): readonly string[] {
  const { locations, content } = toolCall;
  const input = objectAt(toolCall, "rawInput") ?? {};
  const places = [locations, content].flatMap((list) => (Array.isArray(list) ? list : []));
  const named = places.map((place: unknown) => (isObject(place) ? stringAt(place, "path") : null));
  const said = PATH_FIELDS.map((field) => stringAt(input, field));
  return [...new Set([...named, ...said].filter((path) => path !== null))];
}

/** What the known agents call the path in their input. */
const PATH_FIELDS = ["path", "file_path", "filePath", "filepath", "fileName", "absolute_path"];

function isDiff(block: unknown): boolean {
  return isObject(block) && block.type === "diff";
}

/** JSON in which the order of keys says nothing. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

/**
 * One spelling for a command, however an agent says it: as a line for a shell, or as words. `npm
 * test`, `["npm", "test"]`, `bash -lc 'npm test'` and `cd <the session's directory> && npm test`
 * are one command, so that a grant for one of them is a grant for the others; what differs by a
 * byte after that is another command. Only what a shell would read in just one way is looked
 * through. Null for what is no command, or too long to be one that people read.
 */
export function commandLineOf(command: unknown, args: unknown, cwd: string): string | null {
  const words = [command, args ?? []].flat();
  if (!isTexts(words) || isTooLong(words)) return null;
  const [only] = words;
  const isLine = words.length === 1 && typeof command === "string";
  return unwrapped(isLine ? (only ?? "") : joined(words), cwd);
}

/** The same command, begun in another directory. */
export function inDirectory(directory: string, line: string, cwd: string): string {
  return directory === cwd ? line : `cd ${quoted(directory)} && ${line}`;
}

/** As one word of a shell: one that holds more than plain characters is put into quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Whether it is nothing but words, of which a shell expands none. */
export function isPlainWords(line: string): boolean {
  return wordsOf(line) !== null;
}

function unwrapped(line: string, cwd: string): string {
  let inner = line;
  for (let layer = 0; layer < WRAPPERS_MAX; layer += 1) {
    const [directory, rest] = changeOfDirectory(inner);
    if (directory !== null && directory !== cwd) return inDirectory(directory, rest, cwd);
    const next = directory === null ? shellLine(wordsOf(inner)) : rest;
    if (next === null) return inner;
    inner = next;
  }
  return inner;
}

/** A shell in a shell in a directory is what agents come to; more of them hide something. */
const WRAPPERS_MAX = 4;

/** The system's own: a program of that name elsewhere may be anything. */
const SHELL = /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|da|z|k)?sh$/;
const SHELL_FLAG = /^-(?:l?c|cl)$/;

/** What a shell is told to run; null if the words are not exactly that. */
function shellLine(words: readonly string[] | null): string | null {
  const [shell = "", flag = "", inner = null] = words ?? [];
  return words?.length === 3 && SHELL.test(shell) && SHELL_FLAG.test(flag) ? inner : null;
}

/** The directory that a line changes to first, and the rest of it. */
function changeOfDirectory(line: string): readonly [string, string] | readonly [null, string] {
  const [, word = "", rest = ""] = CHANGE.exec(line) ?? [];
  const [directory = null] = wordsOf(word) ?? [];
  return directory === null || rest === "" ? [null, line] : [directory, rest];
}

/** A shell's blanks are these two alone: any other one is part of a word, or ends the command. */
const BLANK = String.raw`[ \t]`;
const WORD = String.raw`(?:'[^']*'|"[^"\\$\x60]*"|\\[^\n]|[^\s'"\\$\x60;&|<>(){}*?[\]#~!])+`;
const CHANGE = new RegExp(`^cd${BLANK}+(${WORD})${BLANK}+&&${BLANK}+(.*)$`, "s");
const WORDS = new RegExp(`(${WORD})(${BLANK}*)`, "gy");
const PIECES = /'([^']*)'|"([^"]*)"|\\(.)|([^'"\\]+)/gs;

/** The words of a line in which a shell would expand nothing; null for any other line. */
function wordsOf(line: string): readonly string[] | null {
  const words: string[] = [];
  for (let at = 0; at < line.length; at = WORDS.lastIndex) {
    WORDS.lastIndex = at;
    const [, word = null, blanks = ""] = WORDS.exec(line) ?? [];
    if (word === null || (blanks === "" && WORDS.lastIndex < line.length)) return null;
    words.push(
      word.replace(PIECES, (_, single, double, escaped, bare) => {
        return single ?? double ?? escaped ?? bare;
      }),
    );
  }
  return words;
}

/** A shell's own words are its line; any others, as a shell would read them back. */
function joined(words: readonly string[]): string {
  return shellLine(words) ?? words.map(quoted).join(" ");
}

function isTexts(words: readonly unknown[]): words is readonly string[] {
  return words.length > 0 && words.every((word) => typeof word === "string");
}

function isTooLong(words: readonly string[]): boolean {
  if (words.length > APPROVAL_KEYS_CHARS_MAX) return true;
  return words.reduce((sum, word) => sum + word.length, 0) > APPROVAL_KEYS_CHARS_MAX;
}
