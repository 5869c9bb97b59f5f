// An agent that says what a public one has said: `node play-trace.ts TRACE CHECK FOLDER [WAIT_MS]`.
// It plays one section of a reduced trace, line by line, and waits for the server where the trace
// has its words. Where the recorded process ended in the middle it ends too, and the next goes on;
// the folder is where they count themselves.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isObject, type JsonObject, objectAt, stringAt } from "../../src/core/json.ts";

interface Line {
  readonly from: "server" | "agent";
  readonly message: JsonObject;
}

/** What one process has said and heard. */
interface Part {
  readonly lines: readonly Line[];
  /** What it answered to calls beside the conversation, by their methods. */
  readonly asides: ReadonlyMap<unknown, JsonObject>;
}

/**
 * The calls that a conversation is made of: these come in the order of the trace. Others (a mode,
 * an option, a key, a close) depend on profiles and on the server's version: each is answered when
 * it comes, and none is waited for.
 */
const CONVERSATION: ReadonlySet<unknown> = new Set([
  "initialize",
  "session/new",
  "session/load",
  "session/resume",
  "session/prompt",
]);

/** Less than a test may take, so that the test still hears what was waited for. */
const WAIT_MS_MAX = 30_000;
const NOT_IN_TRACE = -32_601;

const [trace = "", check = "", folder = "", wait = `${WAIT_MS_MAX}`] = process.argv.slice(2);
const parts = partsOf(trace, check);
mkdirSync(folder, { recursive: true });
const turn = readdirSync(folder).length;
writeFileSync(join(folder, `${turn}`), "");
const { lines, asides } = parts[Math.min(turn, parts.length - 1)] ?? partOf([]);
const heard: JsonObject[] = [];
/** What the server calls things that the trace has other names for. */
const names = new Map<string, string>();
/** Of the server's calls. The agent's have the ids of the trace. */
const ids = new Map<unknown, unknown>();
let at = 0;
let patience = setTimeout(giveUp, Number(wait));

createInterface({ input: process.stdin })
  .on("line", (text) => {
    const message: unknown = JSON.parse(text);
    if (isObject(message)) hear(message);
  })
  .on("close", () => process.exit());

function hear(message: JsonObject): void {
  const { id, method } = message;
  if (method === undefined || CONVERSATION.has(method)) heard.push(message);
  else if (id !== undefined) say({ result: {}, ...asides.get(method), jsonrpc: "2.0", id });
  play();
}

function play(): void {
  const before = at;
  for (let line = lines[at]; line !== undefined; line = lines[at]) {
    if (line.from === "agent") sayRecorded(line.message);
    else if (!wasHeard(line.message)) break;
    at += 1;
  }
  refuseTheRest();
  if (at > before) clearTimeout(patience);
  const isOver = at === lines.length;
  if (at > before && !isOver) patience = setTimeout(giveUp, Number(wait));
  if (isOver && turn < parts.length - 1) process.exit(1);
}

function sayRecorded(message: JsonObject): void {
  const isAnswer = message.method === undefined;
  say(isAnswer ? { ...message, id: ids.get(message.id) ?? message.id } : message);
}

function say(message: JsonObject): void {
  let text = JSON.stringify(message);
  for (const [recorded, real] of names) text = text.replaceAll(recorded, real);
  process.stdout.write(`${text}\n`);
}

/** Whether the server has said it; then what it calls things is known from it. */
function wasHeard(recorded: JsonObject): boolean {
  const isCall = recorded.method !== undefined;
  const found = heard.findIndex(({ method, id }) => {
    return method === recorded.method && (isCall || id === recorded.id);
  });
  const [real] = found < 0 ? [] : heard.splice(found, 1);
  if (real === undefined) return false;
  if (isCall) ids.set(recorded.id, real.id);
  learn(recorded, real, "params", "cwd");
  learn(recorded, real, "result", "terminalId");
  return true;
}

function learn(recorded: JsonObject, real: JsonObject, part: string, key: string): void {
  const [from, to] = [recorded, real].map((one) => stringAt(objectAt(one, part) ?? {}, key));
  if (typeof from === "string" && typeof to === "string") names.set(from, to);
}

/** Calls of a conversation that the trace does not have, or has no more. */
function refuseTheRest(): void {
  for (const message of heard.splice(0)) {
    const { id, method } = message;
    const isLater = lines.slice(at).some((line) => line.message.method === method);
    if (isLater) heard.push(message);
    else say({ jsonrpc: "2.0", id, error: { code: NOT_IN_TRACE, message: stateOfPlay() } });
  }
}

function giveUp(): void {
  process.stderr.write(`${stateOfPlay()}\n`);
  process.exit(1);
}

function stateOfPlay(): string {
  const told = (message: JsonObject | undefined) => {
    if (message === undefined) return "nothing more";
    return message.method ?? `the answer to ${JSON.stringify(message.id)}`;
  };
  const known = heard.map(told).join(", ") || "nothing else";
  const place = `${trace}, ${check}, process ${turn + 1}, line ${at + 1}`;
  return `${place}: waits for ${told(lines[at]?.message)}, and has heard ${known}`;
}

function partsOf(path: string, wanted: string): readonly Part[] {
  const found: Line[][] = [];
  let isWanted = false;
  for (const text of readFileSync(path, "utf8").trim().split("\n")) {
    const line: { check?: string } & Line = JSON.parse(text);
    if (line.check !== undefined) isWanted = line.check === wanted;
    else if (isWanted && line.message.method === "initialize") found.push([line]);
    else if (isWanted) found.at(-1)?.push(line);
  }
  return found.map(partOf);
}

/** Takes the calls beside the conversation out of the order, with their answers. */
function partOf(recorded: readonly Line[]): Part {
  const asked = new Map<unknown, unknown>();
  const asides = new Map<unknown, JsonObject>();
  const kept = recorded.filter(({ from, message }) => {
    const { id, method } = message;
    const isCall = method !== undefined;
    const isAside =
      from === "server" ? isCall && !CONVERSATION.has(method) : !isCall && asked.has(id);
    if (isAside && isCall) asked.set(id, method);
    if (isAside && !isCall) asides.set(asked.get(id), message);
    return !isAside;
  });
  return { lines: kept, asides };
}
