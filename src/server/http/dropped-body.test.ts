// Clients that send their whole body before they read the answer, as most do. The system resets a
// connection that is closed with unread bytes, and then the answer is lost.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import {
  BODY_DROPPED_MS_MAX,
  CONNECTIONS_EXTRA_MIN,
  SOCKET_LINGER_MS,
  STARTING_WAIT_MS_MAX,
} from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { readServerSettings } from "../settings.ts";
import { BY_NAME, headOf, socketFrom } from "./callers.fixture.ts";
import { closeCrowd, guarded, idle, keep, MAX, ROUTES } from "./crowd.fixture.ts";
import { EarlyListener } from "./early-listener.ts";
import { granted, mirror, type ServerWorld, serve } from "./server.fixture.ts";

afterEach(closeCrowd);

/** More than the buffers of a connection hold. */
const LARGE = Buffer.alloc(9 * 1_048_576, "x");

const ADA = { token: "acme/ada", from: "127.0.1.1" };
const TYPE = { "Content-Type": "application/json" };
const LENGTH = { "Content-Length": `${LARGE.length}` };

/** A client that reads nothing before it has sent everything. */
async function sender(world: Pick<ServerWorld, "port">, head: string): Promise<Socket> {
  const socket = keep(connect({ port: world.port, host: "127.0.0.1", allowHalfOpen: true }));
  socket.pause();
  await once(socket, "connect");
  socket.write(head);
  return socket;
}

/** Sends the body, and then reads all that the server says until it ends the connection. */
async function sendAndRead(socket: Socket): Promise<string> {
  const error = await new Promise((sent) => socket.write(LARGE, sent));
  expect(error ?? null).toBeNull();
  return text(socket);
}

/** All requests have their answers. */
const answered = (world: ServerWorld) => expect.poll(() => world.server.openRequestCount).toBe(0);

describe("a client that sends its whole body before it reads", () => {
  it.each([
    ["is no JSON", { "Content-Type": "text/plain" }, 415],
    ["is too large", { ...TYPE, "Content-Length": "11000000" }, 413],
  ] as const)(
    "gets the answer where its body %s, and it wanted to be last",
    async (_, own, status) => {
      const world = await serve([mirror({ path: "/mirror" })]);
      const headers = { ...LENGTH, ...own, Connection: "close" };
      const socket = await sender(world, headOf(world, "POST /mirror", {}, headers));
      await answered(world);
      if (status === 413) socket.write(Buffer.alloc(11_000_000 - LARGE.length, "x"));
      expect(await sendAndRead(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\\}$`, "s"));
    },
  );

  it("P10: gets it where its share of the connections is used up", async () => {
    const world = await guarded();
    for (let count = 0; count < MAX; count += 1) {
      const at = 1 + (count % 4);
      const busy = keep(socketFrom(world, `127.0.1.${at}`));
      busy.write(headOf(world, "GET /slow", { token: `t${at}/u${at}` }));
    }
    await expect.poll(() => world.server.openRequestCount).toBe(MAX);
    const head = headOf(world, "POST /quick", { token: "t1/u1" }, { ...TYPE, ...LENGTH });
    const socket = await sender(world, head);
    await expect.poll(() => world.logged.filter((line) => line.includes("503"))).toHaveLength(1);
    expect(await sendAndRead(socket)).toMatch(/^HTTP\/1.1 503 .*server_busy.*\}$/s);
  });

  it("P10: gets it where its connection had made room before it asked", async () => {
    const clock = new ManualClock();
    const options = { maxConnections: MAX };
    const world = await serve(ROUTES, options, { authenticator: BY_NAME, clock });
    const socket = await sender(world, "");
    for (let count = 0; count < MAX + CONNECTIONS_EXTRA_MIN; count += 1) {
      await idle(world, "127.0.0.1");
    }
    await expect.poll(() => clock.running(SOCKET_LINGER_MS)).toBeGreaterThan(0);
    socket.write(headOf(world, "POST /quick", ADA, { ...TYPE, ...LENGTH }));
    const error = await new Promise((sent) => socket.write(LARGE, sent));
    expect(error ?? null).toBeNull();
    clock.advance(SOCKET_LINGER_MS);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 503 .*server_busy.*\}$/s);
  });

  it("P10: gets it where the server took too long to start", async () => {
    const clock = new ManualClock();
    const settings = granted(readServerSettings({ workspaces: ["/a/workspace"], port: 0 }));
    const early = new EarlyListener(settings, clock);
    const world = granted(await early.listen());
    onTestFinished(() => early.close());
    const length = `Content-Length: ${LARGE.length}`;
    const socket = await sender(world, `POST / HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n`);
    await expect.poll(() => clock.running(STARTING_WAIT_MS_MAX)).toBe(1);
    clock.advance(STARTING_WAIT_MS_MAX);
    expect(await sendAndRead(socket)).toMatch(/^HTTP\/1.1 503 .*server_starting.*\}$/s);
  });

  it("P5: leaves nothing behind that a server which stops would wait for", async () => {
    const clock = new ManualClock();
    const world = await serve([mirror({ path: "/mirror" })], {}, { clock });
    const headers = { ...LENGTH, "Content-Type": "text/plain" };
    const socket = await sender(world, headOf(world, "POST /mirror", {}, headers));
    await expect.poll(() => clock.running(BODY_DROPPED_MS_MAX)).toBe(1);
    socket.destroy();
    await expect.poll(() => clock.runningCount).toBe(0);
  });

  it("P10: is cut off if it does not come to an end", async () => {
    const clock = new ManualClock();
    const world = await serve([mirror({ path: "/mirror" })], {}, { clock });
    const headers = { ...LENGTH, "Content-Type": "text/plain", Connection: "close" };
    const socket = await sender(world, headOf(world, "POST /mirror", {}, headers));
    await answered(world);
    socket.write("x");
    await expect.poll(() => clock.running(BODY_DROPPED_MS_MAX)).toBe(1);
    clock.advance(BODY_DROPPED_MS_MAX);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 415 /);
    await expect.poll(() => world.server.connectionCount).toBe(0);
    expect(clock.runningCount).toBe(0);
  });
});
