import { once } from "node:events";
import { readdir, readFile, readlink } from "node:fs/promises";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import type { Refusal } from "../../core/error.ts";
import { PORT_OWNER_MS_MAX } from "../../core/limits.ts";
import { SERVER_NAME } from "../../server/http/answer.ts";

/** Adds to the refusal of a port in use who has it, and what to do. */
export async function withPortOwner(
  { code, details }: Refusal,
  msMax = PORT_OWNER_MS_MAX,
): Promise<Refusal> {
  if (code !== "listen_failed" || details.cause !== "EADDRINUSE") return { code, details };
  const [, hostname = "", port = ""] = /^(.*):(\d+)$/.exec(String(details.address)) ?? [];
  return { code, details: { ...details, reason: await reasonOf(hostname, Number(port), msMax) } };
}

async function reasonOf(hostname: string, port: number, msMax: number): Promise<string> {
  const [kind, pid] = await Promise.all([kindOf(hostname, port, msMax), pidOn(port, msMax)]);
  const name = kind === null && pid !== null ? await nameOf(pid) : null;
  const who = `${kind ?? "another program"}${inBrackets(pid, name)}`;
  const use = kind === ANOTHER_FERMATA ? "use that one, " : "";
  const stop = pid === null ? "stop it" : `stop it (kill ${pid})`;
  return `the port is in use by ${who}; ${use}${stop}, or take a free port (--port 0)`;
}

function inBrackets(pid: number | null, name: string | null): string {
  if (pid === null) return "";
  return name === null ? ` (pid ${pid})` : ` (${name}, pid ${pid})`;
}

const ANOTHER_FERMATA = "another fermata";
const KINDRED = "a server that speaks as fermata does, such as qwen serve";

/** What a server says of itself; null if it speaks otherwise, or not at all. */
async function kindOf(hostname: string, port: number, msMax: number): Promise<string | null> {
  const host = ANY_ADDRESS.has(hostname) ? "127.0.0.1" : hostname.replaceAll(/[[\]]/g, "");
  const signal = AbortSignal.timeout(msMax);
  const options = { host, port, path: "/health", agent: false, rejectUnauthorized: false, signal };
  const [plain, secure] = await Promise.all([ask("http", options), ask("https", options)]);
  const health = plain ?? secure;
  if (health === null) return null;
  if (health.headers.server === SERVER_NAME) return ANOTHER_FERMATA;
  return /^\{"status":"(?:ok|degraded)"/.test(health.text) ? KINDRED : null;
}

const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

interface Health {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends nothing secret, and of the answer only a sentence is made: so any certificate will do. */
async function ask(scheme: "http" | "https", options: RequestOptions): Promise<Health | null> {
  const { get } = scheme === "http" ? await import("node:http") : await import("node:https");
  try {
    const request = get(options);
    const [response]: IncomingMessage[] = await once(request, "response");
    if (response === undefined) return null;
    const text = await beginningOf(response);
    request.destroy();
    return { headers: response.headers, text };
  } catch {
    return null;
  }
}

/** A kindred answer is short, and another one may have no end. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  for await (const chunk of response) return String(chunk);
  return "";
}

/** The process that listens on a port; null where the system does not tell this user. */
async function pidOn(port: number, msMax: number): Promise<number | null> {
  const until = performance.now() + msMax;
  const sockets = new Set(await socketsOn(port));
  if (sockets.size === 0) return null;
  const entries = await readdir("/proc").catch(() => []);
  // The newest first: a server is seldom older than its machine's own processes.
  for (const name of entries.toReversed()) {
    if (performance.now() > until) return null;
    if (!/^\d+$/.test(name)) continue;
    for (const file of await readdir(`/proc/${name}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${name}/fd/${file}`).catch(() => "");
      if (sockets.has(target)) return Number(name);
    }
  }
  return null;
}

/** The sockets that listen on a port, as links to open files name them. */
async function socketsOn(port: number): Promise<readonly string[]> {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) =>
    readFile(path, "utf8").catch(() => ""),
  );
  const lines = (await Promise.all(tables)).flatMap((table) => table.split("\n"));
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    return local.endsWith(end) && state === LISTENING ? [`socket:[${inode}]`] : [];
  });
}

const LISTENING = "0A";

/** The program of a process, without its arguments, which may be secret. */
async function nameOf(pid: number): Promise<string | null> {
  const name = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
  return name === "" ? null : name;
}
