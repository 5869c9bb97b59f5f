import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isObject, type JsonObject } from "../src/core/json.ts";
import { type RaceReport, type RaceRequest, race } from "./race-client.ts";
import { ChildScript, ServerHome } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";

/**
 * Whether a prompt of the SDK ever hangs because its verdict is read before its 202: directly,
 * through nginx and in Chromium, with clients whose event loops are busy.
 */
interface RaceScale extends Pick<RaceRequest, "sessions" | "count" | "atOnce" | "patienceMs"> {
  readonly server: WireScale["server"];
  readonly busyMs: readonly number[];
  readonly ways: readonly Way[];
}

type Way = "direct" | "nginx" | "Chromium";

const USUAL = { atOnce: 5, patienceMs: 60_000 };
export const RACE_FULL: RaceScale = {
  ...{ ...USUAL, server: "built", sessions: 20, count: 10_000, busyMs: [50, 500] },
  ways: ["direct", "nginx", "Chromium"],
};
export const RACE_TINY: RaceScale = {
  ...{ ...USUAL, server: "at hand", sessions: 2, count: 20, busyMs: [50] },
  ways: ["direct"],
};

interface RaceOutcome extends RaceReport {
  readonly way: Way;
  readonly busyMs: number;
}

type Run = (request: RaceRequest) => Promise<RaceReport>;

/** Ways whose programs this machine does not have are left out, and named. */
export async function races(scale: RaceScale) {
  const home = new ServerHome(scale);
  await home.open();
  // The default agent, so a prompt ends within milliseconds; otherwise with the usual options.
  const server = await home.start("--agent", "echo-many");
  const direct = `http://127.0.0.1:${server.port}`;
  const outcomes: RaceOutcome[] = [];
  const absent: string[] = [];
  const runAll = async (way: Way, url: string, run: Run) => {
    for (const busyMs of scale.busyMs) {
      const { sessions, count, atOnce, patienceMs } = scale;
      const bounds = { sessions, count, atOnce, patienceMs, busyMs };
      outcomes.push({ way, busyMs, ...(await run({ url, workspace: home.workspace, ...bounds })) });
    }
  };
  try {
    for (const way of scale.ways) {
      const program = way === "direct" ? "" : programOf(way.toLowerCase());
      if (program === null) absent.push(way);
      else if (way === "direct") await runAll(way, direct, inNode);
      else if (way === "nginx") {
        await throughNginx(program, server.port, (url) => runAll(way, url, inNode));
      } else await runAll(way, direct, (request) => inChromium(program, request));
    }
    return { outcomes, absent };
  } finally {
    await server.end("SIGTERM", "SIGTERM");
    await home.close();
  }
}

async function inNode(request: RaceRequest): Promise<RaceReport> {
  const script = new ChildScript<RaceRequest, RaceReport>(
    new URL("race-client.ts", import.meta.url),
  );
  return script.request(request).finally(() => script.end());
}

function programOf(name: string): string | null {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/bin"];
  return folders.map((folder) => join(folder, name)).find(existsSync) ?? null;
}

/** The proxy of docs/operations.md. */
async function throughNginx(program: string, port: number, run: (url: string) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), "fermata-race-nginx-"));
  const own = port > 60_000 ? port - 1_000 : port + 1_000;
  const config = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 1024; }
    http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      server { listen 127.0.0.1:${own}; location / {
        proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1; proxy_buffering off;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_read_timeout 1h;
        proxy_set_header Host 127.0.0.1:${port}; client_max_body_size 10m; } } }`;
  await writeFile(join(folder, "nginx.conf"), config);
  const child = spawn(program, ["-c", join(folder, "nginx.conf")], { stdio: "ignore" });
  try {
    await answering(`http://127.0.0.1:${own}/health`, () => true);
    await run(`http://127.0.0.1:${own}`);
  } finally {
    await ended(child, "SIGQUIT");
    await rm(folder, { recursive: true, force: true });
  }
}

/** A browser opens six connections to one server, streams among them: so many browsers at once. */
const SESSIONS_A_BROWSER = 3;

