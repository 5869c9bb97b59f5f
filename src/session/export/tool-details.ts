import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { EXPORT_TOOL_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { outputShown } from "../../core/terminal-output.ts";
import { cutText } from "../../core/text.ts";
import { blockName, exitText } from "./narration.ts";

/** Something about a tool call that a reader may want to see once the call is unfolded. */
export interface ToolDetail {
  readonly label: string;
  readonly text: string;
  /** How the command ended that wrote it; null for all that no command wrote. */
  readonly end: string | null;
}

/** Returns what an agent reported of a tool call: its locations, its input and its output. */
export function toolDetails(update: JsonObject): readonly ToolDetail[] {
  const content = listAt(update, "content").flatMap(contentDetail);
  const locations = listAt(update, "locations").map(locationText).join("\n");
  return [
    detail("Places", locations),
    detail("Input", valueText(update.rawInput)),
    ...content,
    // The raw output mostly repeats the content, so it is shown only without that.
    ...(content.length > 0 ? [] : [detail(OUTPUT, valueText(update.rawOutput))]),
  ].filter(({ text, end }) => text.trim() !== "" || end !== null);
}

/** Of a call that ran a command what that wrote, and how it ended; of other calls nothing. */
export function commandOutputs(update: JsonObject): readonly ToolDetail[] {
  const input = objectAt(update, "rawInput") ?? {};
  const isCommand = update.kind === "execute" || "command" in input || "cmd" in input;
  const outputs = toolDetails(update).filter(({ label }) => label === OUTPUT);
  return isCommand || outputs.some(({ end }) => end !== null) ? outputs : [];
}

/** What an export shows of a text, and the words for what it does not. */
export function shownText(text: string) {
  const shown = cutText(text, EXPORT_TOOL_TEXT_CHARS_MAX);
  const left = text.length - shown.length;
  return { shown, note: left > 0 ? `${left} more characters are not shown here.` : null };
}

const OUTPUT = "Output";

function detail(label: string, text: string, end: string | null = null): ToolDetail {
  return { label, text, end };
}

function listAt(object: JsonObject, key: string): readonly JsonObject[] {
  const list = object[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function locationText(location: JsonObject): string {
  const path = stringAt(location, "path") ?? "";
  return typeof location.line === "number" ? `${path}:${location.line}` : path;
}

function contentDetail(item: JsonObject): readonly ToolDetail[] {
  if (item.type === "diff") {
    const change = changeText(stringAt(item, "oldText") ?? "", stringAt(item, "newText") ?? "");
    return [detail(`Change of ${stringAt(item, "path") ?? "a file"}`, change)];
  }
  const block = objectAt(item, "content");
  if (block === null) return [];
  const text = block.type === "text" ? stringAt(block, "text") : `[${blockName(block)}]`;
  const exit = outputShown(item)?.exit ?? null;
  return [detail(OUTPUT, text ?? "", exit === null ? null : exitText(exit))];
}

/** The lines that a change took away and put in, without those around that stayed the same. */
function changeText(before: string, after: string): string {
  const old = before === "" ? [] : before.split("\n");
  const now = after === "" ? [] : after.split("\n");
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const removed = old.slice(head, old.length - tail).map((line) => `- ${line}`);
  const added = now.slice(head, now.length - tail).map((line) => `+ ${line}`);
  return [`@@ line ${head + 1} @@`, ...removed, ...added].join("\n");
}

/** A value of any kind, so that texts of many lines in it can be read. */
function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (!isObject(value)) return JSON.stringify(value, null, 2);
  return Object.entries(value)
    .map(([name, part]) => {
      const text = typeof part === "string" ? part : JSON.stringify(part, null, 2);
      return `${name}:${text.includes("\n") ? "\n" : " "}${text}`;
    })
    .join("\n");
}
