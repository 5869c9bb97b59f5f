import { once } from "node:events";
import { request } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { json } from "./answer.ts";
import { Listener, type ListenerOptions } from "./listener.ts";
import { answering, closeServers, granted, serve } from "./server.fixture.ts";
import { SELF_SIGNED } from "./tls.fixture.ts";

afterEach(closeServers);

const OPTIONS: ListenerOptions = { hostname: "127.0.0.1", port: 0, maxConnections: 0, tls: null };

describe("a server that starts", () => {
  it.each(["127.0.0.1", "127.0.0.2", "localhost", "[::1]", "::1"])(
    "listens on a free port of %s",
    async (hostname) => {
      const listener = new Listener({ ...OPTIONS, hostname }, (_asked, answer) => answer.end("ok"));
      const { url, port } = granted(await listener.listen());
      expect(port).toBeGreaterThan(0);
      const answer = await fetch(url);
      expect(await answer.text()).toBe("ok");
      await listener.close();
    },
  );

  it("can be reached under the other loopback address that it has bound to", async () => {
    const world = await serve([], { hostname: "127.0.0.2" });
    expect((await fetch(`${world.url}/health`)).status).toBe(200);
  });

  it("says in a sentence why it cannot have its port", async () => {
    const first = new Listener(OPTIONS, () => {});
    const { port } = granted(await first.listen());
    const second = await new Listener({ ...OPTIONS, port }, () => {}).listen();
    expect(second).toMatchObject({
      ok: false,
      refusal: {
        code: "listen_failed",
        details: { address: `127.0.0.1:${port}`, reason: /in use; stop the other server/ },
      },
    });
    await first.close();
  });

  it("speaks TLS with the certificate that it is given", async () => {
    const world = await serve([], { tls: SELF_SIGNED });
    expect(world.url).toMatch(/^https:/);
    const asked = request(`${world.url}/health`, { rejectUnauthorized: false, agent: false }).end();
    const [answer] = await once(asked, "response");
    expect(await text(answer)).toBe('{"status":"ok"}');
  });

  it("refuses a certificate that is none", async () => {
    const tls = { cert: "no", key: "no" };
    expect(await new Listener({ ...OPTIONS, tls }, () => {}).listen()).toMatchObject({
      refusal: { code: "invalid_server_config", details: { path: "tls" } },
    });
  });
});

describe("P10: connections", () => {
  it("are only so many; for one more the longest idle one is closed", async () => {
    const world = await serve([], { maxConnections: 2 });
    const [first, second] = [world.socket(), world.socket()];
    for (const socket of [first, second]) {
      socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\n\r\n`);
      await once(socket, "data");
    }
    const ended = once(first.resume(), "end");
    expect(await world.ask("/health")).toMatchObject({ status: 200 });
    await ended;
    expect(second.readableEnded).toBe(false);
    second.destroy();
  });

  it("are cut when the head of their request takes too long", async () => {
    let count = 0;
    const listener = new Listener({ ...OPTIONS, headMs: 50 }, (_asked, answer) => {
      count += 1;
      answer.end();
    });
    const { port } = granted(await listener.listen());
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 408 /);
    expect(count).toBe(0);
    await listener.close();
  });

  it("are cut when the body of their request takes too long", async () => {
    const options = { ...OPTIONS, headMs: 50, requestMs: 100 };
    const listener = new Listener(options, (asked) => {
      asked.on("error", () => {}).resume();
    });
    const { port } = granted(await listener.listen());
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 408 /);
    await listener.close();
  });

  it("that send a head without end are refused", async () => {
    const world = await serve([]);
    const said = await world.speak(`GET /health HTTP/1.1\r\nX: ${"x".repeat(20_000)}`);
    expect(said).toMatch(/^HTTP\/1.1 431 /);
  });
});

describe("a server that closes", () => {
  it("takes in nobody, and lets what is at work finish", async () => {
    const { promise: asked, resolve: wasAsked } = Promise.withResolvers<void>();
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    const slow = answering("/slow", async () => {
      wasAsked();
      await done;
      return json(200, { done: true });
    });
    const world = await serve([slow], {}, { closeMs: 10_000 });
    const answer = world.ask("/slow");
    await asked;
    const closed = world.server.close();
    await expect(world.ask("/health")).rejects.toThrow("ECONNREFUSED");
    finish();
    expect(await answer).toMatchObject({ status: 200, text: '{"done":true}' });
    await closed;
  });

  it("closes a connection with the answer that it was waiting for", async () => {
    const { promise: asked, resolve: wasAsked } = Promise.withResolvers<void>();
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    const slow = answering("/slow", async () => {
      wasAsked();
      await done;
      return json(200, {});
    });
    const world = await serve([slow]);
    const said = world.speak(`GET /slow HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\n\r\n`);
    await asked;
    world.server.stopAccepting();
    finish();
    expect(await said).toContain("Connection: close");
  });

  it("does not wait for a handshake that never comes", async () => {
    const world = await serve([], { tls: SELF_SIGNED });
    const silent = world.socket();
    await once(silent, "connect");
    const ended = once(silent, "close");
    await world.server.close();
    await ended;
  });

  it("does not wait for ever", async () => {
    const { promise: asked, resolve: wasAsked } = Promise.withResolvers<void>();
    const endless = answering("/endless", () => {
      wasAsked();
      return new Promise(() => {});
    });
    const world = await serve([endless], {}, { closeMs: 20 });
    const answer = world.ask("/endless").catch((error: unknown) => String(error));
    await asked;
    await world.server.close();
    expect(await answer).toContain("socket hang up");
  });

  it("closes connections that are merely kept, and those that never spoke", async () => {
    const world = await serve([]);
    const silent = world.socket();
    await once(silent, "connect");
    expect((await fetch(`${world.url}/health`)).status).toBe(200);
    const ended = once(silent, "close");
    await world.server.close();
    await ended;
  });

  it("may be closed twice, and without having listened", async () => {
    const world = await serve([]);
    await Promise.all([world.server.close(), world.server.close()]);
    await world.server.close();
  });
});
