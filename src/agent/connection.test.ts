import { PassThrough, Writable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { AGENT_OUTBOX_BYTES_MAX, AGENT_REQUESTS_OPEN_CHARS_MAX } from "../core/limits.ts";
import {
  AgentConnection,
  type AgentMessageHandler,
  type CallOutcome,
  type Served,
} from "./connection.ts";
import { type FaultKind, FaultLog } from "./fault.ts";

/** A connection, with the agent's end of its pipes in our hands. */
function world(peer: Partial<AgentMessageHandler> = {}, input: Writable = new PassThrough()) {
  const output = new PassThrough();
  const faults: FaultKind[] = [];
  const whole: AgentMessageHandler = {
    notified: () => undefined,
    requested: answering({ result: {} }),
    ...peer,
  };
  const log = new FaultLog((kind) => faults.push(kind));
  const connection = new AgentConnection({ input, output }, whole, log);
  const say = (...messages: readonly object[]) =>
    output.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  return { connection, input, output, faults, say };
}

/** Serves every request alike. */
function answering(served: Served | Promise<Served>): AgentMessageHandler["requested"] {
  return () => ({ answer: Promise.resolve(served), capacity: undefined });
}

/** What was written to the agent so far. */
const written = (input: Writable) => String(input instanceof PassThrough ? input.read() : "");

/** Lets everything happen that only waits for its turn. */
const settled = () => new Promise((resolve) => process.nextTick(setImmediate, resolve));

afterEach(() => void vi.useRealTimers());

describe("a connection", () => {
  it("P5: tells all who wait that it is closed, once, whoever closes it", async () => {
    const { connection } = world();
    const replies: CallOutcome[] = [];
    connection.call("slow", {}, null, (reply) => replies.push(reply));
    connection.close();
    connection.close();
    await connection.ended;
    expect(replies).toEqual([{ kind: "closed" }]);
    const late = connection.call("later", {}, null, (reply) => replies.push(reply));
    expect(late).toMatchObject({ refusal: { code: "agent_gone" } });
    expect(connection.notify("later", {})).toMatchObject({ refusal: { code: "agent_gone" } });
    expect(replies).toHaveLength(1);
  });

  it("P5: can be closed while somebody keeps it from reading", async () => {
    const { connection, say } = world({ notified: () => new Promise(() => {}) });
    say({ method: "news" });
    await settled();
    connection.close();
    await connection.ended;
  });

  it("goes on where whoever listens fails, and says so", async () => {
    const heard: string[] = [];
    const { connection, output, faults, say } = world({
      notified: (method) => {
        heard.push(method);
        if (method === "a") throw new Error("no");
        return method === "b" ? Promise.reject(new Error("no")) : undefined;
      },
    });
    say({ method: "a" }, { method: "b" }, { method: "c" });
    output.end();
    await connection.ended;
    expect(heard).toEqual(["a", "b", "c"]);
    expect(faults).toEqual(["failed_listener"]);
  });

  it("answers a request even if whoever should serve it fails", async () => {
    const why = new Error("the disk is full");
    const broken = () => ({ answer: Promise.reject(why), capacity: undefined });
    const throwing = () => {
      throw why;
    };
    for (const requested of [broken, throwing]) {
      const { input, say } = world({ requested });
      say({ id: 7, method: "read" });
      await settled();
      expect(written(input)).toContain('"id":7,"error"');
    }
  });

  it("P10: a call's time stands still while nobody reads", async () => {
    vi.useFakeTimers();
    const free = Promise.withResolvers<void>();
    const { connection, say } = world({ notified: () => free.promise });
    const replies: CallOutcome[] = [];
    connection.call("before", {}, 1_000, (reply) => replies.push(reply));
    await vi.advanceTimersByTimeAsync(900);
    say({ method: "news" });
    await vi.advanceTimersByTimeAsync(0);
    connection.call("meanwhile", {}, 1_000, (reply) => replies.push(reply));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(replies).toEqual([]);
    free.resolve();
    await vi.advanceTimersByTimeAsync(99);
    expect(replies).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(replies).toEqual([{ kind: "timeout", limitMs: 1_000 }]);
    await vi.advanceTimersByTimeAsync(900);
    expect(replies).toHaveLength(2);
  });
});

describe("an agent that asks much", () => {
  it("P10: is not read any further while there is no capacity for what it wants", async () => {
    const free = Promise.withResolvers<void>();
    const heard: string[] = [];
    const { say } = world({
      notified: (method) => void heard.push(method),
      requested: () => ({ answer: new Promise(() => {}), capacity: free.promise }),
    });
    say({ id: 1, method: "read" }, { method: "news" });
    await settled();
    expect(heard).toEqual([]);
    free.resolve();
    await settled();
    expect(heard).toEqual(["news"]);
  });

  it("P10: is refused what would be too much together, however few requests it is", async () => {
    const slow = Promise.withResolvers<Served>();
    const { input, faults, say } = world({ requested: answering(slow.promise) });
    const content = "x".repeat(AGENT_REQUESTS_OPEN_CHARS_MAX / 2 - 1_000);
    const write = (id: number) => say({ id, method: "write", params: { content } });
    write(1);
    write(2);
    write(3);
    await expect.poll(() => faults).toEqual(["too_many_requests"]);
    expect(written(input)).toMatch(/^{[^{]*"id":3,"error"/);
    slow.resolve({ result: {} });
    await settled();
    write(4);
    await expect.poll(() => written(input)).toContain('"id":4,"result"');
  });
});

describe("an answer that comes too late", () => {
  it("is told to whoever has to undo what it speaks of, and to nobody else", async () => {
    vi.useFakeTimers();
    const { connection, faults, say } = world();
    const [replies, late]: [CallOutcome[], unknown[]] = [[], []];
    const settle = (reply: CallOutcome) => replies.push(reply);
    connection.call("make", {}, 10, settle, (result) => late.push(result));
    connection.call("list", {}, 10, settle);
    await vi.advanceTimersByTimeAsync(10);
    say({ id: 1, result: { made: "x" } }, { id: 1, result: { made: "x" } }, { id: 2, result: {} });
    await vi.advanceTimersByTimeAsync(0);
    expect(replies.map(({ kind }) => kind)).toEqual(["timeout", "timeout"]);
    expect(late).toEqual([{ made: "x" }]);
    expect(faults).toEqual(["unsolicited_answer"]);
  });
});

describe("an agent that does not read", () => {
  /** A pipe that takes everything and passes nothing on. */
  const stuck = () => new Writable({ write: () => {} });

  it("P10: gets an error where an answer does not fit, and it is counted", async () => {
    const large = "x".repeat(AGENT_OUTBOX_BYTES_MAX / 2);
    const { connection, faults, say } = world({ requested: answering({ result: large }) }, stuck());
    let isDeaf = false;
    void connection.inputClosed.then(() => {
      isDeaf = true;
    });
    say({ id: 1, method: "read" }, { id: 2, method: "read" });
    await settled();
    expect(faults).toEqual(["dropped_answer"]);
    expect(isDeaf).toBe(false);
    expect(connection.notify("more", { large })).toMatchObject({ refusal: { code: "agent_busy" } });
  });

  it("P10: is deaf once not even that fits", async () => {
    const full = "x".repeat(AGENT_OUTBOX_BYTES_MAX - 100);
    const { connection, say } = world({ requested: answering({ result: full }) }, stuck());
    say({ id: 1, method: "read" }, { id: 2, method: "read" });
    await connection.inputClosed;
  });

  it("P5: is deaf as soon as its input is broken", async () => {
    const { connection, input } = world();
    input.destroy(new Error("EPIPE"));
    await connection.inputClosed;
    expect(connection.notify("news", {})).toMatchObject({ refusal: { code: "agent_gone" } });
  });
});
