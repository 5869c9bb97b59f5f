import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseSessionId, type SessionId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { batchOf, frameOf, streamError } from "../../session/bus/frame.ts";
import { EPOCH, eventText, ids, LogWorld } from "../../session/bus/log.fixture.ts";
import { sessionUpdated, TenantStream } from "../../session/bus/tenant-stream.ts";
import { given } from "../../session/world.fixture.ts";
import { readStreamRequest } from "../route/transcripts.ts";
import type { ServerOptions } from "../settings.ts";
import { events, json, refused } from "./answer.ts";
import { batchBytes } from "./event-stream.ts";
import { type Route, route } from "./route.ts";
import {
  answering,
  bodyOf,
  closeServers,
  type ServerWorld,
  serve,
  UNDESCRIBED,
} from "./server.fixture.ts";
import type { ServerDeps } from "./server.ts";
import { StreamClient } from "./stream-client.fixture.ts";

let log: LogWorld;

beforeEach(async () => {
  log = await LogWorld.make();
});

afterEach(async () => {
  await closeServers();
  await log.clear();
});

/** The stream of the one log that there is, as a session's route would have it. */
function eventsRoute(): Route {
  return route({
    method: "GET",
    path: "/events",
    about: UNDESCRIBED,
    gate: "caller",
    needs: null,
    clientId: "ignored",
    body: "json",
    rate: "exempt",
    async handle(request) {
      const wish = readStreamRequest(request);
      return wish.ok ? events(log.subscribe(wish.value), EPOCH) : refused(wish.refusal);
    },
  });
}

function serveLog(options: Partial<ServerOptions> = {}, parts: Partial<ServerDeps> = {}) {
  return serve([eventsRoute()], options, parts);
}

describe("a stream", () => {
  it("sends its head at once, and says when to come again", async () => {
    const world = await serveLog();
    const { response, ...client } = await StreamClient.open(world, "/events");
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      connection: "keep-alive",
      "x-accel-buffering": "no",
      "x-qwen-event-epoch": EPOCH,
      "x-qwen-sse-stream-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(client.isOver).toBeNull();
  });

  it("sends frames as they are stored, after its first line", async () => {
    const world = await serveLog();
    const client = await StreamClient.open(world, "/events");
    await log.say(1, "hällo");
    await client.until(({ heard }) => heard.length === 1);
    const text = eventText(1, "hällo");
    expect(client.beginning).toBe(`retry: 3000\n\nid: 1\nevent: session_update\ndata: ${text}\n\n`);
  });

  it("P3: replays from the cursor of the client, and goes on", async () => {
    await log.say(5);
    const world = await serveLog();
    const headers = { "last-event-id": "2", "x-qwen-event-epoch": EPOCH };
    const client = await StreamClient.open(world, "/events", headers);
    await client.until(({ heard }) => heard.includes("replay_complete"));
    await log.say(1);
    await client.until(({ heard }) => heard.includes(6));
    expect(client.heard).toEqual([3, 4, 5, "replay_complete", 6]);
  });

  it.each([
    [{ "last-event-id": "nonsense" }, []],
    [{ "x-qwen-event-epoch": "another" }, []],
    [{ "last-event-id": "1", "x-qwen-event-epoch": "not/ok" }, [2, "replay_complete"]],
    [
      { "last-event-id": "1", "x-qwen-event-epoch": "another" },
      ["state_resync_required", 1, 2, "replay_complete"],
    ],
  ])("takes %j as the wire says", async (headers, before) => {
    await log.say(2);
    const world = await serveLog();
    const client = await StreamClient.open(world, "/events", { ...headers });
    await log.say(1);
    await client.until(({ heard }) => heard.includes(3));
    expect(client.heard).toEqual([...before, 3]);
  });

  it.each(["15", "2049", "x", ""])("with maxQueued=%s is not opened", async (maxQueued) => {
    const world = await serveLog();
    const answer = await world.ask(`/events?maxQueued=${maxQueued}`);
    expect(answer.status).toBe(400);
    expect(bodyOf(answer)).toMatchObject({ code: "invalid_max_queued", min: 16, max: 2_048 });
    expect(log.bus.subscriberCount).toBe(0);
  });

  it("ends with the terminal frame, and not with a broken connection", async () => {
    const world = await serveLog();
    const client = await StreamClient.open(world, "/events");
    await log.append(3);
    log.publish(3, 2);
    expect(await client.over()).toBe("ended");
    expect(client.heard).toEqual([1, 2]);
    expect(world.server.openStreamCount).toBe(0);
  });

  it("leaves its subscription when its client leaves, and nothing else changes", async () => {
    const world = await serveLog();
    const [one, other] = [
      await StreamClient.open(world, "/events"),
      await StreamClient.open(world, "/events"),
    ];
    expect(log.bus.subscriberCount).toBe(2);
    one.leave();
    await expect.poll(() => log.bus.subscriberCount).toBe(1);
    await log.say(1);
    await other.until(({ heard }) => heard.includes(1));
    expect(world.server.openStreamCount).toBe(1);
  });

  it("of which only the head was wanted holds no subscription", async () => {
    const world = await serveLog();
    expect(await world.ask("/events", { method: "HEAD" })).toMatchObject({ status: 200 });
    expect(log.bus.subscriberCount).toBe(0);
  });

  it("shows that it is alive while nothing happens, every 15 seconds", async () => {
    const clock = new ManualClock();
    const world = await serveLog({}, { clock });
    const client = await StreamClient.open(world, "/events");
    clock.advance(14_999);
    await log.say(1);
    await client.until(({ heard }) => heard.includes(1));
    expect(client.commentCount).toBe(0);
    clock.advance(1);
    await client.until(({ commentCount }) => commentCount === 1);
    clock.advance(30_000);
    await client.until(({ commentCount }) => commentCount === 3);
    expect(client.beginning.endsWith("\n\n: heartbeat\n\n")).toBe(true);
  });

  it("leaves no timer behind", async () => {
    const clock = new ManualClock();
    const world = await serveLog({}, { clock });
    const client = await StreamClient.open(world, "/events");
    client.leave();
    await expect.poll(() => world.server.openStreamCount).toBe(0);
    expect(clock.runningCount).toBe(0);
  });

  it("is told when the server stops, and ended", async () => {
    const world = await serveLog();
    const client = await StreamClient.open(world, "/events");
    await log.say(1);
    await world.server.close();
    expect(await client.over()).toBe("ended");
    expect(client.heard).toEqual([1, "stream_error"]);
    expect(client.frames[1]?.data.data).toMatchObject({ errorKind: "daemon_shutdown" });
  });

  it("that fails on our side says so, ends, and is logged", async () => {
    const source = {
      next: () => Promise.reject(new Error("no bus")),
      cancel: () => {},
      end: () => {},
    };
    const world = await serve([answering("/events", async () => events(source, null))]);
    const client = await StreamClient.open(world, "/events");
    expect(await client.over()).toBe("ended");
    expect(client.frames[0]?.data).toMatchObject({
      type: "stream_error",
      data: { error: "Internal server error" },
    });
    expect(world.logged.join()).toContain("no bus");
  });
});

