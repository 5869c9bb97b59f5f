// Which of an agent's tools does a thing, and what it has to be given. Names and parameters differ
// from agent to agent, so both are read from what the agent offers.

import { isObject, type JsonObject, objectAt } from "../../../src/core/json.ts";
import type { Tool } from "./request.ts";

export type ToolTask = "shell" | "write" | "edit" | "read";

/** The best names first; an agent's prefix such as `developer__` does not count. */
const NAMES: Readonly<Record<ToolTask, readonly string[]>> = {
  shell: [
    "run_shell_command",
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "execute_command",
    "run_terminal_command",
    "run_terminal_cmd",
  ],
  write: ["write_file", "write", "create", "create_file", "apply_patch"],
  edit: ["replace", "edit", "edit_file", "str_replace", "search_replace", "apply_patch"],
  read: ["read_file", "read", "view"],
};

export interface Wanted {
  readonly command?: string;
  readonly path?: string;
  readonly content?: string;
  readonly old?: string;
}

export interface Call {
  readonly tool: Tool;
  readonly input: JsonObject;
}

/** The call that does it, or null where the agent offers no tool for it. */
export function callFor(task: ToolTask, tools: readonly Tool[], wanted: Wanted): Call | null {
  const bare = (name: string) => (name.split(/__|\./).at(-1) ?? name).toLowerCase();
  for (const name of NAMES[task]) {
    const tool = tools.find((one) => bare(one.name) === name);
    if (tool !== undefined) return { tool, input: inputFor(tool, wanted) };
  }
  return null;
}

/** The tool whose name has this in it. */
export function toolNamed(name: string, tools: readonly Tool[]): Tool | null {
  return tools.find((one) => one.name.toLowerCase().includes(name)) ?? null;
}

/** What each property of a tool stands for, by the names that agents give it. */
const MEANINGS: readonly (readonly [RegExp, (wanted: Wanted) => string | undefined])[] = [
  [/^(?:command|cmd|script)$/, ({ command }) => command],
  [/^(?:file_?path|path|absolute_path|target_file|file)$/i, ({ path }) => path],
  [/^(?:old_?str(?:ing)?|old_?text|before|search)$/i, ({ old }) => old],
  [/^(?:new_?str(?:ing)?|new_?text|after)$/i, ({ old, content }) => old && content],
  [
    /^(?:contents?|file_text|text)$/,
    ({ old, content }) => (old === undefined ? content : undefined),
  ],
  [/^(?:input|patch|patch_?text)$/i, patchOf],
];

export function inputFor({ schema }: Tool, wanted: Wanted): JsonObject {
  if (schema === null) return { input: patchOf(wanted) ?? "" };
  const properties = objectAt(schema, "properties") ?? {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const input: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(properties)) {
    const [, meaning] = MEANINGS.find(([pattern]) => pattern.test(name)) ?? [];
    const value = meaning?.(wanted);
    const form = isObject(property) ? property : {};
    if (value !== undefined) input[name] = form.type === "array" ? ["bash", "-lc", value] : value;
    else if (required.includes(name)) input[name] = anyOf(form);
  }
  return input;
}

/** A value of that form which means as little as possible. */
function anyOf(form: JsonObject): unknown {
  if (Array.isArray(form.enum)) return form.enum[0];
  if (form.type === "boolean") return false;
  if (form.type === "number" || form.type === "integer") return form.minimum ?? 10;
  if (form.type === "array") return [];
  return form.type === "object" ? {} : "as the contract wants it";
}

function patchOf({ path, content, old }: Wanted): string | undefined {
  if (path === undefined || content === undefined) return undefined;
  const change =
    old === undefined
      ? `*** Add File: ${path}\n+${content}`
      : `*** Update File: ${path}\n@@\n-${old}\n+${content}`;
  return `*** Begin Patch\n${change}\n*** End Patch\n`;
}
