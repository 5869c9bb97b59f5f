import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { AgentListener, AgentSession, AgentTurn, ConnectRequest } from "../../agent/agent.ts";
import { VERDICT_HELD_MS_MAX } from "../../core/limits.ts";
import { DONE } from "../../core/result.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { PlayedAgents } from "../../session/played-agents.fixture.ts";
import { openMemoryStore } from "../../store/sample.fixture.ts";
import type { StreamClient } from "../http/stream-client.fixture.ts";
import { expectNoGap, heard, openWork, Work } from "./work.fixture.ts";

const PROMPTS = 200;

/** As many as may wait. */
const AT_ONCE = 5;

/** Agents that answer at once. */
class InstantAgents extends PlayedAgents {
  override connect(order: ConnectRequest, listener: AgentListener) {
    const prompt = ({ turnId }: AgentTurn) => {
      const done = { status: "turn_complete", turnId, stopReason: "end_turn" } as const;
      queueMicrotask(() => listener.status(done));
      return DONE;
    };
    const connected = (agent: AgentSession) => listener.connected(Object.assign(agent, { prompt }));
    return super.connect(order, { ...listener, connected });
  }
}

/** A session in which nothing takes any time, but what the clock says. */
async function instantWork(clock = new ManualClock()) {
  const world = { agents: new InstantAgents(), store: await openMemoryStore(), clock };
  const work = await Work.made(await openWork({ world, clock }), "ada", "bob");
  const [own, other] = [await streamOf(work, "ada"), await streamOf(work, "bob")];
  return { work, clock, own, other };
}

function streamOf(work: Work, clientId: string): Promise<StreamClient> {
  return work.stream({ "last-event-id": "0", "x-qwen-client-id": clientId });
}

const BODY = JSON.stringify({ prompt: [{ type: "text", text: "be quick" }] });

/** Sends a prompt as the SDK does. */
async function fetched(work: Work, headers: Record<string, string> = {}) {
  const response = await fetch(`${work.world.url}${work.path}/prompt`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-qwen-client-id": "ada", ...headers },
    body: BODY,
  });
  expect(response.status).toBe(202);
  const { promptId }: { promptId?: unknown } = Object(await response.json());
  return String(promptId);
}

/** A request for a prompt as bytes. */
function bytesOf({ path }: Work, version = "1.1", more = ""): string {
  const head = `POST ${path}/prompt HTTP/${version}\r\nhost: 127.0.0.1:PORT\r\n`;
  const kind = `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n`;
  return `${head}${kind}x-qwen-client-id: ada\r\n${more}\r\n${BODY}`;
}

/** A client of bare bytes, which ends nothing by itself. */
class RawClient {
  readonly socket: Socket;
  said = "";
  isEnded = false;
  #wake: () => void = () => {};

  constructor(work: Work, ...requests: readonly string[]) {
    const { port } = work.world;
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.on("data", (chunk) => {
      this.said += chunk;
      this.#wake();
    });
    this.socket.on("end", () => {
      this.isEnded = true;
      this.#wake();
    });
    this.socket.on("error", () => {});
    this.socket.write(requests.join("").replaceAll("PORT", `${port}`));
  }

