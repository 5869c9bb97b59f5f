import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { detect } from "../../agent/process/spawn.ts";
import { adHocProfile, withVariables } from "../../agent/profile/command-line.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { unknownAgent } from "../../core/agent-name.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { nearestName } from "../../core/spelling.ts";
import { unknownWord } from "../command-line.ts";
import { agentProfiles, homeOf, messageOf } from "../home.ts";
import { tableText } from "../output.ts";
import { parseRow } from "../parse-row.ts";
import { AGENT_SERVER_OPTIONS } from "../table/agents.ts";
import { type AgentsQuery, missingSecrets, readAgentsQuery } from "./agent-secrets.ts";
import { signIn } from "./agent-sign-in.ts";
import { tryOut } from "./agent-trial.ts";

export async function agents(args: readonly string[]): Promise<number> {
  const [wanted] = args;
  if (isServerRequest(wanted)) return askServer(args);
  const query = await readAgentsQuery(args, process.env);
  if (typeof query === "string") {
    console.error(`fermata: agents: ${query}; see "fermata agents --help".`);
    return 2;
  }
  return about(query);
}

async function about(query: AgentsQuery): Promise<number> {
  const { name: wanted } = query;
  const home = homeOf(process.env);
  const profiles = await agentProfiles(home);
  if (!profiles.ok) return printFailure(profiles.refusal);
  if (wanted === null) return list(profiles.value, query);
  const known = profiles.value.get(wanted);
  if (known !== undefined) return meet(known);
  if (!/[\s/]/.test(wanted)) {
    const isRequest = nearestName(wanted, Object.keys(REQUESTS)) !== null;
    if (isRequest) return failed(unknownWord(wanted, Object.keys(REQUESTS)));
    return printFailure(unknownAgent(wanted, profiles.value.keys()).refusal);
  }
  const adHoc = adHocProfile(wanted);
  return adHoc.ok ? meet(adHoc.value) : printFailure(adHoc.refusal);

  async function meet(profile: AgentProfile): Promise<number> {
    const whole = withVariables(profile, query.inherit);
    if (!whole.ok) return printFailure(whole.refusal);
    const outcome = await (query.isSignIn ? signIn : tryOut)(whole.value, home, query);
    return outcome === null ? 0 : failed(outcome);
  }
}

async function list(
  profiles: ReadonlyMap<string, AgentProfile>,
  query: AgentsQuery,
): Promise<number> {
  const detected = await detect(profiles.values(), process.env);
  const width = Math.max(...detected.map(({ profile }) => profile.name.length));
  const lines = detected.map(async ({ profile, path }) => {
    const name = profile.name.padEnd(width);
    const doubt = profile.ask.asks === "unknown" ? "; not known to ask" : "";
    const missing = await missingSecrets(profile, query);
    const needs = missing.length === 0 ? "" : `; needs the secret ${missing.join(", ")}`;
    if (path !== null) return `  ${name}  installed  ${profile.title}${doubt}${needs}`;
    return `  ${name}  missing    ${profile.install ?? `no program "${profile.command}"`}`;
  });
  const all = await Promise.all(lines);
  process.stdout.write(`${all.join("\n")}\n\nTo try one: fermata agents echo\n`);
  return 0;
}

function printFailure(refusal: Refusal): number {
  return failed(sentenceOf(refusal));
}

/** A request to a running server. */
interface AgentsRequest {
  /** Its arguments, in order. */
  readonly takes: readonly ("a name" | "an id" | "a file")[];
  readonly method: "GET" | "POST";
  /** Whether `--cwd` is for it. */
  readonly isInWorkspace?: true;
  path(argument: string, cwd: string | null): string;
  body?(id: string, cwd: string | null): JsonObject;
  /** Answers with the text to print. */
  show(response: Response, argument: string, id: string): Promise<string>;
}

