// Which source files one prompt passes through, by a real prompt at a real server.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Coverage } from "./coverage.ts";

/** As many prompts, each the first of its session: what not all of them passed was by the way. */
const PROMPTS = 3;

const PRICES = { agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } } };

const PATIENCE_MS = 60_000;

/**
 * The files below `src`, as paths relative to it, that have a function which runs in the server
 * between the request of a prompt and the arrival of its verdict at a client that follows the
 * session. The server has its SQLite store, users with tokens, a rate limit, and credits that are
 * granted: all that a prompt can meet on its way. The agent is `echo`, and its process not counted.
 */
export async function filesOfOnePrompt(root: string): Promise<readonly string[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-prompt-path-")));
  try {
    const src = pathToFileURL(join(realpathSync(root), "src/")).href;
    const urls = await urlsOfOnePrompt(new Installation(src, folder));
    const own = urls.filter((url) => url.startsWith(src));
    return own.map((url) => decodeURIComponent(url.slice(src.length))).sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function urlsOfOnePrompt(installation: Installation): Promise<readonly string[]> {
  const token = await installation.makeToken();
  const server = await installation.serve();
  try {
    const client = new Client(server.url, token);
    await client.post("/credits/limit", { limit: "granted" });
    await client.post("/credits/grants", { amountMicro: 1_000, id: "grant" });
    const coverage = await Coverage.attach(server.inspectorUrl);
    // All are made before: what comes after the making of one is not on the way of each prompt.
    const sessionIds: string[] = [];
    for (let made = 0; made < PROMPTS; made += 1) {
      const { sessionId } = await client.post("/session", { sessionScope: "thread" });
      sessionIds.push(String(sessionId));
    }
    let passed: readonly string[] | null = null;
    for (const sessionId of sessionIds) {
      const urls = await urlsOfPrompt(client, coverage, sessionId);
      passed = passed === null ? [...urls] : passed.filter((url) => urls.has(url));
    }
    coverage.close();
    return passed ?? [];
  } finally {
    await server.stop();
  }
}

async function urlsOfPrompt(
  client: Client,
  coverage: Coverage,
  sessionId: string,
): Promise<ReadonlySet<string>> {
  const events = await client.events(`/session/${sessionId}/events`);
  await coverage.take();
  const prompt = [{ type: "text", text: "hello" }];
  await client.post(`/session/${sessionId}/prompt`, { prompt });
  await events.until('"turn_complete"');
  const urls = await coverage.take();
  await events.close();
  return urls;
}

/** A version of Fermata, run from its sources, over a folder of its own. */
class Installation {
  readonly #src: string;
  readonly #folder: string;

  constructor(src: string, folder: string) {
    this.#src = src;
    this.#folder = folder;
    for (const name of ["data", "home", "workspace"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "prices.json"), JSON.stringify(PRICES));
    const main = [
      `import { main } from ${JSON.stringify(`${src}cli/main.ts`)};`,
      "process.exitCode = await main(process.argv.slice(2));",
    ];
    writeFileSync(join(folder, "main.mjs"), main.join("\n"));
  }

  async makeToken(): Promise<string> {
    const user = ["--user", "ada", "--role", "owner"];
    const child = this.#start([], ["tokens", "create", ...user, "--data", this.#path("data")]);
    const output = textOf(child);
    await once(child, "exit");
    const token = output.text.trim();
    if (child.exitCode !== 0 || token === "") throw new Error(`no token: ${output.errors}`);
    return token;
  }

  async serve() {
    const flags = [
      ...["--port", "0", "--data", this.#path("data"), "--workspace", this.#path("workspace")],
      ...["--agent", "echo", "--prices", this.#path("prices.json"), "--rate-limit"],
    ];
    const child = this.#start(["--inspect=127.0.0.1:0"], ["serve", ...flags]);
    const output = textOf(child);
    const url = await found(child, () => /listening on (http:\S+:\d+)/.exec(output.text));
    const inspectorUrl = await found(child, () => /(ws:\/\/\S+)/.exec(output.errors));
    const stop = async () => {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      child.kill("SIGINT"); // A second signal: without waiting for anything.
      await exit;
    };
    return { url, inspectorUrl, stop };
  }

  #start(nodeFlags: readonly string[], args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [...nodeFlags, this.#path("main.mjs"), ...args], {
      env: {
        PATH: process.env.PATH,
        FERMATA_HOME: this.#path("home"),
        FERMATA_RUN_DIR: this.#path("."),
      },
      cwd: fileURLToPath(new URL("..", this.#src)),
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

class Client {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  async post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const init = { method: "POST", body: JSON.stringify(body) };
    return JSON.parse(await (await this.#fetch(path, init)).text());
  }

  async events(path: string) {
    const { body } = await this.#fetch(path, {});
    if (body === null) throw new Error("a stream without a body");
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const until = async (words: string) => {
      for (let text = ""; !text.includes(words); ) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended before ${words}: ${text}`);
        text += value;
      }
    };
    return { until, close: () => reader.cancel() };
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(`${this.#url}${path}`, { ...init, headers, signal });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}

/** All that a process has written so far. */
function textOf({ stdout, stderr }: ChildProcess) {
  const output = { text: "", errors: "" };
  stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.text += text;
  });
  stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.errors += text;
  });
  return output;
}

/** Waits until the process has written what is looked for. */
async function found(child: ChildProcess, look: () => RegExpExecArray | null): Promise<string> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for (;;) {
    const [, text] = look() ?? [];
    if (text !== undefined) return text;
    if (child.exitCode !== null) throw new Error("the server has ended");
    const writes = [child.stdout, child.stderr].map(
      (stream) => stream && once(stream, "data", { signal }),
    );
    await Promise.race([...writes, once(child, "exit", { signal })]);
  }
}
