import { once } from "node:events";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { CONNECTIONS_EXTRA_MIN } from "../../core/limits.ts";
import { BY_NAME, headOf, type Sender, sendAs, socketFrom } from "./callers.fixture.ts";
import {
  ask,
  closeCrowd,
  guarded,
  idle,
  keep,
  MAX,
  passes,
  QUIET,
  ROUTES,
} from "./crowd.fixture.ts";
import { serve } from "./server.fixture.ts";
import { SELF_SIGNED } from "./tls.fixture.ts";

afterEach(closeCrowd);

describe("P10: connections without a request make room", () => {
  it("when they idle after an answer", async () => {
    const world = await guarded();
    for (let count = 0; count < 2 * MAX; count += 1) {
      const { status } = await ask(world, "GET /stream", { from: `127.0.1.${1 + (count % 4)}` });
      expect(status).toBe(401);
    }
    expect(world.server.connectionCount).toBeLessThanOrEqual(MAX);
    await passes(world);
  });

  it("when their heads do not end, and are told to come again", async () => {
    const world = await guarded();
    const slowly = await Promise.all(
      Array.from({ length: 3 * MAX }, async (_, at) => {
        const socket = await idle(world, `127.0.1.${1 + (at % 4)}`);
        socket.write("GET /health HTTP/1.1\r\nX-Slow: ");
        return socket;
      }),
    );
    await passes(world);
    expect(world.server.connectionCount).toBeLessThanOrEqual(MAX + CONNECTIONS_EXTRA_MIN);
    const [said] = await Promise.all(slowly.slice(0, 1).map((socket) => text(socket)));
    expect(said).toMatch(/^HTTP\/1.1 503 .*Retry-After: 5\r\n.*server_busy/s);
  });

  it("when they never ask, before those of clients that have", async () => {
    const options = { maxConnections: 2 * MAX };
    const world = await serve(ROUTES, options, { authenticator: BY_NAME });
    const quiet = await Promise.all(
      Array.from({ length: 8 }, () => ask(world, "POST /quick", QUIET)),
    );
    for (let count = 0; count < 4 * MAX; count += 1) await idle(world, "127.0.9.1");
    await passes(world);
    expect(quiet.map(({ socket }) => socket.readableEnded)).toEqual(quiet.map(() => false));
  });

  it("first those of the address that has the most", async () => {
    const world = await guarded();
    const quiet = await ask(world, "POST /quick", QUIET);
    expect(quiet.status).toBe(200);
    for (let count = 0; count < 2 * MAX; count += 1) {
      await ask(world, "GET /stream", { from: "127.0.1.1" });
    }
    expect(quiet.socket.readableEnded).toBe(false);
    quiet.socket.write(headOf(world, "POST /quick", QUIET));
    const [again] = await once(quiet.socket, "data");
    expect(String(again)).toMatch(/^HTTP\/1.1 200 /);
  });

  it("with TLS too, during the handshake and after it", async () => {
    const options = { maxConnections: 1, tls: SELF_SIGNED };
    const world = await serve(ROUTES, options, { authenticator: BY_NAME });
    const handshaking = await idle(world, "127.0.0.1");
    const tls = { port: world.port, host: "127.0.0.1", rejectUnauthorized: false };
    const idling = keep(connectTls(tls));
    await once(idling, "secureConnect");
    const said = text(idling);
    const gone = new Promise((resolve) => handshaking.once("close", resolve));
    for (let count = 0; count < CONNECTIONS_EXTRA_MIN + 1; count += 1) {
      const asking = keep(connectTls(tls));
      await once(asking, "secureConnect");
    }
    const asking = keep(connectTls(tls));
    asking.write(headOf(world, "GET /health", {}));
    expect(String(await once(asking, "data"))).toMatch(/^HTTP\/1.1 200 /);
    await gone;
    expect(await said).toMatch(/^HTTP\/1.1 503 /);
  });
});

