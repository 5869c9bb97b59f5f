import { once } from "node:events";
import { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  BODIES_HELD_BYTES_MAX,
  BODIES_RESERVED_BYTES,
  BODY_CHUNK_BYTES_MIN,
  BODY_CHUNKS_MAX,
  BODY_DROPPED_MS_MAX,
  BODY_PACE_BYTES_MIN,
  BODY_PACE_MS,
  BODY_SMALL_BYTES_MAX,
  BODY_TURN_CHUNKS_MAX,
} from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { json } from "./answer.ts";
import { BY_NAME, headOf, type Sender, sendAs, socketFrom } from "./callers.fixture.ts";
import { route } from "./route.ts";
import { closeServers, mirror, type ServerWorld, serve, UNDESCRIBED } from "./server.fixture.ts";

const open: Socket[] = [];

afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await closeServers();
});

const MIB = 1_048_576;
const FILLING = Buffer.alloc(9 * MIB, "x");
const JSON_TYPE = { "Content-Type": "application/json" };

/** Takes what it gets. */
const sink = route({
  method: "POST",
  path: "/sink",
  about: UNDESCRIBED,
  needs: null,
  handle: async () => json(200, {}),
});
const owners = route({
  method: "POST",
  path: "/owners",
  about: UNDESCRIBED,
  needs: "members:write",
  handle: async () => json(200, {}),
});

/** Sends so much of a body that says it is one byte longer, and leaves it there. */
async function hold(world: ServerWorld, sender: Sender, bytes: number): Promise<Socket> {
  const socket = socketFrom(world, sender.from);
  open.push(socket);
  const length = { ...JSON_TYPE, "Content-Length": `${bytes + 1}` };
  socket.write(headOf(world, "POST /sink", sender, length));
  socket.on("error", () => {});
  await new Promise((written) => socket.write(FILLING.subarray(0, bytes), written));
  return socket;
}

/** What the server says to a socket first. */
async function answerTo(socket: Socket): Promise<string> {
  const [chunk] = await once(socket, "data");
  return String(chunk);
}

