import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { WatchRequest } from "./stall-watcher.ts";
import { ChildScript, ServerHome, type ServerProcess } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";

/**
 * How long one request can hold all others: each attack is run against a real server, and the
 * longest delay of the server's event loop during it is printed, and the longest that a second
 * client waited for /health.
 */
export interface Stall {
  readonly attack: string;
  readonly act: string;
  /** Of the largest request. */
  readonly bytes: number;
  /** What the server answered, and how long it took; nothing waits for that but its sender. */
  readonly status: number;
  readonly ms: number;
  readonly longestDelayMs: number;
  /** The longest that a second client waited for /health meanwhile. */
  readonly healthMs: number;
}

const PROBE = new URL("stall-probe.ts", import.meta.url);

/** The goals: a small request holds the others hardly at all, a large one not noticeably. */
const SMALL_BYTES = 1_024 * 1_024;
const SMALL_GOAL_MS = 50;
const LARGE_GOAL_MS = 200;

interface StallScale {
  readonly server: WireScale["server"];
  /** Of the real sizes; a fraction is for the test that every attack still runs. */
  readonly share: number;
  /** Within this time comes a garbage collection that an attack has earned. */
  readonly aftermathMs: number;
}

export const STALL_FULL: StallScale = { server: "built", share: 1, aftermathMs: 100 };
export const STALL_TINY: StallScale = { server: "at hand", share: 0.002, aftermathMs: 10 };

interface Sent {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly clientId?: string;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

/** A server with a probe in it, and the requests of attacks. */
class Target {
  readonly #server: ServerProcess;
  readonly #aftermathMs: number;
  readonly #watcher = new ChildScript<WatchRequest, number>(
    new URL("stall-watcher.ts", import.meta.url),
  );

  constructor(server: ServerProcess, { aftermathMs }: StallScale) {
    this.#server = server;
    this.#aftermathMs = aftermathMs;
  }

  get port(): number {
    return this.#server.port;
  }

