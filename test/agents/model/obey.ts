// What the model does: it obeys the newest command in what the user said, `[[word: rest]]`.

import { isObject, type JsonObject, objectAt } from "../../../src/core/json.ts";
import { type Answer, inputOf, type Message, type ModelRequest, said } from "./request.ts";
import { type Call, callFor, inputFor, type ToolTask, toolNamed, type Wanted } from "./tools.ts";

/** What the tool of our MCP server answers. */
export const MCP_STAMP = "STAMP-OF-MCP";
const MCP_CALLS_MAX = 3;

const SIDE_ANSWER = "A contract";

/** Long enough for a client to come in between, and all chunks of a turn within half a minute. */
const SLOW_PAUSE_MS = 60;
const SLOW_CHUNKS_MAX = 500;

const COMMAND = /\[\[(\w+)(?::\s*([^\]]*?))?\s*\]\]/g;

/** Words of the agent itself, which may quote the user. */
const REMINDER = /^\s*<system-reminder>.*<\/system-reminder>\s*$/s;

export function obey(request: ModelRequest): Answer {
  const asked = newestCommand(request.messages);
  if (asked === null || isAside(request)) return aside(request);
  const { word, rest, results } = asked;
  const parts = rest.split("|").map((part) => part.trim());
  const [first = "", second = "", third = ""] = parts;
  switch (word) {
    case "say":
      return said(rest);
    case "slowly":
      return slowly(Number(first), second);
    case "recall":
      return said(parts.map((mark) => `${mark}=${recalls(request, mark)}`).join(" "));
    case "images":
      return said(`images=${imagesIn(request)}`);
    case "run":
      return one("shell", request, results, { command: rest });
    case "runs":
      return several(Number(first), request, results, { command: second });
    case "write":
      return one("write", request, results, { path: first, content: second });
    case "edit":
      return edit(request, results, { path: first, old: second, content: third });
    case "delegate":
      return delegate(request, results, first, parts.slice(1).join(" | "));
    case "tool":
      return mcp(request, results, { name: first, input: inputIn(second), mark: third });
    default:
      return said(`no such command: ${word}`);
  }
}

/** Titles, summaries and reviewers have no tools, or want JSON; the user is only quoted. */
function isAside({ tools, jsonSchema }: ModelRequest): boolean {
  return tools.length === 0 || jsonSchema !== null;
}

/** Whether it is work beside the turns, which agents do not count in them. */
export function isBeside(request: ModelRequest): boolean {
  return isAside(request) || newestCommand(request.messages) === null;
}

function newestCommand(messages: readonly Message[]) {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== "user" || REMINDER.test(message.text)) continue;
    const found = [...message.text.matchAll(COMMAND)].at(-1);
    if (found === undefined) continue;
    const [, word = "", rest = ""] = found;
    const later = messages.slice(at + 1);
    // It was answered long ago: now the agent wants a memory, a summary or a suggestion.
    if (later.some(({ role, text }) => role === "assistant" && text.trim() !== "")) return null;
    const results = later.filter(({ role }) => role === "tool");
    return { word, rest, results };
  }
  return null;
}

/** Some agents send them in a message of their own. */
function imagesIn({ messages }: ModelRequest): number {
  return messages.reduce((sum, { images }) => sum + images, 0);
}

function aside({ jsonSchema }: ModelRequest): Answer {
  return said(jsonSchema === null ? SIDE_ANSWER : JSON.stringify(sample(jsonSchema)));
}

/** JSON of that schema. A reviewer allows what it is asked about. */
function sample(schema: JsonObject): JsonObject {
  const properties = Object.entries(objectAt(schema, "properties") ?? { title: {} });
  return Object.fromEntries(
    properties.map(([name, form]) => {
      const { enum: words, type } = isObject(form) ? form : {};
      if (Array.isArray(words)) return [name, words.includes("allow") ? "allow" : words[0]];
      if (type === "boolean") return [name, true];
      return [name, type === "number" || type === "integer" ? 1 : SIDE_ANSWER];
    }),
  );
}

function slowly(count: number, mark: string): Answer {
  const length = Math.min(count, SLOW_CHUNKS_MAX);
  const chunks = Array.from({ length }, (_, index) => `${mark}-${index + 1} `);
  return { kind: "say", chunks, pauseMs: SLOW_PAUSE_MS };
}

