import type { AgentUpdate } from "./agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "./json.ts";

/**
 * What a command wrote, as part of the tool call that ran it. ACP has a tool call name a terminal
 * (`{type:"terminal", terminalId}`) and no words for what is in it; agents of the field tell that
 * in `_meta`, piece by piece, and we speak as they do. Whole output stands in the call's content
 * as text, with a mark that says which terminal it is of: who reads nothing but texts sees it too.
 */

/** How a command ended, in ACP's words. */
export interface TerminalExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** What is known of a terminal: all that it wrote, and how it ended if it has. */
export interface TerminalOutput {
  readonly text: string;
  readonly exit: TerminalExit | null;
}

interface OfTerminal {
  readonly terminalId: string;
}

/** How the id of a terminal that the server runs begins, and that of a call that shows one. */
export const TERMINAL_ID_PREFIX = "terminal-";

/** Where a piece of output stands in an update's `_meta`. Both mean "and then it wrote". */
const DELTA_KEYS = ["terminal_output", "terminal_output_delta"] as const;

/** The pieces of output that an update brings, in order. */
export function outputDeltas(
  update: AgentUpdate,
): readonly (OfTerminal & { readonly data: string })[] {
  const meta = objectAt(update, "_meta");
  if (meta === null) return [];
  return DELTA_KEYS.flatMap((key) => {
    const data = stringAt(objectAt(meta, key) ?? {}, "data");
    const terminalId = terminalIdAt(meta, key, update);
    return data === null || terminalId === null ? [] : [{ terminalId, data }];
  });
}

/** The same update with another text in the place of each piece. */
export function withDelta(update: AgentUpdate, data: string): AgentUpdate {
  const meta = Object.entries(objectAt(update, "_meta") ?? {}).map(([key, said]) => {
    const isPiece = DELTA_KEYS.some((one) => one === key) && isObject(said);
    return [key, isPiece ? { ...said, data } : said] as const;
  });
  return { ...update, _meta: Object.fromEntries(meta) };
}

/** The same update without those pieces; the very same one if it has none. */
export function withoutDeltas(update: AgentUpdate): AgentUpdate {
  if (outputDeltas(update).length === 0) return update;
  return withoutMeta(update, (key, said) => {
    return DELTA_KEYS.some((one) => one === key) && stringAt(said, "data") !== null;
  });
}

/**
 * The same update without all that it says of these terminals: pieces, how they ended, and the
 * mark on a text that it is what one of them wrote. That it names them stays.
 */
export function withoutClaims(
  update: AgentUpdate,
  isOf: (terminalId: string) => boolean,
): AgentUpdate {
  const meta = objectAt(update, "_meta") ?? {};
  const isClaim = (key: string) => {
    const id = CLAIM_KEYS.has(key) ? terminalIdAt(meta, key, update) : null;
    return id !== null && isOf(id);
  };
  const own = Object.keys(meta).some(isClaim) ? withoutMeta(update, isClaim) : update;
  const { content } = own;
  if (!Array.isArray(content)) return own;
  const isMarked = (entry: unknown) => {
    const shown = outputShown(entry);
    return shown !== null && isOf(shown.terminalId);
  };
  if (!content.some(isMarked)) return own;
  const plain = content.map((entry: unknown) => (isMarked(entry) ? unmarked(entry) : entry));
  return { ...own, content: plain };
}

const CLAIM_KEYS: ReadonlySet<string> = new Set([...DELTA_KEYS, "terminal_exit"]);

function unmarked(entry: unknown): unknown {
  const { _meta, ...said } = isObject(entry) ? entry : {};
  const { terminal: _, ...kept } = isObject(_meta) ? _meta : {};
  return Object.keys(kept).length === 0 ? said : { ...said, _meta: kept };
}

function withoutMeta(
  update: AgentUpdate,
  isDropped: (key: string, said: JsonObject) => boolean,
): AgentUpdate {
  const { _meta, ...rest } = update;
  const kept = Object.entries(isObject(_meta) ? _meta : {}).filter(([key, said]) => {
    return !isObject(said) || !isDropped(key, said);
  });
  const call: AgentUpdate = { ...rest, sessionUpdate: update.sessionUpdate };
  return kept.length === 0 ? call : { ...call, _meta: Object.fromEntries(kept) };
}

/** How a terminal ended, if an update tells it. */
export function exitIn(update: AgentUpdate): (OfTerminal & { readonly exit: TerminalExit }) | null {
  const meta = objectAt(update, "_meta");
  const said = meta && objectAt(meta, "terminal_exit");
  const terminalId = meta && terminalIdAt(meta, "terminal_exit", update);
  return said === null || terminalId === null ? null : { terminalId, exit: exitAt(said) };
}

/** An agent that shows one terminal in one call may leave out its name: then it is the call's. */
function terminalIdAt(meta: JsonObject, key: string, update: AgentUpdate): string | null {
  const said = objectAt(meta, key);
  return said === null ? null : stringAt(said, "terminal_id") || stringAt(update, "toolCallId");
}

function exitAt(said: JsonObject): TerminalExit {
  const { exit_code: exitCode, signal } = said;
  return {
    exitCode: typeof exitCode === "number" ? exitCode : null,
    signal: typeof signal === "string" ? signal : null,
  };
}