describe("many streams of one session", () => {
  it("are sent the same bytes, which are made once", async () => {
    const batch = batchOf([1, 2].map((id) => frameOf({ id, text: eventText(id) })));
    expect(batchBytes(batch)).toBe(batchBytes(batch));
    expect(batchBytes(batch).content.toString()).toContain("id: 1\n");
    const world = await serveLog();
    const clients = await Promise.all(
      Array.from({ length: 8 }, () => StreamClient.open(world, "/events")),
    );
    await log.say(100);
    await log.say(100);
    for (const client of clients) await client.until(({ heard }) => heard.length === 200);
    for (const client of clients) expect(client.heard).toEqual(ids(1, 200));
  });
});

describe("the bytes of a stream", () => {
  it("P3: are none for a batch of none, where a chunk of none would end the stream", () => {
    expect(batchBytes(batchOf([])).httpChunk).toHaveLength(0);
  });

  const ask = ({ port }: ServerWorld, version: string, path = "/events") =>
    `GET ${path} HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\n\r\n`;

  /** What a bare socket is sent up to these words. */
  async function heardUntil(socket: Socket, words: string): Promise<string> {
    let heard = "";
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      heard += chunk;
      if (heard.includes(words)) break;
    }
    return heard;
  }

  it("are chunks of HTTP/1.1, one for what was published together", async () => {
    const world = await serveLog();
    const socket = world.socket();
    socket.write(ask(world, "1.1"));
    await heardUntil(socket, "retry: ");
    await log.say(2);
    const [size = "", body = ""] = (await heardUntil(socket, "id: 2\n")).split("\r\n");
    expect(Number.parseInt(size, 16)).toBe(Buffer.byteLength(body));
    expect(body).toMatch(/^id: 1\n.*id: 2\n.*\n\n$/s);
    socket.destroy();
  });

  it("are not, for a client of HTTP/1.0, which has no chunks", async () => {
    const world = await serveLog();
    const socket = world.socket();
    socket.write(ask(world, "1.0"));
    await heardUntil(socket, "retry: ");
    await log.say(1);
    expect(await heardUntil(socket, "id: 1\n")).toMatch(/^id: 1\nevent: /);
    socket.destroy();
  });

  it("come behind the answer to the request before it on the same connection", async () => {
    const held = Promise.withResolvers<void>();
    const slow = answering("/slow", async () => {
      await held.promise;
      return json(200, { slow: true });
    });
    const world = await serve([slow, eventsRoute()]);
    const socket = world.socket();
    socket.write(ask(world, "1.1", "/slow") + ask(world, "1.1"));
    await expect.poll(() => world.server.openStreamCount).toBe(1);
    await log.say(2);
    held.resolve();
    expect(await heardUntil(socket, "id: 2\n")).toMatch(/"slow":true.*retry: .*id: 1\n.*id: 2\n/s);
    await log.say(1);
    expect(await heardUntil(socket, "id: 3\n")).toContain("id: 3\n");
    socket.destroy();
  });
});

describe("the stream of a tenant's sessions", () => {
  it("goes through the same hands, without ids and without an epoch", async () => {
    const sessionId: SessionId = given(parseSessionId("s-1"));
    const stream = new TenantStream();
    const updated = sessionUpdated({ sessionId, state: { status: "ready" }, audience: null });
    const list = async () => ok({ sessions: [{ sessionId, updated }], nextCursor: null });
    const watch = answering("/sessions/events", async () => {
      const made = stream.subscribe(list, { userId: null, role: "owner" });
      return made.ok ? events(made.value, null) : refused(made.refusal);
    });
    const world = await serve([watch]);
    const client = await StreamClient.open(world, "/sessions/events");
    expect(client.response.headers["x-qwen-event-epoch"]).toBeUndefined();
    await client.until(({ heard }) => heard.includes("replay_complete"));
    stream.update({ sessionId, state: { status: "running" }, audience: null });
    await client.until(({ heard }) => heard.length === 3);
    stream.end(streamError("over", "daemon_shutdown"));
    expect(await client.over()).toBe("ended");
    expect(client.heard).toEqual([
      "session_updated",
      "replay_complete",
      "session_updated",
      "stream_error",
    ]);
    expect(stream.subscriberCount).toBe(0);
  });
});