/** Whether the model has read this anywhere but in the questions for it. */
function recalls(request: ModelRequest, mark: string): string {
  const rest = inputOf(request).replaceAll(/\[\[recall:[^\]]*\]\]/g, "");
  const answers = new RegExp(`${mark}=(?:yes|no)`, "g");
  return rest.replaceAll(answers, "").includes(mark) ? "yes" : "no";
}

function one(
  task: ToolTask,
  request: ModelRequest,
  results: readonly Message[],
  wanted: Wanted,
): Answer {
  const call = callFor(task, request.tools, wanted);
  if (call === null) return said(`no tool for ${task}`);
  if (results.length === 0) return { kind: "call", ...call };
  const higher = escalated(call, results);
  return higher === null ? said("That is done.") : { kind: "call", ...higher };
}

/**
 * An agent that has a sandbox tries a command in it first. Its model asks for more only when that
 * did not work, and once.
 */
function escalated(call: Call, results: readonly Message[]): Call | null {
  const canAsk = objectAt(call.tool.schema ?? {}, "properties")?.sandbox_permissions !== undefined;
  const [first, ...others] = results;
  const hasFailed = /sandbox|read-only file system|permission denied|bwrap/i.test(
    first?.text ?? "",
  );
  if (!canAsk || !hasFailed || others.length > 0) return null;
  const asked = { sandbox_permissions: "require_escalated", justification: "May this run?" };
  return { tool: call.tool, input: { ...call.input, ...asked } };
}

/** The same command so many times, each in a model call of its own. */
function several(
  times: number,
  request: ModelRequest,
  results: readonly Message[],
  { command = "" }: Wanted,
): Answer {
  const done = results.length;
  if (done >= times) return said("That is done.");
  // Agents stop a model that repeats itself.
  const call = callFor("shell", request.tools, { command: `${command}-${done + 1}` });
  return call === null ? said("no tool for shell") : { kind: "call", ...call };
}

/** Most agents change only files that were read before. */
function edit(request: ModelRequest, results: readonly Message[], wanted: Wanted): Answer {
  const { path = "" } = wanted;
  const read = callFor("read", request.tools, { path });
  if (read !== null && results.length === 0) return { kind: "call", ...read };
  return one("edit", request, read === null ? results : results.slice(1), wanted);
}

/** What stands in the answer to `delegate`, and in no description of it. */
const DELEGATED = "costMicro";

/** Another agent is given a command of its own, which has no brackets here. */
function delegate(
  request: ModelRequest,
  results: readonly Message[],
  agent: string,
  command: string,
): Answer {
  const input = { agent, title: "a part of it", task: `[[${command}]]` };
  return mcp(request, results, { name: "delegate", input, mark: DELEGATED });
}

const SEARCHES = ["tool_search", "toolsearch", "search_tool"];

/** A tool of an MCP server, what it is given, and what stands in its answer. */
interface WantedTool {
  readonly name: string;
  readonly input: JsonObject;
  readonly mark: string;
}

function inputIn(text: string): JsonObject {
  const value: unknown = text === "" ? {} : JSON.parse(text);
  return isObject(value) ? value : {};
}

/** Some agents show tools of MCP servers only to a model that has searched for them. */
function mcp(
  request: ModelRequest,
  results: readonly Message[],
  { name, input, mark }: WantedTool,
): Answer {
  if (results.some(({ text }) => text.includes(mark || MCP_STAMP))) return said("That is done.");
  if (results.length > MCP_CALLS_MAX) return said(`${name} does not answer`);
  const tool = toolNamed(`fermata__${name}`, request.tools) ?? toolNamed(name, request.tools);
  if (tool !== null) return { kind: "call", tool, input: { ...inputFor(tool, {}), ...input } };
  const found = results.at(-1)?.text.match(new RegExp(`[\\w-]*${name}`))?.[0];
  const qwen = toolNamed("tool_call", request.tools);
  const grok = toolNamed("use_tool", request.tools);
  if (found !== undefined && qwen !== null) {
    return { kind: "call", tool: qwen, input: { name: found, arguments: input } };
  }
  if (found !== undefined && grok !== null) {
    return { kind: "call", tool: grok, input: { tool_name: found, tool_input: input } };
  }
  const search = request.tools.find((one) => SEARCHES.includes(one.name.toLowerCase()));
  if (search === undefined || results.length > 0) return said(`no tool called ${name}`);
  return { kind: "call", tool: search, input: { ...inputFor(search, {}), query: name } };
}
