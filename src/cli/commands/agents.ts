import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { startHost } from "../../agent/bridge/start.ts";
import { AgentMarks } from "../../agent/process/marks.ts";
import { detect } from "../../agent/process/spawn.ts";
import { adHocProfile } from "../../agent/profile/command-line.ts";
import { type AgentProfile, askingProfile } from "../../agent/profile/profile.ts";
import { errorBody, type Refusal } from "../../core/error.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { askingView } from "../../core/policy/asking.ts";
import { DONE } from "../../core/result.ts";
import { agentProfiles, homeOf } from "../home.ts";
import { tableText } from "../output.ts";

const AGENTS_USAGE = `Usage: fermata agents [NAME or "COMMAND ARGUMENTS"]
       fermata agents ps | logs NAME | restart NAME | trace FILE
                      [--url URL] [--token TOKEN]

Without a name it lists the agents that Fermata knows, and which are installed.
With one it starts that agent, prints what it offers, and ends it again.

Your own agents are read from agents.json in ~/.fermata (or FERMATA_HOME); see
docs/agents.md.

Of a server that runs, for an owner of the tenant:
  ps             List the processes of its agents.
  logs NAME      Print what processes of an agent wrote to their error output.
  restart NAME   Give no more sessions to its processes: the unused end at once,
                 the others with their last session.
  trace FILE     Write every line to and from agents into FILE until Ctrl-C.

Options:
  --url URL      Where the server is (http://127.0.0.1:4170, or FERMATA_URL).
  --token TOKEN  Who asks (FERMATA_TOKEN).
`;

export async function agents(args: readonly string[]): Promise<number> {
  const [wanted, unknown] = args;
  if (wanted === "--help" || wanted === "-h") {
    process.stdout.write(AGENTS_USAGE);
    return 0;
  }
  if (isServerWish(wanted)) return askServer(args);
  if (unknown !== undefined || wanted?.startsWith("-")) {
    console.error('fermata: agents takes one name; run "fermata agents --help" to see more.');
    return 2;
  }
  const home = homeOf(process.env);
  const profiles = await agentProfiles(home);
  if (!profiles.ok) return told(profiles.refusal);
  if (wanted === undefined) return list(profiles.value);
  const known = profiles.value.get(wanted);
  if (known !== undefined) return tryOut(known, home);
  if (!/[\s/]/.test(wanted)) {
    const names = [...profiles.value.keys()].join(", ");
    return told({ code: "agent_unknown", details: { profile: wanted, known: names } });
  }
  const adHoc = adHocProfile(wanted);
  return adHoc.ok ? tryOut(adHoc.value, home) : told(adHoc.refusal);
}

async function list(profiles: ReadonlyMap<string, AgentProfile>): Promise<number> {
  const detected = await detect(profiles.values(), process.env);
  const width = Math.max(...detected.map(({ profile }) => profile.name.length));
  const lines = detected.map(({ profile, path }) => {
    const name = profile.name.padEnd(width);
    const doubt = profile.ask.asks === "unknown" ? "; not known to ask" : "";
    if (path !== null) return `  ${name}  installed  ${profile.title}${doubt}`;
    return `  ${name}  missing    ${profile.install ?? `no program "${profile.command}"`}`;
  });
  process.stdout.write(`${lines.join("\n")}\n\nTo try one: fermata agents echo\n`);
  return 0;
}

async function tryOut(profile: AgentProfile, home: string): Promise<number> {
  const startedMs = performance.now();
  const marks = new AgentMarks(join(home, "running-agents"));
  const asking = askingProfile(profile);
  const order = { profile: asking, cwd: process.cwd(), marks, env: process.env };
  const started = await startHost(order, { fault: () => {}, secret: () => DONE });
  if (!started.ok) return told(started.refusal);
  const { abilities } = started.value;
  const tookMs = Math.round(performance.now() - startedMs);
  await started.value.end();
  const { name, version, load, resume, close, list: lists, fork, systemPrompt } = abilities;
  const offers = { load, resume, close, list: lists, fork, "system prompt": systemPrompt };
  const can = Object.entries(offers).filter(([, does]) => does);
  const cannot = Object.entries(offers).filter(([, does]) => !does);
  process.stdout.write(
    `${[
      `${name ?? profile.title}${version === null ? "" : ` ${version}`} answered in ${tookMs} ms.`,
      `  offers:          ${namesOf(can)}`,
      `  does not offer:  ${namesOf(cannot)}`,
      `  ways to sign in: ${abilities.authMethods.join(", ") || "none needed"}`,
      ...(profile.signIn === null ? [] : [`  to sign in:      ${profile.signIn}`]),
      `  asking:          ${askingSentence(profile)}`,
      `  MCP tools:       ${MCP_SENTENCES[profile.mcp]}`,
      ...(profile.home === null ? [] : [`  its home:        where ${profile.home} says`]),
      ...(profile.withhold.length === 0
        ? []
        : [`  withheld:        ${profile.withhold.join(", ")}`]),
    ].join("\n")}\n`,
  );
  return 0;
}

/** As a session tells it that nobody has set to anything else. */
function askingSentence({ ask }: AgentProfile): string {
  const known = { chosen: null, observed: null, offered: null, options: null };
  return askingView(ask, "ask", known).sentence;
}

const MCP_SENTENCES: Readonly<Record<AgentProfile["mcp"], string>> = {
  offered: "its model is offered those of the session's servers",
  withheld: "it is told of the session's servers, and its model does not see their tools at once",
  unknown: "not known",
};

function namesOf(entries: readonly (readonly [string, boolean])[]): string {
  return entries.map(([name]) => name).join(", ") || "nothing";
}

function told(refusal: Refusal): number {
  console.error(`fermata: ${errorBody(refusal).error}`);
  return 1;
}

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
