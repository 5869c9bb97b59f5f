// An agent that says what a public one has said: `node play-trace.ts TRACE CHECK FOLDER`. It plays
// one section of a reduced trace, line by line, and waits for the server where the trace has its
// words. Where the recorded process ended in the middle it ends too, and the next goes on; the
// folder is where they count themselves.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isObject, type JsonObject, objectAt, stringAt } from "../../src/core/json.ts";

interface Line {
  readonly from: "server" | "agent";
  readonly message: JsonObject;
}

const [trace = "", check = "", folder = ""] = process.argv.slice(2);
const parts = partsOf(trace, check);
const turn = readdirSync(folder).length;
writeFileSync(join(folder, `${turn}`), "");
const lines = parts[Math.min(turn, parts.length - 1)] ?? [];
const heard: JsonObject[] = [];
/** What the server calls things that the trace has other names for. */
const names = new Map<string, string>();
const ids = new Map<unknown, unknown>();
let at = 0;

createInterface({ input: process.stdin }).on("line", (text) => {
  const message: unknown = JSON.parse(text);
  if (isObject(message)) heard.push(message);
  play();
});

function play(): void {
  for (let line = lines[at]; line !== undefined; line = lines[at]) {
    if (line.from === "agent") say(line.message);
    else if (!isAnswered(line.message)) break;
    at += 1;
  }
  answerTheRest();
  if (at === lines.length && turn < parts.length - 1) process.exit(1);
}

function say(message: JsonObject): void {
  const isAnswer = message.method === undefined;
  const sent = isAnswer ? { ...message, id: ids.get(message.id) ?? message.id } : message;
  let text = JSON.stringify(sent);
  for (const [recorded, real] of names) text = text.replaceAll(recorded, real);
  process.stdout.write(`${text}\n`);
}

/** Whether the server has said it; then what it calls things is known from it. */
function isAnswered(recorded: JsonObject): boolean {
  const found = heard.findIndex(({ method, id }) => {
    return recorded.method === undefined
      ? method === undefined && id === recorded.id
      : method === recorded.method;
  });
  const [real] = found < 0 ? [] : heard.splice(found, 1);
  if (real === undefined) return false;
  ids.set(recorded.id, real.id);
  learn(recorded, real, "params", "cwd");
  learn(recorded, real, "result", "terminalId");
  return true;
}

function learn(recorded: JsonObject, real: JsonObject, part: string, key: string): void {
  const [from, to] = [recorded, real].map((one) => stringAt(objectAt(one, part) ?? {}, key));
  if (typeof from === "string" && typeof to === "string") names.set(from, to);
}

/** What the trace does not have: a newer server may ask for more, and gets an empty answer. */
function answerTheRest(): void {
  for (const message of heard.splice(0)) {
    const { id, method } = message;
    const isLater = lines.slice(at).some((line) => line.message.method === method);
    if (isLater) heard.push(message);
    else if (id !== undefined && method !== undefined) say({ jsonrpc: "2.0", id, result: {} });
  }
}

function partsOf(path: string, wanted: string): readonly (readonly Line[])[] {
  const found: Line[][] = [];
  let isWanted = false;
  for (const text of readFileSync(path, "utf8").trim().split("\n")) {
    const line: { check?: string } & Line = JSON.parse(text);
    if (line.check !== undefined) isWanted = line.check === wanted;
    else if (isWanted && line.message.method === "initialize") found.push([line]);
    else if (isWanted) found.at(-1)?.push(line);
  }
  return found;
}
