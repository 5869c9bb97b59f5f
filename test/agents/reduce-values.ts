// What a value of a trace is reduced to: its form stays; what differs from run to run, and the
// texts of agents, become short words for them.

import { isObject, type JsonObject } from "../../src/core/json.ts";
import type { TraceLine } from "./reduce.ts";

/** Longer ones are an agent's prose; commands of the contract are shorter. */
const TEXT_CHARS_MAX = 160;
/** Of lists of commands, models and options. */
const LIST_MAX = 3;

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const LONG_LISTS = new Set(["availableCommands", "availableModels", "configOptions", "options"]);
const PROSE = new Set(["description", "label", "hint", "instructions"]);
const COUNTS = /tokens?|^used$|^size$|cost|amount|duration|elapsed|_ms$|ms$|pid|_at|At$/i;

/** The same names for the same things in all lines. */
export function plain(lines: readonly TraceLine[]): readonly TraceLine[] {
  const names = new Names();
  return lines.map((line) => {
    if ("check" in line) return line;
    const message = value(line.message, "", names);
    return { from: line.from, message: isObject(message) ? message : {} };
  });
}

class Names {
  readonly #known = new Map<string, string>();

  of(kind: string, text: string): string {
    const name = this.#known.get(text) ?? `${kind}-${this.#known.size + 1}`;
    this.#known.set(text, name);
    return name;
  }
}

function value(from: unknown, key: string, names: Names): unknown {
  if (typeof from === "string") return text(from, key, names);
  if (typeof from === "number") return COUNTS.test(key) || from > 1_000_000 ? 1 : from;
  if (Array.isArray(from)) {
    const kept = LONG_LISTS.has(key) ? shortened(from) : from;
    return kept.map((one) => value(one, key, names));
  }
  return isObject(from) ? fields(from, names) : from;
}

/** The options of an ask are all needed; of a long list of models or commands the first are. */
function shortened(list: readonly unknown[]): readonly unknown[] {
  const areVotes = list.some((one) => isObject(one) && one.optionId !== undefined);
  return areVotes ? list : list.slice(0, LIST_MAX);
}

function fields(from: JsonObject, names: Names): JsonObject {
  const entries = Object.entries(from).filter(([key]) => !PROSE.has(key));
  return Object.fromEntries(entries.map(([key, one]) => [pathless(key), value(one, key, names)]));
}

function text(from: string, key: string, names: Names): string {
  const isName = /Id$|^terminal_id$/.test(key);
  if (isName && !/^(?:optionId|modelId|modeId|methodId|.*ModeId|.*ModelId)$/.test(key)) {
    return names.of(key.replace(/Id$|_id$/, ""), from);
  }
  const short = pathless(from)
    .replaceAll(UUID, (uuid) => names.of("uuid", uuid))
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, "(time)")
    .replaceAll(/\b1[78]\d{11}\b/g, "(ms)");
  if (short.length <= TEXT_CHARS_MAX) return short;
  // What a command of the contract has printed, among other words.
  const printed = /seen-out-mark-here/.exec(short)?.[0];
  return printed === undefined ? `(text of ${key})` : `(text with ${printed})`;
}

/** Folders of the machine, and marks of the contract, as they are everywhere. */
function pathless(from: string): string {
  return from
    .replaceAll(/\/tmp\/fermata-serve-\w+\/workspace/g, "/workspace")
    .replaceAll(/\/tmp\/fermata-(?:serve|agent)-[\w-]+/g, "/home")
    .replaceAll(/\/fermata-\w{6}\//g, "/run/")
    .replaceAll(/fermata-secret-of-[\w-]+/g, "(secret)")
    .replaceAll(/(?:\/[\w@.+-]+)+\/node_modules\//g, "/packages/")
    .replaceAll(/(?:\/[\w@.+-]+)+\/test\/agents\//g, "/contract/")
    .replaceAll(/\b([A-Za-z]+)\d+Z\d+/g, "$1-mark");
}
