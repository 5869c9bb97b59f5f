// What the model does: it obeys the newest command in what the user said, `[[word: rest]]`.

import { type Answer, inputOf, type Message, type ModelRequest, said } from "./request.ts";
import { callFor, type Errand, inputFor, toolNamed, type Wanted } from "./tools.ts";

/** What the tool of our MCP server answers. */
export const MCP_STAMP = "STAMP-OF-MCP";
const MCP_CALLS_MAX = 3;

export const SIDE_ANSWER = "A contract";

/** Long enough for a client to come in between, and all chunks of a turn within half a minute. */
const SLOW_PAUSE_MS = 60;
const SLOW_CHUNKS_MAX = 500;

const COMMAND = /\[\[(\w+)(?::\s*([^\]]*?))?\s*\]\]/g;

export function obey(request: ModelRequest): Answer {
  const asked = newestCommand(request.messages);
  // Titles, summaries and routers have no tools; what the user said is only quoted there.
  if (request.tools.length === 0 || asked === null) return aside(request);
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
      return one("shell", request, results.length, { command: rest });
    case "write":
      return one("write", request, results.length, { path: first, content: second });
    case "edit":
      return edit(request, results.length, { path: first, old: second, content: third });
    case "tool":
      return mcp(request, results, first);
    default:
      return said(`no such command: ${word}`);
  }
}

function newestCommand(messages: readonly Message[]) {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== "user") continue;
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

function aside({ wantsJson }: ModelRequest): Answer {
  return said(wantsJson ? JSON.stringify({ title: SIDE_ANSWER }) : SIDE_ANSWER);
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

function one(errand: Errand, request: ModelRequest, results: number, wanted: Wanted): Answer {
  if (results > 0) return said("That is done.");
  const call = callFor(errand, request.tools, wanted);
  return call === null ? said(`no tool for ${errand}`) : { kind: "call", ...call };
}

/** Most agents change only files that were read before. */
function edit(request: ModelRequest, results: number, wanted: Wanted): Answer {
  const { path = "" } = wanted;
  const read = callFor("read", request.tools, { path });
  if (read !== null && results === 0) return { kind: "call", ...read };
  return one("edit", request, read === null ? results : results - 1, wanted);
}

/** Some agents show tools of MCP servers only to a model that has searched for them. */
function mcp(request: ModelRequest, results: readonly Message[], name: string): Answer {
  const tool = toolNamed(name, request.tools);
  const [search] = ["tool_search", "toolsearch"].flatMap((one) => {
    return toolNamed(one, request.tools) ?? [];
  });
  const found = results.at(-1)?.text.match(new RegExp(`"([\\w-]*${name})"`))?.[1];
  const through = toolNamed("tool_call", request.tools);
  if (results.some(({ text }) => text.includes(MCP_STAMP))) return said("That is done.");
  if (results.length > MCP_CALLS_MAX) return said(`${name} does not answer`);
  if (tool !== null) return { kind: "call", tool, input: inputFor(tool, {}) };
  if (found !== undefined && through !== null) {
    return { kind: "call", tool: through, input: { name: found, arguments: {} } };
  }
  if (search === undefined || results.length > 0) return said(`no tool called ${name}`);
  return { kind: "call", tool: search, input: { ...inputFor(search, {}), query: name } };
}