  get accepted(): number {
    return this.said.split("HTTP/1.1 202").length - 1;
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const verdictsIn = ({ frames }: StreamClient) =>
  frames.filter(({ event }) => event === "turn_complete");

/** Waits until the server has nothing more to say to this stream for now. */
async function caughtUp(work: Work, stream: StreamClient) {
  const { lastEventId } = work.live;
  const probe = await work.stream({ "last-event-id": `${lastEventId}` });
  await probe.until(({ frames }) => frames.length > 0);
  probe.leave();
  return stream;
}

describe("the verdict of an instant agent, on a stream that is open already", () => {
  it("P3: never reaches its client before the 202 does", { timeout: 60_000 }, async () => {
    const { work, own } = await instantWork();
    const early: string[] = [];
    const race = async () => {
      const promptId = await fetched(work);
      if (verdictsIn(own).some(({ data }) => data.data.promptId === promptId)) early.push(promptId);
      return promptId;
    };
    for (let sent = 0; sent < PROMPTS; sent += AT_ONCE) {
      const five = await Promise.all(Array.from({ length: AT_ONCE }, race));
      for (const promptId of five) await heard(own, "turn_complete", promptId);
    }
    expect(early).toEqual([]);
    expect(verdictsIn(own)).toHaveLength(PROMPTS);
    expectNoGap(own.frames);
  });

  it("P10: reaches others at once, and a client that never ends its 202 after 5 s", async () => {
    const { work, clock, own, other } = await instantWork();
    const client = new RawClient(work, bytesOf(work));
    await client.until(() => client.accepted === 1);
    expect(client.said).toMatch(/^connection: close\r$/im);
    await heard(other, "turn_complete");
    await caughtUp(work, own);
    clock.advance(VERDICT_HELD_MS_MAX - 1);
    await caughtUp(work, own);
    expect(verdictsIn(own)).toEqual([]);
    expect(client.isEnded).toBe(false);
    clock.advance(1);
    await heard(own, "turn_complete");
    await client.until(() => client.isEnded);
    expectNoGap(own.frames);
    client.socket.destroy();
  });

  it.each([
    ["ends its side", (socket: Socket) => void socket.end()],
    ["closes", (socket: Socket) => void socket.destroy()],
    ["resets", (socket: Socket) => void socket.resetAndDestroy()],
  ])("comes when the client of the 202 %s the connection", async (_how, leave) => {
    const { work, own } = await instantWork();
    const client = new RawClient(work, bytesOf(work));
    await client.until(() => client.accepted === 1);
    await caughtUp(work, own);
    expect(verdictsIn(own)).toEqual([]);
    leave(client.socket);
    await heard(own, "turn_complete");
    client.socket.destroy();
  });

  it.each([
    ["a browser", { origin: "http://127.0.0.1:PORT" }],
    ["a browser", { "sec-fetch-site": "same-origin" }],
    ["a proxy", { via: "1.1 proxy" }],
    ["a proxy", { forwarded: "for=192.0.2.1" }],
    ["a proxy", { "x-forwarded-for": "192.0.2.1" }],
    ["a proxy", { "x-real-ip": "192.0.2.1" }],
  ])("P2: comes at once to %s that sends %j, and again without a number", async (_who, sent) => {
    const { work, clock, own, other } = await instantWork();
    const { port } = work.world;
    const headers = Object.fromEntries(
      Object.entries(sent).map(([name, text]) => [name, text.replace("PORT", `${port}`)]),
    );
    const { connection } = await posted(work, headers);
    expect(connection).toBe("keep-alive");
    await heard(own, "turn_complete");
    await caughtUp(work, own);
    clock.advance(VERDICT_HELD_MS_MAX);
    await own.until(() => verdictsIn(own).length > 1);
    expect(verdictsIn(own).slice(1)).toMatchObject([
      { id: null, data: { _meta: { repeated: true } } },
      { id: null },
      { id: null },
    ]);
    expectNoGap(own.frames);
    await caughtUp(work, other);
    expect(verdictsIn(other)).toHaveLength(1);
  });
});

/** Sends a prompt with any headers, on a connection that may be used again. */
function posted(work: Work, headers: Record<string, string>) {
  const { promise, resolve, reject } = Promise.withResolvers<{ connection: string | undefined }>();
  const { port } = work.world;
  const kind = { "content-type": "application/json", "x-qwen-client-id": "ada" };
  const options = {
    ...{ port, host: "127.0.0.1", path: `${work.path}/prompt`, method: "POST" },
    headers: { ...kind, connection: "keep-alive", ...headers },
  };
  const answered = (response: IncomingMessage) => {
    expect(response.statusCode).toBe(202);
    response.resume().on("end", () => resolve({ connection: response.headers.connection }));
  };
  httpRequest(options, answered).on("error", reject).end(BODY);
  return promise;
}

/** A client that leaves is noticed a moment later. */
async function untilStreams({ world }: Work, count: number) {
  while (world.server.openStreamCount !== count) await new Promise(setImmediate);
}

describe("the connection of a 202", () => {
  it("is kept if its client has no stream open", async () => {
    const { work, own } = await instantWork();
    own.leave();
    await untilStreams(work, 1);
    const client = new RawClient(work, bytesOf(work));
    await client.until(() => client.accepted === 1);
    client.socket.write(bytesOf(work).replaceAll("PORT", `${work.world.port}`));
    await client.until(() => client.accepted === 2);
    expect(client.said).not.toMatch(/^connection: close/im);
    client.socket.destroy();
  });

  it("P3: a client that ends its side with the request gets 202 and verdict", async () => {
    const { work, clock, own } = await instantWork();
    const client = new RawClient(work, bytesOf(work));
    client.socket.end();
    await client.until(() => client.isEnded);
    expect(client.accepted).toBe(1);
    await heard(own, "turn_complete");
    clock.advance(VERDICT_HELD_MS_MAX);
    await own.until(() => verdictsIn(own).length === 4);
  });

  it("is closed by the server for HTTP/1.0, and nothing is acknowledged by that", async () => {
    const { work, clock, own } = await instantWork();
    const client = new RawClient(work, bytesOf(work, "1.0"));
    await client.until(() => client.isEnded);
    expect(client.accepted).toBe(1);
    await heard(own, "turn_complete");
    clock.advance(VERDICT_HELD_MS_MAX);
    await own.until(() => verdictsIn(own).length === 4);
    client.socket.destroy();
  });

  it("answers requests that were sent without waiting, each once and in order", async () => {
    const { work, own } = await instantWork();
    const client = new RawClient(work, bytesOf(work), bytesOf(work), bytesOf(work));
    await client.until(() => client.accepted === 3);
    client.socket.destroy();
    await own.until(
      () => new Set(verdictsIn(own).map(({ data }) => data.data.promptId)).size === 3,
    );
  });

  it("takes no further request after a 202 that says it is the last", async () => {
    const { work } = await instantWork();
    const client = new RawClient(work, bytesOf(work));
    await client.until(() => client.accepted === 1);
    const { lastEventId } = work.live;
    client.socket.end(bytesOf(work).replaceAll("PORT", `${work.world.port}`));
    await client.until(() => client.isEnded);
    expect(client.accepted).toBe(1);
    expect(work.live.lastEventId).toBe(lastEventId);
  });
});