/** An update that brings one more piece, and the end if that has come. */
export function outputUpdate(
  toolCallId: string,
  { terminalId, data, exit }: OfTerminal & { readonly data: string } & Pick<TerminalOutput, "exit">,
): AgentUpdate & { readonly _meta: JsonObject } {
  const ended =
    exit === null ? {} : { terminal_exit: { terminal_id: terminalId, ...wordsOf(exit) } };
  const wrote = data === "" ? {} : { terminal_output: { terminal_id: terminalId, data } };
  return { sessionUpdate: "tool_call_update", toolCallId, _meta: { ...wrote, ...ended } };
}

function wordsOf({ exitCode, signal }: TerminalExit): JsonObject {
  return { exit_code: exitCode, signal };
}

/** The terminal that an entry of a call's content names. */
export function terminalNamed(entry: unknown): string | null {
  return isObject(entry) && entry.type === "terminal" ? stringAt(entry, "terminalId") : null;
}

/** The output that an entry of a call's content is. */
export function outputShown(entry: unknown): (OfTerminal & TerminalOutput) | null {
  if (!isObject(entry) || entry.type !== "content") return null;
  const mark = objectAt(objectAt(entry, "_meta") ?? {}, "terminal");
  const terminalId = mark && stringAt(mark, "terminal_id");
  const text = textOf(entry);
  if (mark === null || terminalId === null || text === null) return null;
  return { terminalId, text, exit: "exit_code" in mark ? exitAt(mark) : null };
}

function textOf(entry: unknown): string | null {
  const block = isObject(entry) ? objectAt(entry, "content") : null;
  return block?.type === "text" ? stringAt(block, "text") : null;
}

/** Such an entry, in the place of what stood there before. */
function shownAs(terminalId: string, { text, exit }: TerminalOutput, before: unknown): JsonObject {
  const terminal = { terminal_id: terminalId, ...(exit === null ? {} : wordsOf(exit)) };
  const said = isObject(before) && before.type === "content" ? before : {};
  const content = { ...objectAt(said, "content"), type: "text", text };
  return { ...said, type: "content", content, _meta: { ...objectAt(said, "_meta"), terminal } };
}

/**
 * A call's content with the output of its terminals, each once: in the place where the terminal is
 * named. What is left stands where the content says the same in its own words, else at the end.
 */
export function withOutput(
  content: unknown,
  outputs: ReadonlyMap<string, TerminalOutput>,
): readonly unknown[] {
  const entries = whereNamed(content, outputs);
  const shown = new Set(entries.map((entry) => outputShown(entry)?.terminalId));
  const ownWords = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const text = outputShown(entry) === null ? textOf(entry)?.trim() : undefined;
    if (text) ownWords.set(text, index);
  }
  for (const [terminalId, output] of outputs) {
    if (shown.has(terminalId)) continue;
    const words = output.text.trim();
    const place = ownWords.get(words) ?? entries.length;
    ownWords.delete(words);
    entries[place] = shownAs(terminalId, output, entries[place]);
  }
  return entries;
}

/** A call's content in which terminals whose output is known are that output. */
export function whereNamed(
  content: unknown,
  outputs: ReadonlyMap<string, TerminalOutput>,
): unknown[] {
  const entries: readonly unknown[] = Array.isArray(content) ? content : [content ?? []].flat();
  const shown = new Set<string>();
  return entries.flatMap((entry) => {
    const terminalId = terminalNamed(entry) ?? outputShown(entry)?.terminalId ?? null;
    const output = terminalId === null ? undefined : outputs.get(terminalId);
    if (terminalId === null || output === undefined) return [entry];
    if (shown.has(terminalId)) return [];
    shown.add(terminalId);
    return [shownAs(terminalId, output, entry)];
  });
}

/**
 * What the terminals of one tool call have written, from all updates of the call. Pieces are
 * put together in order. Where the content has the whole as text it is the same once more, so that
 * counts only if there was no piece before: as in a call that was folded.
 */
export function terminalOutputs(
  updates: readonly AgentUpdate[],
): ReadonlyMap<string, TerminalOutput> {
  const pieces = new Map<string, string[]>();
  const exits = new Map<string, TerminalExit>();
  for (const update of updates) {
    for (const { terminalId, data } of outputDeltas(update)) {
      const known = pieces.get(terminalId);
      if (known === undefined) pieces.set(terminalId, [data]);
      else known.push(data);
    }
    const shown = Array.isArray(update.content) ? update.content.map(outputShown) : [];
    for (const output of shown) {
      if (output === null) continue;
      if (!pieces.has(output.terminalId)) pieces.set(output.terminalId, [output.text]);
      if (output.exit !== null) exits.set(output.terminalId, output.exit);
    }
    const ended = exitIn(update);
    if (ended !== null) exits.set(ended.terminalId, ended.exit);
  }
  const ids = new Set([...pieces.keys(), ...exits.keys()]);
  const outputs = [...ids].map((id): [string, TerminalOutput] => {
    return [id, { text: pieces.get(id)?.join("") ?? "", exit: exits.get(id) ?? null }];
  });
  return new Map(outputs);
}

/** Whether an update is about a tool call; only these have terminals. */
export function isToolCall({ sessionUpdate }: AgentUpdate): boolean {
  return sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
}
