import { isObject, type JsonObject, objectAt, stringAt } from "../json.ts";
import { SEARCH_TEXT_CHARS_MAX } from "../limits.ts";
import { entriesIn } from "./words.ts";

/** Who says what was found; a title is that of a session. */
export type FoundRole = "user" | "assistant" | "tool" | "title";

/** What is searched of a stored message. */
export interface SearchedMessage {
  readonly role: FoundRole;
  readonly text: string;
  readonly turnId: string | null;
  readonly atMs: number;
}

/**
 * What people and agents have said in a message; of a tool call its title. Its input and its
 * results are not searched: they are the files and logs of the workspace. Null if nothing is said.
 */
export function searchedMessage(stored: string): SearchedMessage | null {
  const message = parsed(stored);
  const role = message?.role;
  if (message === null || (role !== "user" && role !== "assistant" && role !== "tool")) return null;
  const text = role === "tool" ? titleOfCall(message) : wordsOfBlocks(message.content);
  if (text === "") return null;
  const atMs = Number(message.atMs);
  const isTime = Number.isSafeInteger(message.atMs) && atMs >= 0 && atMs <= DATE_MS_MAX;
  return { role, text, turnId: stringAt(message, "turnId"), atMs: isTime ? atMs : 0 };
}

/** What a date can be. */
const DATE_MS_MAX = 8.64e15;

/** Everything by which a text is found, each once. */
export function searchEntries(text: string): readonly string[] {
  return [...entriesIn(text.slice(0, SEARCH_TEXT_CHARS_MAX))];
}

/** Whether a title is only the first words of this message, which is then found in its place. */
export function isBeginningOf(title: string, text: string): boolean {
  return onOneLine(text).startsWith(onOneLine(title).replace(/…$/, ""));
}

function onOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}

function titleOfCall(message: JsonObject): string {
  const call = objectAt(message, "call");
  return call === null ? "" : (stringAt(call, "title") ?? "");
}

/** A line between two blocks: what is in neither of them is not found in both. */
function wordsOfBlocks(content: unknown): string {
  if (!Array.isArray(content)) return "";
  const texts = content.map((block) => (isObject(block) ? stringAt(block, "text") : null));
  return texts.filter((text) => text !== null).join("\n");
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
