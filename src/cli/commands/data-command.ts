import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { sentenceOf } from "../../core/error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { makeFolders } from "../../platform/folder.ts";
import type { StoreSteps } from "../../store/operation.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";
import { homeOf, messageOf } from "../home.ts";
import { parseRow, type RowValues } from "../parse-row.ts";
import { checkBundledStore } from "../store-marker.ts";
import type { CommandRow } from "../table/row.ts";

/** The actor of every change that a command makes: the person with access to the directory. */
export const OPERATOR = { kind: "operator" } as const;

/** A command that works on a data directory: a row of the table, and what it does. */
export interface DataCommand<Row extends CommandRow> {
  readonly row: Row;
  /** What is wrong with the words as they are; null if nothing is. */
  fault?(args: readonly string[]): string | null;
  /** Checks what was parsed, and returns what to do. */
  read(flags: RowValues<Row>, words: readonly string[]): Result<DataAction>;
}

/** Works on the data directory at this path. */
export type DataAction = (data: string) => Promise<Result<CommandOutput>>;

/** What a command prints at its end. */
export interface CommandOutput {
  /** For programs, on the standard output. */
  readonly shown?: string;
  /** For people, on the error output; each is a sentence. */
  readonly notices?: readonly string[];
  readonly exitCode?: number;
}

/** Runs a command and returns its exit code: 2 for a wrong command line, 1 for a failure. */
export async function runCommand<const Row extends CommandRow>(
  command: DataCommand<Row>,
  args: readonly string[],
): Promise<number> {
  const { name } = command.row;
  const action = readArgs(command, args);
  if (!action.ok) {
    const reason = sentenceOf(action.refusal);
    console.error(`fermata: ${name}: ${reason}; see "fermata ${name} --help".`);
    return 2;
  }
  const done = await action.value();
  if (!done.ok) {
    console.error(`fermata: ${sentenceOf(done.refusal)}`);
    return 1;
  }
  const { shown, notices = [], exitCode = 0 } = done.value;
  if (shown !== undefined)
    process.stdout.write(`${shown}
`);
  for (const notice of notices) console.error(`fermata: ${notice}`);
  return exitCode;
}

function readArgs<const Row extends CommandRow>(
  { row, fault, read }: DataCommand<Row>,
  args: readonly string[],
): Result<() => ReturnType<DataAction>> {
  const reason = fault?.(args) ?? null;
  if (reason !== null) return wrong(reason);
  try {
    const { values, positionals } = parseRow(row, args);
    const action = read(values, positionals);
    if (!action.ok) return action;
    const { env } = process;
    const data = "data" in values ? values.data : undefined;
    const folder = typeof data === "string" ? data : (env.FERMATA_DATA ?? homeOf(env));
    return ok(() => action.value(folder));
  } catch (thrown) {
    return wrong(messageOf(thrown));
  }
}

/** Refuses a command line. */
export function wrong(reason: string): Result<never> {
  return fail("invalid_request", { reason });
}

/** The folder of the store in a data directory. */
export function storeFolder(data: string): string {
  return join(data, "sessions");
}

type StoreAction<Value> = (store: SessionStore) => Promise<Result<Value>>;

/** Opens an existing store. It makes none: a mistyped path must not look like an empty store. */
export async function inStore<Value>(
  data: string,
  act: StoreAction<Value>,
  steps: StoreSteps = {},
): Promise<Result<Value>> {
  const folder = storeFolder(data);
  const own = await checkBundledStore(data);
  if (!own.ok) return own;
  if (existsSync(folder)) return withStore(folder, act, steps);
  return fail("store_unavailable", { reason: `there is no ${folder}` });
}

/** Opens the store, and makes it if it is missing: the command may run before any server. */
export async function inNewStore<Value>(
  data: string,
  act: StoreAction<Value>,
): Promise<Result<Value>> {
  const folder = storeFolder(data);
  const own = await checkBundledStore(data);
  if (!own.ok) return own;
  try {
    await makeFolders(resolve(dirname(folder)));
  } catch (thrown) {
    return fail("store_unavailable", { reason: messageOf(thrown) });
  }
  return withStore(folder, act);
}

async function withStore<Value>(
  path: string,
  act: StoreAction<Value>,
  steps: StoreSteps = {},
): Promise<Result<Value>> {
  const store = sqliteStore(undefined, steps);
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: () => {},
  };
  try {
    const opened = await store.init(host, { active: true, path });
    if (!opened.ok) return opened;
    const active = await store.activate();
    return active.ok ? await act(store) : active;
  } finally {
    await store.dispose();
  }
}

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Parses a duration such as `30d`; null if it is malformed or longer than the maximum. */
export function durationMs(text: string, maxMs: number): number | null {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  return ms <= maxMs ? ms : null;
}
