import { join } from "node:path";
import { isObject, stringAt } from "../../core/json.ts";
import { didYouMean } from "../../core/spelling.ts";
import { CommandFailure } from "../failure.ts";
import { EXIT } from "../table/exit-codes.ts";
import { readPrivate, writePrivate } from "./private-file.ts";

/** A server that a person has signed in to. */
export interface Context {
  readonly name: string;
  readonly url: string;
  readonly token: string | null;
}

/** All of them, and which one counts where none is named; null is the server of this machine. */
export interface Contexts {
  readonly current: string | null;
  readonly all: readonly Context[];
}

/** The name for the server of this machine, which is no context. */
export const LOCAL_CONTEXT = "local";

export async function readContexts(home: string): Promise<Contexts> {
  const path = contextsFile(home);
  const text = await readPrivate(path);
  if (text === null) return { current: null, all: [] };
  try {
    const read: unknown = JSON.parse(text);
    if (isObject(read) && Array.isArray(read.contexts)) {
      return { current: stringAt(read, "current"), all: read.contexts.flatMap(contextIn) };
    }
  } catch {
    // The sentence below says the same of a file that is no JSON.
  }
  const how = `mend it, or move it away and sign in again: fermata login URL`;
  throw new CommandFailure(EXIT.failed, `${path} is damaged; ${how}`);
}

export function writeContexts(home: string, { current, all }: Contexts): Promise<void> {
  const text = JSON.stringify({ current, contexts: all }, null, 2);
  return writePrivate(contextsFile(home), `${text}\n`);
}

/** The context of that name; fails with the names that there are. */
export function contextNamed({ all }: Contexts, name: string): Context {
  const found = all.find((context) => context.name === name);
  if (found !== undefined) return found;
  const names = [...all.map((context) => context.name), LOCAL_CONTEXT];
  const hint = `${didYouMean(name, names)}; there are: ${names.join(", ")}`;
  throw new CommandFailure(EXIT.notFound, `there is no context "${name}"${hint}`);
}

function contextsFile(home: string): string {
  return join(home, "contexts.json");
}

function contextIn(entry: unknown): readonly Context[] {
  if (!isObject(entry)) return [];
  const name = stringAt(entry, "name");
  const url = stringAt(entry, "url");
  return name === null || url === null ? [] : [{ name, url, token: stringAt(entry, "token") }];
}
