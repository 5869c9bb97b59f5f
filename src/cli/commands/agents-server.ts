import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { tableText } from "../table.ts";

/** What is asked of a server that runs: which route, and what is done with its answer. */
interface ServerWish {
  /** What the word behind it is; null if there is none. */
  readonly takes: "a name" | "a file" | null;
  readonly method: "GET" | "POST";
  path(word: string): string;
  /** Answers with what is left to be said on the output. */
  done(answer: Response, word: string): Promise<string>;
}

const WISHES: Readonly<Record<string, ServerWish>> = {
  ps: {
    takes: null,
    method: "GET",
    path: () => "/agents",
    done: async (answer) => processesShown(objectsAt(await answer.json(), "processes")),
  },
  logs: {
    takes: "a name",
    method: "GET",
    path: (name) => `/agents/${encodeURIComponent(name)}/logs`,
    done: async (answer) =>
      objectsAt(await answer.json(), "logs")
        .map(logShown)
        .join("\n"),
  },
  restart: {
    takes: "a name",
    method: "POST",
    path: (name) => `/agents/${encodeURIComponent(name)}/restart`,
    done: async (answer, name) => restartShown(await answer.json(), name),
  },
  trace: {
    takes: "a file",
    method: "GET",
    path: () => "/agents/trace",
    done: async (answer, path) => {
      process.stderr.write(`fermata: writing to ${path} until Ctrl-C.\n`);
      // What agents and people say to each other is nobody else's business.
      const sink = createWriteStream(path, { mode: 0o600 });
      if (answer.body !== null) await pipeline(Readable.fromWeb(answer.body), sink);
      return "";
    },
  },
};

export function isServerWish(word: string | undefined): boolean {
  return word !== undefined && Object.hasOwn(WISHES, word);
}

/** Asks the server that runs, and returns the exit code. */
export async function askServer(args: readonly string[]): Promise<number> {
  const read = readLine(args);
  if (typeof read === "string") {
    console.error(`fermata: agents: ${read}; see "fermata agents --help".`);
    return 2;
  }
  const { wish, word, url, token } = read;
  const leave = new AbortController();
  process.once("SIGINT", () => leave.abort()).once("SIGTERM", () => leave.abort());
  try {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const { method } = wish;
    const { signal } = leave;
    const answer = await fetch(new URL(wish.path(word), url), { method, headers, signal });
    if (!answer.ok) return failed(await reasonOf(answer));
    const shown = await wish.done(answer, word);
    if (shown !== "") process.stdout.write(`${shown}\n`);
    return 0;
  } catch (thrown) {
    return leave.signal.aborted
      ? 0
      : failed(`the server at ${url} cannot be asked: ${causeOf(thrown)}`);
  }
}

const OPTIONS = { url: { type: "string" }, token: { type: "string" } } as const;

/** What is wrong with the line, if it is a text. */
function readLine(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: OPTIONS,
      allowPositionals: true,
    });
    const [name = "", word, more] = positionals;
    const wish = WISHES[name];
    if (wish === undefined) return `there is no "${name}"`;
    const isFine = wish.takes === null ? word === undefined : word !== undefined;
    if (!isFine || more !== undefined) return `${name} takes ${wish.takes ?? "nothing"}`;
    const { env } = process;
    const url = values.url ?? env.FERMATA_URL ?? "http://127.0.0.1:4170";
    if (!URL.canParse(url)) return `"${url}" is no address`;
    return { wish, word: word ?? "", url, token: values.token ?? env.FERMATA_TOKEN ?? null };
  } catch (thrown) {
    return thrown instanceof Error ? (thrown.message.split(". ")[0] ?? "") : String(thrown);
  }
}

function failed(reason: string): number {
  console.error(`fermata: ${reason}`);
  return 1;
}

async function reasonOf(answer: Response): Promise<string> {
  const body: unknown = await answer.json().catch(() => null);
  const said = isObject(body) ? stringAt(body, "error") : null;
  return said ?? `the server answered ${answer.status}`;
}

/** The network's own word for it is behind `fetch`'s. */
function causeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? thrown.cause.message : thrown.message;
}

function objectsAt(body: unknown, key: string): readonly JsonObject[] {
  const list = isObject(body) ? body[key] : null;
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function processesShown(processes: readonly JsonObject[]): string {
  if (processes.length === 0) return "No agents are running.";
  const rows = processes.map((one) => [
    `${one.process}`,
    `${one.pid ?? "-"}`,
    `${one.profile}`,
    `${one.state}`,
    `${one.sessions}`,
    `${Math.round(Number(one.memoryBytes) / 1_048_576)}`,
    `${one.workspace}`,
  ]);
  return tableText(["process", "pid", "agent", "state", "sessions", "MiB", "workspace"], rows);
}

function logShown({ process, pid, isRunning, text }: JsonObject): string {
  const state = isRunning === true ? "running" : "ended";
  return `== process ${process}, pid ${pid}, ${state}\n${text === "" ? "(nothing)" : text}`;
}

function restartShown(body: unknown, name: string): string {
  const { ended, closing } = isObject(body) ? body : {};
  const closes = closing === 1 ? "closes" : "close";
  return `${name}: ${ended} ended, ${closing} ${closes} with the last session.`;
}
