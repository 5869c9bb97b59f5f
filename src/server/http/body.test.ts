import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  BODIES_HELD_BYTES_MAX,
  BODY_DROPPED_MS_MAX,
  BODY_NESTING_MAX,
  BODY_VALUES_MAX,
  BODY_YIELD_BYTES,
  JSON_BODY_BYTES_MAX,
} from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { json } from "./answer.ts";
import { BodyReader } from "./body.ts";
import { route } from "./route.ts";
import { bodyOf, closeServers, mirror, serve, UNDESCRIBED } from "./server.fixture.ts";

afterEach(closeServers);

const JSON_TYPE = { "content-type": "application/json" };
const ROUTES = [mirror({ path: "/mirror" }), mirror({ path: "/bytes", body: "bytes" })];

async function send(body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE) {
  const world = await serve(ROUTES);
  const answer = await world.ask("/mirror", { method: "POST", headers, body });
  return { status: answer.status, ...bodyOf(answer) };
}

const LOCAL_HOLDER = { address: "127.0.0.1", caller: null, isOperator: true };

const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

describe("a JSON body", () => {
  it.each([
    ["small", BODY_YIELD_BYTES / 2, false],
    ["large", BODY_YIELD_BYTES * 2, true],
  ])("P10: that is %s gives others a turn before it is handled: %i, %s", async (_, chars, isSo) => {
    const steps: string[] = [];
    const handled = route({
      method: "POST",
      path: "/handled",
      about: UNDESCRIBED,
      needs: null,
      handle: async () => {
        steps.push("handled");
        return json(200, {});
      },
    });
    const world = await serve([handled]);
    const { parse } = JSON;
    const parsing = vi.spyOn(JSON, "parse").mockImplementation((...args) => {
      setImmediate(() => steps.push("others"));
      return parse(...args);
    });
    const body = `{"a":"${"x".repeat(chars)}"}`;
    await world.ask("/handled", { method: "POST", headers: JSON_TYPE, body });
    parsing.mockRestore();
    expect(steps.indexOf("others") < steps.indexOf("handled")).toBe(isSo);
  });

  it.each([
    ["an object", '{"a":1}', { a: 1 }],
    ["an array", "[1,2]", {}],
    ["a scalar", "5", {}],
    ["nothing", "", {}],
    ["one with keys of another meaning", '{"__proto__":{"a":1},"b":2}', { b: 2 }],
  ])("that is %s arrives so", async (_what, text, body) => {
    expect(await send(text)).toMatchObject({ status: 200, body });
  });

  it.each(["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'])(
    "is one by the type %s",
    async (type) => {
      expect(await send('{"a":1}', { "content-type": type })).toMatchObject({ body: { a: 1 } });
    },
  );

  it.each([
    [
      "curl's own type",
      "application/x-www-form-urlencoded",
      "as application/x-www-form-urlencoded",
    ],
    ["another type", "Text/Plain; charset=utf-8", "as text/plain"],
    ["no type", "", "as no type at all"],
    ["an invented one", `x${"y".repeat(1_000)}`, "as something that is no type"],
  ])("is refused with %s, and told which one to send", async (_what, type, form) => {
    const headers = type === "" ? {} : { "content-type": type };
    expect(await send('{"a":1}', headers)).toMatchObject({
      status: 415,
      error: `The body came ${form}; send JSON, with -H 'Content-Type: application/json'.`,
      code: "unsupported_media",
    });
    expect(await send("", headers)).toMatchObject({ status: 200, body: {} });
  });

  it("that is broken is refused with the place, and repeats nothing of its texts", async () => {
    expect(await send('{\n  "password": "swordfish",\n}')).toEqual({
      status: 400,
      error:
        "Invalid JSON in request body: at line 3, column 1: " +
        'expected a name in double quotes, found "}".',
      code: "invalid_json",
      line: 3,
      column: 1,
      reason: expect.any(String),
    });
  });

  it("that is no UTF-8 is refused", async () => {
    expect(await send(new Uint8Array([0x7b, 0xff, 0x7d]))).toMatchObject({
      status: 400,
      error: "Invalid JSON in request body: it is no JSON in UTF-8.",
    });
  });

  it.each([
    ["that is compressed", { "content-encoding": "gzip" }, "as gzip"],
    [
      "in another character set",
      { "content-type": "application/json; charset=utf-16le" },
      "in utf-16le",
    ],
  ])("%s is refused, and told what to send", async (_what, headers, form) => {
    const body = gzipSync("{}");
    expect(await send(body, { ...JSON_TYPE, ...headers })).toMatchObject({
      status: 415,
      error: `The body came ${form}; send plain UTF-8.`,
      code: "unsupported_media",
    });
  });

  it("P10: may be nested only so deep", async () => {
    expect(await send(nested(BODY_NESTING_MAX))).toMatchObject({ status: 200 });
    expect(await send(nested(BODY_NESTING_MAX + 1))).toMatchObject({
      status: 400,
      code: "invalid_request",
      error: "The body is nested deeper than 256 levels",
    });
  });
});

describe("P10: the values of a body", () => {
  const keys = (count: number) =>
    `{"_meta":{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",")}}}`;

  it("are counted before it is parsed, and may be only so many", async () => {
    expect(await send(keys(BODY_VALUES_MAX - 2))).toMatchObject({ status: 200 });
    expect(await send(keys(600_000))).toMatchObject({
      status: 400,
      code: "invalid_request",
      error: "The body has more than 100000 values",
    });
  });

  it("are not what its texts have in them", async () => {
    const text = JSON.stringify({ text: ',[{"'.repeat(BODY_VALUES_MAX) });
    expect(await send(text)).toMatchObject({ status: 200 });
  });
});

describe("P10: the size of a body", () => {
  const text = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
  const TOO_LARGE = { status: 413, error: "Request body too large (max 10 MB)" };

  it("may be 10 MiB and no more, as announced", async () => {
    expect(await send(text(JSON_BODY_BYTES_MAX))).toMatchObject({ status: 200 });
    expect(await send(text(JSON_BODY_BYTES_MAX + 1))).toMatchObject(TOO_LARGE);
  });

  it("is counted where it was not announced", async () => {
    const headers = { ...JSON_TYPE, "transfer-encoding": "chunked" };
    expect(await send(text(JSON_BODY_BYTES_MAX + 1), headers)).toMatchObject(TOO_LARGE);
  });

  it("is refused when it is announced, and whoever sends it all the same is cut off", async () => {
    const clock = new ManualClock();
    const world = await serve(ROUTES, {}, { clock });
    const said = world.speak(
      `POST /mirror HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\n`,
      "Content-Type: application/json\r\nContent-Length: 20000000\r\n\r\n{",
    );
    await expect.poll(() => clock.running(BODY_DROPPED_MS_MAX)).toBe(1);
    clock.advance(BODY_DROPPED_MS_MAX);
    expect(await said).toMatch(/^HTTP\/1.1 413 /);
    expect(clock.runningCount).toBe(0);
  });

  it("of a raw one may be 8 MiB, whatever is in it", async () => {
    const world = await serve(ROUTES);
    const headers = { "content-type": "image/png" };
    const small = await world.ask("/bytes", { method: "POST", headers, body: "{\u0000" });
    expect(bodyOf(small)).toMatchObject({ text: "{\u0000", body: {} });
    const large = Buffer.alloc(8 * 1_024 * 1_024 + 1);
    const answer = await world.ask("/bytes", { method: "POST", headers, body: large });
    expect(answer.status).toBe(413);
    expect(bodyOf(answer)).toMatchObject({ error: "Request body too large (max 8 MB)" });
  });

  it("is bounded for all requests together, and the room is given back", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let heldCount = 0;
    const { promise: full, resolve: isFull } = Promise.withResolvers<void>();
    const bodiesMax = Math.floor(BODIES_HELD_BYTES_MAX / JSON_BODY_BYTES_MAX);
    const holding = route({
      method: "POST",
      path: "/hold",
      about: UNDESCRIBED,
      gate: "caller",
      needs: null,
      clientId: "ignored",
      body: "json",
      async handle() {
        heldCount += 1;
        if (heldCount === bodiesMax) isFull();
        await released;
        return json(200, {});
      },
    });
    const world = await serve([holding, ...ROUTES]);
    const question = { method: "POST", headers: JSON_TYPE, body: text(JSON_BODY_BYTES_MAX) };
    const held = Array.from({ length: bodiesMax }, () => world.ask("/hold", question));
    await full;
    const refused = await world.ask("/mirror", question);
    expect(refused.status).toBe(503);
    expect(bodyOf(refused)).toMatchObject({ code: "server_busy" });
    expect(refused.headers["retry-after"]).toBe("5");
    expect(await world.post("/mirror", { small: true })).toMatchObject({ status: 200 });
    release();
    await Promise.all(held);
    expect(await world.ask("/mirror", question)).toMatchObject({ status: 200 });
  });
});