describe("P10: connections with a request are shared", () => {
  it("so that a user has a quarter of the streams, and a tenant half", async () => {
    const world = await guarded();
    const opened = async (sender: Sender) => {
      const asked = Array.from({ length: MAX }, () => ask(world, "GET /stream", sender));
      return (await Promise.all(asked)).filter(({ status }) => status === 200).length;
    };
    expect(await opened({ token: "acme/ada", from: "127.0.1.1" })).toBe(MAX / 4);
    const refused = await sendAs(world, { token: "acme/ada" }, "GET", "/stream");
    expect(refused).toMatchObject({
      status: 429,
      headers: { "retry-after": "5" },
      body: { code: "share_exceeded", scope: "user", resource: "event streams" },
    });
    expect(await opened({ token: "acme/ann", from: "127.0.1.1" })).toBe(MAX / 4);
    expect(await opened({ token: "acme/abe", from: "127.0.1.1" })).toBe(0);
    expect(await sendAs(world, { token: "acme/abe" }, "POST", "/quick", "{}")).toMatchObject({
      status: 200,
    });
    await passes(world);
  });

  it("and given back when a stream ends", async () => {
    const world = await guarded();
    const ada = { token: "acme/ada" };
    const streams = [];
    for (let count = 0; count < MAX / 4; count += 1)
      streams.push(await ask(world, "GET /stream", ada));
    expect((await ask(world, "GET /stream", ada)).status).toBe(429);
    for (const { socket } of streams) socket.destroy();
    await expect.poll(async () => (await ask(world, "GET /stream", ada)).status).toBe(200);
  });

  it("so that a quiet tenant, the operator and /health pass beside many busy ones", async () => {
    const world = await guarded();
    const statuses: number[] = [];
    for (let count = 0; count < 3 * MAX; count += 1) {
      const at = 1 + (count % 8);
      const sender = { token: `t${at}/u${at}`, from: `127.0.1.${at}` };
      statuses.push((await ask(world, "GET /stream", sender)).status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(MAX);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    await passes(world);
  });

  it("and a request that finds none gets an answer, not a reset", async () => {
    const world = await guarded();
    for (let count = 0; count < MAX; count += 1) {
      const at = 1 + (count % 4);
      const socket = keep(socketFrom(world, `127.0.1.${at}`));
      socket.write(headOf(world, "GET /slow", { token: `t${at}/u${at}` }));
    }
    await expect.poll(() => world.server.openRequestCount).toBe(MAX);
    const asked = await sendAs(world, { token: "t1/u1" }, "POST", "/quick", "{}");
    expect(asked).toMatchObject({
      status: 503,
      headers: { "retry-after": "5", connection: "close" },
      body: { code: "server_busy" },
    });
    await passes(world);
  });
});

describe("one person without tokens", () => {
  it("has all of it: two SDKs with 64 streams each, and a browser with six tabs", async () => {
    const world = await serve(ROUTES);
    const streams = Array.from({ length: 2 * 64 + 6 }, () => ask(world, "GET /stream", {}));
    for (const { status } of await Promise.all(streams)) expect(status).toBe(200);
    const requests = Array.from({ length: 64 }, () => sendAs(world, {}, "POST", "/quick", "{}"));
    for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
    expect(world.server.openStreamCount).toBe(134);
  });
});

describe("P10: bodies of callers without a token", () => {
  it("hold few connections, however slowly they come, one by one and from anywhere", async () => {
    const world = await guarded();
    const announced = { "Content-Type": "application/json", "Content-Length": "100" };
    for (let sent = 0; sent < 4 * MAX + CONNECTIONS_EXTRA_MIN; sent += 1) {
      const socket = await idle(world, `127.0.3.${1 + (sent % 8)}`);
      socket.write(`${headOf(world, "POST /code", {}, announced)}{`);
      if (sent % MAX === 0) await passes(world);
    }
    await passes(world);
  });
});
