import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sentenceOf } from "../../core/error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { StoreSteps } from "../../store/operation.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";
import { homeOf } from "../home.ts";

/** What every command takes that is about a data directory. */
export const DATA_OPTIONS = {
  data: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** What it takes beside that if it is about one tenant. */
export const TENANT_OPTIONS = {
  ...DATA_OPTIONS,
  tenant: { type: "string", default: "local" },
} as const;

/** The actor of every change that a command makes: the operator, who has the data directory. */
export const OPERATOR = { kind: "operator" } as const;

interface DataGiven {
  readonly data?: string;
  readonly help?: boolean;
}

/** A command that a person gives about what is in a data directory. */
export interface DataCommand<Given extends DataGiven> {
  readonly name: string;
  readonly usage: string;
  /** Said of each wrong command line instead of the reason, where this is all there is to say. */
  readonly mistake?: string;
  /** Takes a command line apart, and throws what is wrong with it. */
  parse(args: readonly string[]): {
    readonly values: Given;
    readonly positionals: readonly string[];
  };
  /** What makes no sense is refused with the sentence that says why. */
  read(given: Given, words: readonly string[]): Result<DataAct>;
}

/** Does what was asked for in a data directory. */
export type DataAct = (data: string) => Promise<Result<Outcome>>;

/** What is left to say when it is done. */
export interface Outcome {
  /** Where a program can read it. */
  readonly shown?: string;
  /** What people are to know beside it, each a sentence. */
  readonly notices?: readonly string[];
  readonly exitCode?: number;
}

/** Runs a command and returns its exit code: 2 is for a wrong command line, 1 for a failure. */
export async function runCommand<Given extends DataGiven>(
  command: DataCommand<Given>,
  args: readonly string[],
): Promise<number> {
  const { name, usage, mistake } = command;
  const wish = readLine(command, args);
  if (!wish.ok) {
    const why = mistake ?? `${name}: ${sentenceOf(wish.refusal)}`;
    console.error(`fermata: ${why}; see "fermata ${name} --help".`);
    return 2;
  }
  if (wish.value === "help") {
    process.stdout.write(usage);
    return 0;
  }
  const done = await wish.value.act(wish.value.data);
  if (!done.ok) {
    console.error(`fermata: ${sentenceOf(done.refusal)}`);
    return 1;
  }
  const { shown, notices = [], exitCode = 0 } = done.value;
  if (shown !== undefined) process.stdout.write(`${shown}\n`);
  for (const notice of notices) console.error(`fermata: ${notice}`);
  return exitCode;
}

/** The outcome of what comes to one text. */
export function outcomeOf(text: Result<string>): Result<Outcome> {
  return text.ok ? ok({ shown: text.value }) : text;
}

/** A command line that makes no sense, and why. */
export function wrong(reason: string): Result<never> {
  return fail("invalid_request", { reason });
}

interface Wish {
  readonly data: string;
  readonly act: DataAct;
}

function readLine<Given extends DataGiven>(
  { parse, read }: DataCommand<Given>,
  args: readonly string[],
): Result<Wish | "help"> {
  try {
    const { values, positionals } = parse(args);
    if (values.help) return ok("help");
    const act = read(values, positionals);
    if (!act.ok) return act;
    const { env } = process;
    return ok({ data: values.data ?? env.FERMATA_DATA ?? homeOf(env), act: act.value });
  } catch (thrown) {
    // The first sentence is about what was given; after it comes advice for programmers.
    const [reason = ""] = (thrown instanceof Error ? thrown.message : String(thrown)).split(". ");
    return wrong(reason);
  }
}

type StoreAct<Value> = (store: SessionStore) => Promise<Result<Value>>;

/** Where the store is in a data directory. */
export function storeFolder(data: string): string {
  return join(data, "sessions");
}

/** Nothing is made where nothing is: a mistyped directory must not look like an empty store. */
export async function inStore<Value>(
  data: string,
  act: StoreAct<Value>,
  steps: StoreSteps = {},
): Promise<Result<Value>> {
  const folder = storeFolder(data);
  if (existsSync(folder)) return inOpened(folder, act, steps);
  return fail("store_unavailable", { reason: `there is no ${folder}` });
}

/** The same for what may come before any server: it makes the directory that is not there yet. */
export async function inMadeStore<Value>(
  data: string,
  act: StoreAct<Value>,
): Promise<Result<Value>> {
  const folder = storeFolder(data);
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("store_unavailable", { reason });
  }
  return inOpened(folder, act);
}

async function inOpened<Value>(
  path: string,
  act: StoreAct<Value>,
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
