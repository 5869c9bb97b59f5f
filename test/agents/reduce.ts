// Makes fixtures of recorded wire traces: the structure of what an agent says, without its texts.
// `node test/agents/reduce.ts RECORDS FOLDER` reads what FERMATA_AGENTS_RECORD has kept.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject, objectAt, stringAt } from "../../src/core/json.ts";
import { plain } from "./reduce-values.ts";

/** What one side said to the other, or the name of the check that begins here. */
export type TraceLine =
  | { readonly check: string }
  | { readonly from: "server" | "agent"; readonly message: JsonObject };

/** The checks whose traces show the quirks: asks, files, output, and how memory comes back. */
const CHECKS: readonly string[] = ["ask-shell", "new-file", "output", "kill-agent"];

/** Of chunks of one kind in a row so many stay: enough to see that there are several. */
const CHUNKS_KEPT = 2;

/** Of what is told again and again beside a turn, the first of a check is enough. */
const REPEATED = /^(?:available_commands_update|usage_update|config_option_update|_.*)$/;

/** The sections of the wanted checks, each with the `initialize` of its process in front. */
export function reduceTrace(recorded: string): readonly TraceLine[] {
  const reduced: TraceLine[] = [];
  let initialized: TraceLine[] = [];
  let section: Section | null = null;
  const finish = () => {
    if (section !== null) reduced.push({ check: section.check }, ...plain(section.lines));
    section = null;
  };
  for (const { from, line } of linesOf(recorded)) {
    if (from === "contract") {
      finish();
      if (CHECKS.includes(line)) section = new Section(line, initialized);
      continue;
    }
    const message = objectFrom(line);
    if (message === null) continue;
    const said = { from, message } as const;
    if (message.method === "initialize") initialized = [said];
    else if (initialized.length === 1 && from === "agent") initialized.push(said);
    section?.add(said);
  }
  finish();
  return reduced;
}

type Said = Extract<TraceLine, { readonly from: string }>;

/** What was said of the sessions that a check has made itself. */
class Section {
  readonly check: string;
  readonly lines: TraceLine[];
  readonly #sessions = new Set<string>();
  readonly #asked = new Set<string>();
  readonly #told = new Set<string>();
  #chunks = { kind: "", count: 0 };

  constructor(check: string, initialized: readonly TraceLine[]) {
    this.check = check;
    this.lines = [...initialized];
  }

  add(said: Said): void {
    // The process that was there before has ended without a word in this check.
    const isFresh = said.message.method === "initialize" && this.#sessions.size === 0;
    if (isFresh) this.lines.length = 0;
    if (this.#isOurs(said) && !this.#isOneOfMany(said)) this.lines.push(said);
  }

  #isOurs({ from, message }: Said): boolean {
    const { id, method } = message;
    if (method === undefined) {
      const made = stringAt(objectAt(message, "result") ?? {}, "sessionId");
      const isOurs = this.#asked.has(`${from === "agent" ? "server" : "agent"} ${id}`);
      if (isOurs && made !== null) this.#sessions.add(made);
      return isOurs;
    }
    const session = stringAt(objectAt(message, "params") ?? {}, "sessionId");
    const isBringing = method === "session/load" || method === "session/resume";
    if (isBringing && session !== null) this.#sessions.add(session);
    const isKnown = session !== null && this.#sessions.has(session);
    const isOurs = isKnown || (session === null && from === "server");
    if (isOurs && id !== undefined) this.#asked.add(`${from} ${id}`);
    return isOurs;
  }

  #isOneOfMany({ message }: Said): boolean {
    const update = objectAt(objectAt(message, "params") ?? {}, "update") ?? {};
    const kind = stringAt(update, "sessionUpdate") ?? "";
    const count = this.#chunks.kind === kind ? this.#chunks.count + 1 : 1;
    this.#chunks = { kind, count };
    if (/_chunk$/.test(kind) && count > CHUNKS_KEPT) return true;
    const isNotice = message.id === undefined && message.method !== "session/update";
    const name = isNotice ? `${message.method}` : kind;
    const wasTold = this.#told.has(name);
    this.#told.add(name);
    return REPEATED.test(name) && wasTold;
  }
}

function linesOf(recorded: string) {
  return recorded.split("\n").flatMap((text) => {
    const { from, line } = objectFrom(text) ?? {};
    const isSide = from === "server" || from === "agent" || from === "contract";
    return isSide && typeof line === "string" ? [{ from, line } as const] : [];
  });
}

function objectFrom(text: string): JsonObject | null {
  try {
    const read: unknown = JSON.parse(text);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

function main(records: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const files = readdirSync(records).filter((name) => name.endsWith(".wire.jsonl"));
  const agents = new Set(files.map((name) => name.replace(/-good-\d+\.wire\.jsonl$/, "")));
  for (const agent of [...agents].filter((name) => !name.endsWith(".jsonl"))) {
    const own = files.filter((name) => name.startsWith(`${agent}-good-`));
    const byNumber = own.sort((a, b) => numberIn(a) - numberIn(b));
    const lines = byNumber.flatMap((name) => {
      return reduceTrace(readFileSync(join(records, name), "utf8"));
    });
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    writeFileSync(join(folder, `${agent}.jsonl`), text);
    process.stdout.write(`${agent}: ${lines.length} lines, ${text.length} characters\n`);
  }
}

function numberIn(name: string): number {
  return Number(/-(\d+)\.wire/.exec(name)?.[1] ?? 0);
}

const [records, folder] = process.argv.slice(2);
if (import.meta.main && records !== undefined && folder !== undefined) main(records, folder);
