import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import { blockName } from "../narration.ts";

/** Something about a tool call that a reader may want to see once the call is unfolded. */
export interface ToolDetail {
  readonly label: string;
  readonly text: string;
}

/** What an agent said of a tool call, in ACP's words: where, with what, and what came of it. */
export function toolDetails(update: JsonObject): readonly ToolDetail[] {
  const content = listAt(update, "content").flatMap(contentDetail);
  // What a tool gave back raw is mostly the same again, so it is told if there is nothing else.
  const output = content.length > 0 ? [] : [{ label: "Output", text: valueText(update.rawOutput) }];
  const places = listAt(update, "locations").map(placeText).join("\n");
  return [
    { label: "Places", text: places },
    { label: "Input", text: valueText(update.rawInput) },
    ...content,
    ...output,
  ].filter(({ text }) => text.trim() !== "");
}

function listAt(object: JsonObject, key: string): readonly JsonObject[] {
  const list = object[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function placeText(place: JsonObject): string {
  const path = stringAt(place, "path") ?? "";
  return typeof place.line === "number" ? `${path}:${place.line}` : path;
}

function contentDetail(item: JsonObject): readonly ToolDetail[] {
  if (item.type === "diff") {
    const change = changeText(stringAt(item, "oldText") ?? "", stringAt(item, "newText") ?? "");
    return [{ label: `Change of ${stringAt(item, "path") ?? "a file"}`, text: change }];
  }
  const block = objectAt(item, "content");
  if (block === null) return [];
  const text = block.type === "text" ? stringAt(block, "text") : `[${blockName(block)}]`;
  return [{ label: "Output", text: text ?? "" }];
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