async function inChromium(program: string, request: RaceRequest): Promise<RaceReport> {
  const browsers = Math.max(1, Math.floor(request.sessions / SESSIONS_A_BROWSER));
  const sessions = Math.min(SESSIONS_A_BROWSER, request.sessions);
  const part = { ...request, sessions, count: Math.ceil(request.count / browsers) };
  const reports = await Promise.all(
    Array.from({ length: browsers }, () => inOneBrowser(program, part)),
  );
  const sum = (pick: (report: RaceReport) => number) =>
    reports.reduce((total, report) => total + pick(report), 0);
  return { sent: sum((r) => r.sent), hung: sum((r) => r.hung), verdicts: sum((r) => r.verdicts) };
}

/** The SDK in a page of the server's own origin. */
async function inOneBrowser(program: string, request: RaceRequest): Promise<RaceReport> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-race-chromium-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"];
  const quiet = ["--disable-background-networking", "--disable-component-update"];
  const own = [`--user-data-dir=${folder}`, "--remote-debugging-port=0", `${request.url}/health`];
  const child = spawn(program, [...flags, ...quiet, ...own], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    const page = await devToolsPage(await devToolsPort(child), request.url);
    const sdk = await readFile(fileURLToPath(import.meta.resolve("@qwen-code/sdk/daemon")), "utf8");
    const load = `import(URL.createObjectURL(new Blob([${JSON.stringify(sdk)}],
      { type: "text/javascript" })))`;
    const expression = `${load}.then((sdk) => (${race})(sdk, ${JSON.stringify(request)}))`;
    return await evaluated(page, expression);
  } finally {
    await ended(child, "SIGKILL");
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function devToolsPort(child: ChildProcess): Promise<string> {
  let said = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    const [, port] = /ws:\/\/127\.0\.0\.1:(\d+)\//.exec(said) ?? [];
    if (port !== undefined) resolve(port);
  });
  child.once("exit", () => reject(new Error(`Chromium did not start: ${said}`)));
  return promise;
}

async function devToolsPage(port: string, url: string): Promise<WebSocket> {
  const isOurs = (page: JsonObject) => page.type === "page" && String(page.url).startsWith(url);
  const found = await answering(`http://127.0.0.1:${port}/json`, (list) => {
    return Array.isArray(list) ? list.filter(isObject).find(isOurs) : undefined;
  });
  const socket = new WebSocket(String(found.webSocketDebuggerUrl));
  await once(socket, "open");
  return socket;
}

/** Evaluates an expression in a page that has loaded: one that still loads forgets what it ran. */
async function evaluated(socket: WebSocket, expression: string): Promise<RaceReport> {
  for (let left = 100; left > 0; left -= 1) {
    const state = "location.pathname === '/health' && document.readyState === 'complete'";
    if ((await inPage(socket, state).catch(() => false)) === true) break;
    await pause(100);
  }
  const value = await inPage(socket, expression);
  if (!isReport(value)) throw new Error(`the page says: ${JSON.stringify(value).slice(0, 400)}`);
  return value;
}

async function inPage(socket: WebSocket, expression: string): Promise<unknown> {
  const id = Math.floor(performance.now() * 1_000);
  const params = { expression, awaitPromise: true, returnByValue: true };
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.id !== id) return;
    const value: unknown = message.result?.result?.value;
    if (value === undefined) reject(new Error(`the page says: ${String(data).slice(0, 400)}`));
    else resolve(value);
  });
  socket.addEventListener("close", () => reject(new Error("Chromium is gone")));
  socket.send(JSON.stringify({ id, method: "Runtime.evaluate", params }));
  return promise;
}

function isReport(value: unknown): value is RaceReport {
  return isObject(value) && typeof value.sent === "number";
}

/** Asks until the answer has what is looked for. */
async function answering<Found>(
  url: string,
  look: (body: unknown) => Found | undefined,
): Promise<Found> {
  for (let left = 100; left > 0; left -= 1) {
    const answer = await fetch(url).catch(() => null);
    const found = answer?.ok ? look(await answer.json()) : undefined;
    if (found !== undefined) return found;
    await pause(100);
  }
  throw new Error(`${url} does not answer`);
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

export function raceTable({ outcomes, absent }: Awaited<ReturnType<typeof races>>): string {
  const rows = outcomes.map(({ way, busyMs, sent, hung, verdicts }) => {
    const cells = [
      way.padEnd(10),
      `busy ${busyMs} ms`.padStart(12),
      `${sent} prompts`.padStart(15),
    ];
    return [...cells, `${hung} hung`.padStart(8), `${verdicts} verdicts`.padStart(16)].join("  ");
  });
  const left = absent.map((name) => `${name} is not installed: left out`);
  return `${[...rows, ...left].join("\n")}\n`;
}