describe("P10: a body is read only where it is wanted", () => {
  it.each([
    ["of a route that wants none", "GET /health", {}, "200"],
    ["of a caller that is not known", "POST /sink", {}, "401"],
    ["of a caller without the role", "POST /owners", { token: "acme/ada" }, "403"],
    ["for a path that is not there", "POST /nothing", { token: "acme/ada" }, "404"],
    ["for another method", "PUT /sink", { token: "acme/ada" }, "405"],
  ])("and none %s is", async (_what, line, sender, status) => {
    const world = await serve([sink, owners], {}, { authenticator: BY_NAME });
    const socket = socketFrom(world);
    open.push(socket);
    const length = { ...JSON_TYPE, "Content-Length": `${9 * MIB}` };
    socket.write(headOf(world, line, sender, length));
    socket.write("{");
    // The body never comes, and the answer does.
    expect(await answerTo(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(world.server.heldBodyBytes).toBe(0);
  });

  it("and what comes of another is dropped, for a while", async () => {
    const clock = new ManualClock();
    const world = await serve([sink], {}, { authenticator: BY_NAME, clock });
    const socket = socketFrom(world).on("error", () => {});
    open.push(socket);
    const chunked = { ...JSON_TYPE, "Transfer-Encoding": "chunked" };
    socket.write(headOf(world, "GET /health", {}, chunked));
    const answer = answerTo(socket);
    socket.write("1\r\nx\r\n".repeat(50_000));
    await expect.poll(() => clock.running(BODY_DROPPED_MS_MAX)).toBe(1);
    expect(world.server.heldBodyBytes).toBe(0);
    expect(await answer).toMatch(/^HTTP\/1.1 200 /);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    clock.advance(BODY_DROPPED_MS_MAX);
    await closed;
    expect(clock.runningCount).toBe(0);
  });
});

describe("P10: a body in small chunks", () => {
  const chunked = { ...JSON_TYPE, "Transfer-Encoding": "chunked" };

  it("is charged for what its chunks cost, unless it is small, and comes whole", async () => {
    const world = await serve([mirror({ path: "/mirror" })]);
    const text = JSON.stringify({ a: "x".repeat(BODY_SMALL_BYTES_MAX) });
    const socket = socketFrom(world);
    open.push(socket);
    socket.write(headOf(world, "POST /mirror", {}, chunked));
    const small = text.slice(0, BODY_SMALL_BYTES_MAX);
    socket.write(
      `1\r\n${small.at(0)}\r\n${(small.length - 1).toString(16)}\r\n${small.slice(1)}\r\n`,
    );
    await expect.poll(() => world.server.heldBodyBytes).toBe(BODY_SMALL_BYTES_MAX);
    const rest = text.slice(BODY_SMALL_BYTES_MAX);
    for (const char of rest) socket.write(`1\r\n${char}\r\n`);
    const charged = BODY_SMALL_BYTES_MAX + rest.length * BODY_CHUNK_BYTES_MIN;
    await expect.poll(() => world.server.heldBodyBytes).toBe(charged);
    const answer = answerTo(socket);
    socket.write("0\r\n\r\n");
    expect(await answer).toMatch(/^HTTP\/1.1 200 .*"a":"xxx/s);
    await expect.poll(() => world.server.heldBodyBytes).toBe(0);
  });

  it("may have only so many", async () => {
    const world = await serve([sink]);
    const said = socketFrom(world);
    open.push(said);
    said.write(headOf(world, "POST /sink", {}, chunked));
    said.write("1\r\nx\r\n".repeat(BODY_CHUNKS_MAX + 1));
    const answer = await answerTo(said);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain("more than 65536 chunks");
    await expect.poll(() => world.server.heldBodyBytes).toBe(0);
  });

  it.each([
    ["received", "/sink"],
    ["dropped", "/nothing"],
  ])("give others a turn after each read of the socket, while they are %s", async (_how, path) => {
    const world = await serve([sink]);
    const turns = new ChunksByTurn();
    const said = socketFrom(world);
    open.push(said);
    said.write(headOf(world, `POST ${path}`, {}, chunked));
    const answer = answerTo(said);
    said.write(ONE_BYTE.repeat(CHUNKS));
    said.write("0\r\n\r\n");
    await answer;
    await expect.poll(() => turns.chunkCount).toBe(CHUNKS);
    turns.end();
    expect(turns.most).toBeLessThanOrEqual(CHUNKS_A_READ + BODY_TURN_CHUNKS_MAX);
  });
});

const ONE_BYTE = "1\r\nx\r\n";
const CHUNKS = 60_000;

/** Node reads 64 KiB at a time. */
const CHUNKS_A_READ = Math.ceil((64 * 1_024) / ONE_BYTE.length);

/** Counts how many chunks of bodies come in one turn of the event loop. */
class ChunksByTurn {
  readonly #push = vi.spyOn(IncomingMessage.prototype, "push");
  #now = 0;
  most = 0;
  chunkCount = 0;

  constructor() {
    const { push } = Readable.prototype;
    const count = () => {
      if (this.#now === 0) setImmediate(() => (this.#now = 0));
      this.#now += 1;
      this.chunkCount += 1;
      this.most = Math.max(this.most, this.#now);
    };
    this.#push.mockImplementation(function (this: Readable, chunk, ...more) {
      if (Buffer.isBuffer(chunk) && chunk.length === 1) count();
      return push.call(this, chunk, ...more);
    });
  }

  end() {
    this.#push.mockRestore();
  }
}

describe("P10: the memory for bodies has shares", () => {
  const POT = BODIES_HELD_BYTES_MAX - BODIES_RESERVED_BYTES;
  const LARGE = 9 * MIB;
  const large = `"${"x".repeat(LARGE)}"`;

  it("so that 27 sockets of one user leave most of it to others", async () => {
    const world = await serve([sink], {}, { authenticator: BY_NAME });
    const ada = { token: "acme/ada", from: "127.0.0.2" };
    const held = await Promise.all(Array.from({ length: 27 }, () => hold(world, ada, LARGE)));
    const said = held.map((socket) => answerTo(socket).catch(() => ""));
    expect(await Promise.race(said)).toMatch(
      /^HTTP\/1.1 429 .*Retry-After: 5\r\n.*share_exceeded/s,
    );
    expect(world.server.heldBodyBytes).toBeLessThanOrEqual(POT / 8);
    const bob = { token: "bee/bob", from: "127.0.0.3" };
    expect(await sendAs(world, bob, "POST", "/sink", large)).toMatchObject({ status: 200 });
    // Another user of the same tenant too.
    const ann = { token: "acme/ann", from: "127.0.0.4" };
    expect(await sendAs(world, ann, "POST", "/sink", large)).toMatchObject({ status: 200 });
  });

  it("so that however many tenants use theirs, a quiet one finds one", async () => {
    const world = await serve([sink], {}, { authenticator: BY_NAME });
    // Their shares together are more than there is.
    for (let at = 1; at <= 10; at += 1) {
      const sender = { token: `t${at}/u${at}`, from: `127.0.1.${at}` };
      await Promise.all(Array.from({ length: 3 }, () => hold(world, sender, LARGE)));
    }
    const quiet = { token: "quiet/q", from: "127.0.2.1" };
    expect(await sendAs(world, quiet, "POST", "/sink", large)).toMatchObject({ status: 200 });
    expect(world.server.heldBodyBytes).toBeGreaterThan(POT / 4);
  });

  it("and a small body passes where the share is used up", async () => {
    // What is held is not too slow, however slow the machine is.
    const world = await serve([sink], {}, { authenticator: BY_NAME, clock: new ManualClock() });
    const ada = { token: "acme/ada" };
    for (let count = 0; count < 7; count += 1) await hold(world, ada, LARGE);
    // Before the share is full, one that is sent beside them could take the place of one of them.
    await expect.poll(() => world.server.heldBodyBytes).toBeGreaterThan(POT / 8 - LARGE);
    expect(await sendAs(world, ada, "POST", "/sink", large)).toMatchObject({
      status: 429,
      body: { scope: "user", resource: "memory for bodies" },
    });
    const small = `"${"x".repeat(BODY_SMALL_BYTES_MAX - 2)}"`;
    expect(await sendAs(world, ada, "POST", "/sink", small)).toMatchObject({ status: 200 });
    // The operator has no share: more than a quarter of it is not too much.
    const operator = { token: "operator" };
    for (let count = 0; count < 7; count += 1) await hold(world, operator, LARGE);
    expect(await sendAs(world, operator, "POST", "/sink", large)).toMatchObject({ status: 200 });
  });
});

describe("P10: a body that is sent too slowly", () => {
  it("is refused with an answer, and its memory released", async () => {
    const clock = new ManualClock();
    const world = await serve([sink], {}, { authenticator: BY_NAME, clock });
    const socket = await hold(world, { token: "acme/ada" }, BODY_PACE_BYTES_MIN);
    await expect.poll(() => world.server.heldBodyBytes).toBeGreaterThanOrEqual(BODY_PACE_BYTES_MIN);
    clock.advance(BODY_PACE_MS);
    expect(clock.running(BODY_PACE_MS)).toBe(1);
    const answer = answerTo(socket);
    clock.advance(BODY_PACE_MS);
    expect(await answer).toMatch(/^HTTP\/1.1 408 .*body_too_slow/s);
    await expect.poll(() => world.server.heldBodyBytes).toBe(0);
  });
});