const REQUESTS: Readonly<Record<string, AgentsRequest>> = {
  ps: {
    takes: [],
    method: "GET",
    path: () => "/agents",
    show: async (response) => processTable(objectsAt(await response.json(), "processes")),
  },
  logs: {
    takes: ["a name"],
    method: "GET",
    path: (name) => `/agents/${encodeURIComponent(name)}/logs`,
    show: async (response) =>
      objectsAt(await response.json(), "logs")
        .map(logText)
        .join("\n"),
  },
  sessions: {
    takes: ["a name"],
    method: "GET",
    isInWorkspace: true,
    path: (name, cwd) => {
      const where = cwd === null ? "" : `?cwd=${encodeURIComponent(cwd)}`;
      return `/agents/${encodeURIComponent(name)}/sessions${where}`;
    },
    show: async (response) => sessionTable(objectsAt(await response.json(), "sessions")),
  },
  adopt: {
    takes: ["a name", "an id"],
    method: "POST",
    isInWorkspace: true,
    path: (name) => `/agents/${encodeURIComponent(name)}/sessions/adopt`,
    body: (agentSessionId, cwd) => ({ agentSessionId, ...(cwd !== null && { cwd }) }),
    show: async (response, name, id) => {
      const body: unknown = await response.json();
      const sessionId = isObject(body) ? stringAt(body, "sessionId") : null;
      return `${name}'s session ${id} is adopted: it is the session ${sessionId} now.`;
    },
  },
  "sign-out": {
    takes: ["a name"],
    method: "POST",
    path: (name) => `/agents/${encodeURIComponent(name)}/logout`,
    show: async (_, name) => `${name} is signed out.`,
  },
  restart: {
    takes: ["a name"],
    method: "POST",
    path: (name) => `/agents/${encodeURIComponent(name)}/restart`,
    show: async (response, name) => restartText(await response.json(), name),
  },
  trace: {
    takes: ["a file"],
    method: "GET",
    path: () => "/agents/trace",
    show: async (response, path) => {
      process.stderr.write(`fermata: writing to ${path} until Ctrl-C.\n`);
      // Only the operator may read the conversations in it.
      const sink = createWriteStream(path, { mode: 0o600 });
      if (response.body !== null) await pipeline(Readable.fromWeb(response.body), sink);
      return "";
    },
  },
};

function isServerRequest(word: string | undefined): boolean {
  return word !== undefined && Object.hasOwn(REQUESTS, word);
}

/** Sends a request to a running server, and returns the exit code. */
async function askServer(args: readonly string[]): Promise<number> {
  const read = readServerArgs(args);
  if (typeof read === "string") {
    console.error(`fermata: agents: ${read}; see "fermata agents --help".`);
    return 2;
  }
  const { request, argument, id, cwd, url, token } = read;
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort()).once("SIGTERM", () => interrupt.abort());
  try {
    const { method } = request;
    const { signal } = interrupt;
    const sent = request.body?.(id, cwd);
    const headers = {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(sent !== undefined && { "content-type": "application/json" }),
    };
    const body = sent === undefined ? null : JSON.stringify(sent);
    const address = new URL(request.path(argument, cwd), url);
    const response = await fetch(address, { method, headers, body, signal });
    if (!response.ok) return failed(await errorOf(response));
    const shown = await request.show(response, argument, id);
    if (shown !== "") process.stdout.write(`${shown}\n`);
    return 0;
  } catch (thrown) {
    return interrupt.signal.aborted
      ? 0
      : failed(
          `cannot reach the server at ${url}: ${causeOf(thrown)}; start it, ` +
            "or say where it listens with --url or FERMATA_URL",
        );
  }
}

/** A text is the reason why the command line is wrong. */
function readServerArgs(args: readonly string[]) {
  try {
    const { values, positionals } = parseRow({ options: AGENT_SERVER_OPTIONS }, args);
    const [name = "", ...all] = positionals;
    const request = REQUESTS[name];
    if (request === undefined) return `there is no "${name}"`;
    const { takes } = request;
    if (all.length !== takes.length) return `${name} takes ${takes.join(" and ") || "nothing"}`;
    if (values.cwd !== undefined && request.isInWorkspace !== true) {
      return `--cwd is for "sessions" and "adopt"`;
    }
    const [argument = "", id = ""] = all;
    const cwd = values.cwd === undefined ? null : resolve(values.cwd);
    const { env } = process;
    const url = values.url ?? env.FERMATA_URL ?? "http://127.0.0.1:4170";
    if (!URL.canParse(url)) return `"${url}" is not an address`;
    const token = values.token ?? env.FERMATA_TOKEN ?? null;
    return { request, argument, id, cwd, url, token };
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function failed(reason: string): number {
  console.error(`fermata: ${reason}`);
  return 1;
}

async function errorOf(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null);
  const error = isObject(body) ? stringAt(body, "error") : null;
  return error ?? `the server answered ${response.status}`;
}

/** The cause says more than the message of `fetch`. */
function causeOf(thrown: unknown): string {
  return messageOf(
    thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown,
  );
}

function objectsAt(body: unknown, key: string): readonly JsonObject[] {
  const list = isObject(body) ? body[key] : null;
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function processTable(processes: readonly JsonObject[]): string {
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

function sessionTable(sessions: readonly JsonObject[]): string {
  if (sessions.length === 0) return "The agent has no sessions of its own in this workspace.";
  const rows = sessions.map((one) => [
    `${one.agentSessionId}`,
    `${one.updatedAt ?? "-"}`,
    `${one.title ?? "-"}`,
  ]);
  return tableText(["session", "updated", "title"], rows);
}

function logText({ process, pid, isRunning, text }: JsonObject): string {
  const state = isRunning === true ? "running" : "ended";
  return `== process ${process}, pid ${pid}, ${state}\n${text === "" ? "(nothing)" : text}`;
}

function restartText(body: unknown, name: string): string {
  const { ended, closing } = isObject(body) ? body : {};
  const closes = closing === 1 ? "closes" : "close";
  return `${name}: ${ended} ended, ${closing} ${closes} with the last session.`;
}
