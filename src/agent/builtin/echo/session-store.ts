import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isObject, stringAt } from "../../../core/json.ts";
import { causeOf } from "../../system-error.ts";
import { parseJson } from "./argument-reader.ts";
import { SESSIONS_KEPT_MAX, STATE_FILE_BYTES_MAX } from "./limits.ts";

/** One fact about a session. A session's state is what its entries, in order, make of it. */
export type EchoEntry =
  | { readonly kind: "opened"; readonly cwd: string }
  | {
      readonly kind: "turn";
      readonly user: string;
      readonly agent: string;
      /** The number of the last tool call: later ones count on from it. */
      readonly lastCall: number;
    }
  | { readonly kind: "title"; readonly title: string | null }
  | { readonly kind: "mode"; readonly modeId: string }
  | { readonly kind: "config"; readonly id: string; readonly value: string };

/** Where echo keeps its sessions, open or not. */
export interface EchoStore {
  /** Ids count up: `sess-1`, `sess-2`, … Null if there are too many. */
  create(entries: readonly EchoEntry[]): string | null;
  append(id: string, entry: EchoEntry): void;
  /** Null if there is no such session. */
  read(id: string): readonly EchoEntry[] | null;
  /** Oldest first. */
  ids(): readonly string[];
}

/** Sessions that end with the process. */
export function memoryStore(): EchoStore {
  const sessions = new Map<string, EchoEntry[]>();
  return {
    create(entries) {
      if (sessions.size >= SESSIONS_KEPT_MAX) return null;
      const id = `sess-${sessions.size + 1}`;
      sessions.set(id, [...entries]);
      return id;
    },
    append: (id, entry) => void sessions.get(id)?.push(entry),
    read: (id) => sessions.get(id) ?? null,
    ids: () => [...sessions.keys()],
  };
}

/**
 * Sessions in a folder, one file each, one entry a line. Several echoes may share the folder: a
 * process takes a number by making its file, which only one of them can.
 */
export function folderStore(folder: string): EchoStore {
  mkdirSync(folder, { recursive: true });
  const fileOf = (id: string) => join(folder, `${id}.jsonl`);

  function numbers(): readonly number[] {
    const ids = readdirSync(folder).map((name) => name.replace(/\.jsonl$/, ""));
    const found = ids.flatMap((id) => Number(SESSION_ID.exec(id)?.[1] ?? []) || []);
    return found.sort((a, b) => a - b);
  }

  return {
    create(entries) {
      const last = numbers().at(-1) ?? 0;
      for (let number = last + 1; number <= SESSIONS_KEPT_MAX; number += 1) {
        const id = `sess-${number}`;
        if (createFile(fileOf(id), entries.map(lineOf).join(""))) return id;
      }
      return null;
    },
    append: (id, entry) => appendFileSync(fileOf(id), lineOf(entry)),
    // The id comes from the client and becomes a file's name.
    read: (id) => (SESSION_ID.test(id) ? readEntries(fileOf(id)) : null),
    ids: () => numbers().map((number) => `sess-${number}`),
  };
}

const SESSION_ID = /^sess-([1-9]\d{0,8})$/;

function lineOf(entry: EchoEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

/** False if the file exists already. */
function createFile(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (thrown) {
    if (causeOf(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

function readEntries(file: string): readonly EchoEntry[] | null {
  try {
    if (statSync(file).size > STATE_FILE_BYTES_MAX) return null;
    return readFileSync(file, "utf8").split("\n").flatMap(readEntry);
  } catch {
    return null;
  }
}

/** None for a line that is no entry: a kill leaves half a line, and a folder may hold anything. */
function readEntry(line: string): readonly EchoEntry[] {
  const value = parseJson(line);
  if (!isObject(value)) return [];
  const { kind } = value;
  const text = (key: string) => stringAt(value, key);
  if (kind === "title") return [{ kind, title: text("title") }];
  if (kind === "turn") {
    const [user, agent] = [text("user"), text("agent")];
    const lastCall = typeof value.lastCall === "number" ? value.lastCall : 0;
    return user === null || agent === null ? [] : [{ kind, user, agent, lastCall }];
  }
  if (kind === "config") {
    const [id, setTo] = [text("id"), text("value")];
    return id === null || setTo === null ? [] : [{ kind, id, value: setTo }];
  }
  const [cwd, modeId] = [text("cwd"), text("modeId")];
  if (kind === "opened" && cwd !== null) return [{ kind, cwd }];
  return kind === "mode" && modeId !== null ? [{ kind, modeId }] : [];
}