describe("a body that lies about its length", () => {
  const head = (length: number) =>
    [
      "POST /mirror HTTP/1.1",
      "Host: 127.0.0.1:PORT",
      "Content-Type: application/json",
      `Content-Length: ${length}`,
      "",
      "",
    ].join("\r\n");

  it("and is longer is no request, and ends the connection", async () => {
    const world = await serve(ROUTES);
    const said = await world.speak(`${head(2).replace("PORT", `${world.port}`)}{}{"a":1}`);
    expect(said).toContain("HTTP/1.1 400 Bad Request");
    expect(said).not.toContain('"a":1');
  });

  it("or is gone before it was looked at reaches nobody", async () => {
    const desk = new BodyReader(new ManualClock());
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
    const server = createServer(resolve).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const socket = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
    socket.write(head(100));
    const incoming = await promise;
    incoming.on("error", () => {});
    socket.destroy();
    await new Promise<void>((closed) => incoming.once("close", () => closed()));
    const asked = desk.with(incoming, "json", LOCAL_HOLDER, async () => "asked");
    expect(await asked).toBeNull();
    server.close();
  });

  it("and never comes reaches no route, and harms nobody", async () => {
    let count = 0;
    const counting = mirror({ path: "/counted" });
    const world = await serve([
      route({
        ...counting,
        method: "POST",
        gate: "caller",
        needs: null,
        path: "/mirror",
        async handle() {
          count += 1;
          return json(200, {});
        },
      }),
    ]);
    const socket = world.socket();
    socket.write(`${head(100).replace("PORT", `${world.port}`)}{"a":`);
    await once(socket, "connect");
    socket.destroy();
    await once(socket, "close");
    expect(await world.ask("/health")).toMatchObject({ status: 200 });
    expect(count).toBe(0);
  });
});