  /** Runs one act, and says how long the event loop of the server was held during it. */
  async measured(attack: string, act: string, bytes: number, run: () => Promise<number>) {
    await this.#watcher.request({ port: this.port });
    await this.#server.ask("how long?");
    const startedMs = performance.now();
    const status = await run();
    const ms = performance.now() - startedMs;
    await pause(this.#aftermathMs);
    const longestDelayMs = await this.#server.ask<number>("how long?");
    const healthMs = await this.#watcher.request({ port: null });
    return { attack, act, bytes, status, ms, longestDelayMs, healthMs } satisfies Stall;
  }

  async end(): Promise<void> {
    await this.#watcher.end();
    await this.#server.end("SIGTERM", "SIGINT");
  }

  async send({ method, path, body, clientId }: Sent): Promise<Answered> {
    const asked = request({
      ...{ port: this.port, host: "127.0.0.1", method, path, agent: false },
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(clientId !== undefined && { "x-qwen-client-id": clientId }),
      },
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // A refusal may come, and the connection close, before all of the body is sent.
    asked.on("response", resolve).on("error", reject).end(body);
    const response = await promise;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
  }

  async status(sent: Sent): Promise<number> {
    return (await this.send(sent)).status;
  }

  /** Sends a body in chunks of one byte each, and waits for the answer. */
  async trickle(path: string, chunks: number): Promise<number> {
    const socket = connect(this.port, "127.0.0.1").on("error", () => {});
    const head = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${this.port}`, "Connection: close"];
    const kind = ["Content-Type: application/json", "Transfer-Encoding: chunked", "", ""];
    socket.write([...head, ...kind].join("\r\n"));
    const block = Buffer.from("1\r\na\r\n".repeat(CHUNKS_A_WRITE));
    let answer = "";
    socket.setEncoding("latin1").on("data", (text: string) => {
      answer += text;
    });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const drained = () => new Promise((resolve) => socket.once("drain", resolve));
    for (let sent = 0; sent < chunks && answer === "" && socket.writable; sent += CHUNKS_A_WRITE) {
      if (!socket.write(block)) await Promise.race([drained(), closed]);
    }
    socket.end("0\r\n\r\n");
    await closed;
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
  }
}

const CHUNKS_A_WRITE = 10_000;

/** Runs of backticks of different lengths: no two of them close each other. */
function backticks(chars: number): string {
  const runs: string[] = [];
  for (let length = 1, sum = 0; sum < chars; length += 1) {
    runs.push("`".repeat(length), "a");
    sum += length + 1;
  }
  return runs.join("");
}

interface TextAttack {
  readonly name: string;
  readonly text: string;
}

function textAttacks(share: number): readonly TextAttack[] {
  const size = (chars: number) => Math.ceil(chars * share);
  return [
    ...[62_000, 246_000, 501_000, 2_000_000].map((chars) => ({
      name: `backticks, ${chars / 1_000} kB`,
      text: backticks(size(chars)),
    })),
    { name: "4 M newlines", text: `a${"\n".repeat(size(4_000_000))}b` },
    { name: "3 M [", text: "[".repeat(size(3_000_000)) },
    { name: "1 MB of words", text: "words ".repeat(size(170_000)) },
    { name: "9.9 MB of words", text: "words ".repeat(size(1_650_000)) },
    { name: "4.9 M quotes", text: '"'.repeat(size(4_900_000)) },
  ];
}

/** Runs all attacks, one after the other. */
export async function stalls(scale: StallScale): Promise<readonly Stall[]> {
  const { share } = scale;
  const home = new ServerHome(scale);
  await home.open();
  const probed = await home.startProbed(PROBE, "--agent", "echo-many");
  const target = new Target(probed, scale);
  try {
    const all = [await quiet(target)];
    for (const attack of textAttacks(share)) all.push(...(await byText(target, attack)));
    all.push(...(await byKeys(target, Math.ceil(600_000 * share))));
    const chunks = Math.ceil(1_000_000 * share);
    for (const path of ["/health", "/session"]) {
      const act = `POST ${path}`;
      const run = () => target.trickle(path, chunks);
      all.push(await target.measured("1 M chunks of one byte", act, chunks, run));
    }
    return all;
  } finally {
    await target.end();
    await home.close();
  }
}

/** What the loop of a server shows that has next to nothing to do, and what starting up costs. */
async function quiet(target: Target): Promise<Stall> {
  const created = await create(target);
  await prompted(target, created, promptBody("hello"));
  return target.measured("none", "prompt", 0, () =>
    prompted(target, created, promptBody("hello again")),
  );
}

async function create(target: Target) {
  const body = JSON.stringify({ sessionScope: "thread" });
  const { text } = await target.send({ method: "POST", path: "/session", body });
  const { sessionId, clientId } = JSON.parse(text);
  return { sessionId: String(sessionId), clientId: String(clientId) };
}

type Created = Awaited<ReturnType<typeof create>>;

const promptBody = (text: string) => JSON.stringify({ prompt: [{ type: "text", text }] });

/** Sends a prompt, and waits until the session rests again. */
async function prompted(target: Target, { sessionId, clientId }: Created, body: string) {
  const path = `/session/${sessionId}/prompt`;
  const status = await target.status({ method: "POST", path, body, clientId });
  for (;;) {
    const { text } = await target.send({ method: "GET", path: `/session/${sessionId}/status` });
    if (!/"(running|waiting|activating)"/.test(text)) return status;
    await pause(POLL_MS);
  }
}

const POLL_MS = 20;

async function byText(target: Target, { name, text }: TextAttack): Promise<readonly Stall[]> {
  return bySession(target, name, promptBody(text));
}

async function bySession(target: Target, name: string, body: string): Promise<readonly Stall[]> {
  const created = await create(target);
  const { length: bytes } = body;
  const { sessionId, clientId } = created;
  const measured = (act: string, run: () => Promise<number>) =>
    target.measured(name, act, bytes, run);
  const rows = [await measured("prompt", () => prompted(target, created, body))];
  const load = { method: "POST", path: `/session/${sessionId}/load`, body: "{}" } as const;
  rows.push(await measured("load", () => target.status({ ...load, clientId })));
  for (const format of ["md", "html", "json", "jsonl"]) {
    const path = `/session/${sessionId}/export?format=${format}`;
    const act = `export ${format}`;
    rows.push(await measured(act, () => target.status({ method: "GET", path, clientId })));
  }
  return rows;
}

/** A body with very many keys, of our own fields and for the agent. */
async function byKeys(target: Target, count: number): Promise<readonly Stall[]> {
  const keys = Array.from({ length: count }, (_, n) => `"key${n}":1`).join(",");
  const body = `{${keys}}`;
  const send = () => target.status({ method: "POST", path: "/session", body });
  const create = await target.measured("600,000 keys", "create", body.length, send);
  const meta = `{"prompt":[{"type":"text","text":"hello"}],"_meta":{${keys}}}`;
  return [create, ...(await bySession(target, "600,000 keys in _meta", meta))];
}

/** One aligned table, the goals at its end. */
export function stallTable(rows: readonly Stall[]): string {
  const cells = [
    ["attack", "act", "request", "answer", "took", "/health", "longest delay", "goal"],
    ...rows.map(({ attack, act, bytes, status, ms, healthMs, longestDelayMs }) => {
      const goal = goalMs(bytes);
      const size = `${(bytes / 1_024).toFixed(0)} KiB`;
      const isMet = longestDelayMs <= goal ? "" : "  missed";
      const times = [ms, healthMs, longestDelayMs, goal].map((each) => `${each.toFixed(0)} ms`);
      return [attack, act, size, `${status}`, ...times.slice(0, 3), `${times[3]}${isMet}`];
    }),
  ];
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const missed = rows.filter(({ bytes, longestDelayMs }) => longestDelayMs > goalMs(bytes));
  return `${lines.join("\n")}\n${missed.length} of ${rows.length} missed their goal\n`;
}

function goalMs(bytes: number): number {
  return bytes <= SMALL_BYTES ? SMALL_GOAL_MS : LARGE_GOAL_MS;
}
