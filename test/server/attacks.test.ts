// Two tenants with stored tokens attack a real server at once, beside a quiet third one.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { BODY_CHUNKS_MAX } from "../../src/core/limits.ts";
import { ServeProcess } from "./serve.fixture.ts";

const ENTRY = fileURLToPath(new URL("entry.fixture.ts", import.meta.url));
const run = promisify(execFile);

const CONNECTIONS = 32;
const BODIES = 4;
/** Of the event loop: in the first a new socket begins to read, in the second it has read. */
const TURNS_TO_READ = 2;
const LARGE = Buffer.alloc(9 * 1_048_576, "x");

/** A user with a stored token, at an address of their own. */
class TokenUser {
  readonly #port: number;
  readonly #from: string;
  readonly #token: string;
  readonly #sockets: Socket[] = [];

  constructor(port: number, from: string, token: string) {
    this.#port = port;
    this.#from = from;
    this.#token = token;
    onTestFinished(() => {
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  /** On a connection of its own, which no one else can have closed. */
  async ask(method: string, path: string, body?: object) {
    const headers = { ...this.#headers(), "content-type": "application/json" };
    const place = { port: this.#port, host: "127.0.0.1", localAddress: this.#from };
    const sent = request({ ...place, method, path, headers, agent: false });
    sent.end(body && JSON.stringify(body));
    const [response] = await once(sent, "response");
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    return { status: response.statusCode, body: text === "" ? {} : JSON.parse(text) };
  }

  async session(): Promise<string> {
    const { status, body } = await this.ask("POST", "/session", { sessionScope: "thread" });
    expect(status).toBe(200);
    return `/session/${body.sessionId}`;
  }

  /**
   * Sends these bytes, and leaves the connection open; resolves with the status it is told. The
   * server may have had to make room, and have answered before the first byte: what is there is
   * read first, as Node loses it with a write that fails.
   */
  async attack(line: string, headers: Readonly<Record<string, string>>, body: Uint8Array | string) {
    const socket = connect({ port: this.#port, host: "127.0.0.1", localAddress: this.#from });
    this.#sockets.push(socket);
    const { promise, resolve } = Promise.withResolvers<string>();
    socket.once("data", (chunk) => resolve(String(chunk).slice(9, 12)));
    socket.once("error", (error) => resolve(error.message));
    socket.once("close", () => resolve("closed"));
    await new Promise((connected) => socket.once("connect", connected).once("close", connected));
    for (let turns = 0; turns < TURNS_TO_READ; turns += 1) await setImmediate();
    const all = Object.entries({ host: `127.0.0.1:${this.#port}`, ...this.#headers(), ...headers });
    const lines = all.map(([name, value]) => `${name}: ${value}`);
    socket.write([`${line} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
    await new Promise((written) => socket.write(body, written));
    return promise;
  }

  #headers(): Readonly<Record<string, string>> {
    return this.#token === "" ? {} : { authorization: `Bearer ${this.#token}` };
  }
}

async function opened() {
  const server = await ServeProcess.start({
    flags: [
      ...["--token", "the-operators-own", "--tenant-credits", "unlimited"],
      ...["--max-connections", `${CONNECTIONS}`],
    ],
  });
  onTestFinished(() => server.end());
  const user = async (tenant: string, from: string) => {
    const about = ["--user", "own", "--role", "owner", "--tenant", tenant, "--data", server.data];
    const { stdout } = await run(process.execPath, [ENTRY, "tokens", "create", ...about]);
    return new TokenUser(server.port, from, stdout.trim());
  };
  const stranger = new TokenUser(server.port, "127.0.5.1", "");
  const operator = new TokenUser(server.port, "127.0.6.1", "the-operators-own");
  return { server, user, stranger, operator };
}

/** Everything at once: streams, bodies that do not end, bodies of small chunks. */
function attacks(user: TokenUser, session: string) {
  const json = { "content-type": "application/json" };
  const whole = { ...json, "content-length": `${LARGE.length + 1}` };
  const chunked = { ...json, "transfer-encoding": "chunked" };
  const chunks = "1\r\nx\r\n".repeat(BODY_CHUNKS_MAX + 1);
  const streams = many(CONNECTIONS, () => user.attack(`GET ${session}/events`, {}, ""));
  const bodies = many(BODIES, () => user.attack(`POST ${session}/prompt`, whole, LARGE));
  const small = ["GET /health", `POST ${session}/prompt`].map((line) => {
    return user.attack(line, chunked, chunks);
  });
  return { streams, all: [...streams, ...bodies, ...small] };
}

function many<One>(count: number, make: () => One): readonly One[] {
  return Array.from({ length: count }, make);
}

describe("P10: attacks of two tenants at once", { timeout: 120_000 }, () => {
  it("leave a quiet third one its session, its stream and its turns", async () => {
    const { server, user, stranger, operator } = await opened();
    const [loud, rude, quiet] = await Promise.all([
      user("loud", "127.0.1.1"),
      user("rude", "127.0.2.1"),
      user("quiet", "127.0.3.1"),
    ]);
    const theirs = [await loud.session(), await rude.session()] as const;
    const told: string[] = [];
    const both = [attacks(loud, theirs[0]), attacks(rude, theirs[1])];
    const all = [
      ...both.flatMap((one) => one.all),
      ...many(CONNECTIONS, () => stranger.attack("GET /health", {}, "")),
    ];
    for (const one of all) void one.then((answer) => told.push(answer));
    // Each is answered, and no connection reset: but for the bodies that are held, which wait.
    await expect
      .poll(() => told.length, { timeout: 30_000 })
      .toBeGreaterThanOrEqual(all.length - 2 * BODIES);
    const session = await quiet.session();
    const stream = quiet.attack(`GET ${session}/events`, {}, "");
    expect(await stream).toBe("200");
    const prompt = [{ type: "text", text: "say all is well" }];
    const { status, body } = await quiet.ask("POST", `${session}/prompt`, { prompt });
    expect(status).toBe(202);
    await expect
      .poll(async () => (await quiet.ask("GET", `${session}/turns/${body.promptId}`)).body.state)
      .toBe("completed");
    expect((await operator.ask("GET", "/health?deep")).body.status).toBe("ok");
    expect(told.filter((one) => !/^(200|400|429|503)$/.test(one))).toEqual([]);
    for (const { streams } of both) {
      const open = (await Promise.all(streams)).filter((one) => one === "200");
      expect(open.length).toBeGreaterThan(0);
      expect(open.length).toBeLessThanOrEqual(CONNECTIONS / 4);
    }
    expect(server.said).not.toContain("request failed");
  });
});
