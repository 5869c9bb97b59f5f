import { describe, expect, it } from "vitest";
import { AGENT_FAILURES_MAX, MCP_CALLS_OPEN_MAX } from "../../core/limits.ts";
import { FOREVER } from "../workspace.fixture.ts";
import {
  DEFAULT_MCP_TIMEOUTS,
  type McpConnection,
  McpFault,
  McpLink,
  type McpListener,
} from "./link.ts";
import { type CallResult, readTool } from "./tools.ts";

const TOOL = readTool({ name: "t" }) ?? expect.fail();
const DONE: CallResult = { content: [] };

/** A connection on which calls are answered when the test says so. */
class PlayedConnection implements McpConnection {
  readonly listener: McpListener;
  readonly calls: PromiseWithResolvers<CallResult>[] = [];
  lists = 0;
  isClosed = false;
  /** What happens while it tells its tools. */
  meanwhile = () => {};

  constructor(listener: McpListener) {
    this.listener = listener;
  }

  async tools() {
    this.lists += 1;
    this.meanwhile();
    return [TOOL];
  }

  call() {
    const call = Promise.withResolvers<CallResult>();
    this.calls.push(call);
    return call.promise;
  }

  async close() {
    this.isClosed = true;
  }
}

/** A link whose tries to connect come to what the test says. */
function play(dial: (tries: number) => Promise<void> = async () => {}) {
  const connections: PlayedConnection[] = [];
  const problems: string[] = [];
  let tries = 0;
  const link = new McpLink({
    name: "s",
    timeouts: DEFAULT_MCP_TIMEOUTS,
    readable: (text) => text.replaceAll("secret", "[redacted]"),
    onProblem: (reason) => void problems.push(reason),
    connect: async (listener) => {
      tries += 1;
      await dial(tries);
      const connection = new PlayedConnection(listener);
      connections.push(connection);
      return connection;
    },
  });
  const call = () => link.call("t", {}, FOREVER);
  return { link, connections, problems, call, tries: () => tries };
}

/** The connection of this number, once so many calls are open on it. */
async function busy(connections: readonly PlayedConnection[], at: number, count: number) {
  await expect.poll(() => connections[at]?.calls).toHaveLength(count);
  return connections[at] ?? expect.fail();
}

describe("the link to an MCP server", () => {
  it("shares one connection among all who come at the same time", async () => {
    const { link, tries } = play();
    await Promise.all([link.tools(), link.tools(), link.offered()]);
    expect(tries()).toBe(1);
  });

  it("asks for the tools again if they changed while they were being told", async () => {
    const { link, connections } = play();
    await link.tools();
    const [connection = expect.fail()] = connections;
    connection.listener.changed();
    connection.meanwhile = () => connection.listener.changed();
    await link.tools();
    connection.meanwhile = () => {};
    await link.tools();
    await link.tools();
    expect(connection.lists).toBe(3);
  });

  it("keeps a connection on which one call is late and another still waits", async () => {
    const { connections, call } = play();
    const [late, other] = [call(), call()];
    const connection = await busy(connections, 0, 2);
    connection.calls[0]?.reject(new McpFault("late", "too slow"));
    await expect(late).rejects.toThrow("too slow");
    expect(connection.isClosed).toBe(false);
    connection.calls[1]?.resolve(DONE);
    expect(await other).toBe(DONE);
  });

  it("lets go of a connection that broke, and of one whose only call is late", async () => {
    const { connections, call } = play();
    for (const [at, kind] of (["lost", "late"] as const).entries()) {
      const running = call();
      const connection = await busy(connections, at, 1);
      connection.calls[0]?.reject(new McpFault(kind, "why"));
      await expect(running).rejects.toThrow("why");
      expect(connection.isClosed).toBe(true);
    }
  });

  it("keeps a connection whose server only refuses", async () => {
    const { connections, call } = play();
    const running = call();
    const connection = await busy(connections, 0, 1);
    connection.calls[0]?.reject(new McpFault("refused", "no"));
    await expect(running).rejects.toThrow("no");
    expect(connection.isClosed).toBe(false);
  });

  it("does not listen to a connection that it has let go", async () => {
    const { link, connections, call, problems } = play();
    const running = call();
    const connection = await busy(connections, 0, 1);
    connection.calls[0]?.reject(new McpFault("lost", "why"));
    await expect(running).rejects.toThrow("why");
    connection.listener.lost("long gone");
    expect(link.problem).toBeNull();
    expect(problems).toEqual([]);
  });

  it("P10: takes so many calls at a time and no more", async () => {
    const { connections, call } = play();
    const running = Array.from({ length: MCP_CALLS_OPEN_MAX }, call);
    const { calls } = await busy(connections, 0, MCP_CALLS_OPEN_MAX);
    await expect(call()).rejects.toThrow(/open already/);
    for (const { resolve } of calls) resolve(DONE);
    await Promise.all(running);
  });

  it("says why it failed once, without secrets, and nobody waits for the next try", async () => {
    const hanging = new Promise<void>(() => {});
    const dead = new Error("a secret reason");
    const { link, problems } = play(async (tries) => {
      if (tries > 1) return hanging;
      throw dead;
    });
    expect(await link.offered()).toEqual([]);
    expect(await link.offered()).toEqual([]);
    expect(await link.offered()).toEqual([]);
    expect(link.problem).toBe("a [redacted] reason");
    expect(problems).toEqual(["a [redacted] reason"]);
  });

  it("waits longer after each failure, and then does not even try for a while", async () => {
    const { link, tries } = play(() => Promise.reject(new Error("dead")));
    for (let at = 0; at < AGENT_FAILURES_MAX + 3; at += 1) {
      await expect(link.tools()).rejects.toThrow("dead");
    }
    expect(tries()).toBe(AGENT_FAILURES_MAX);
  });

  it("is well again after the first success, and tells of the next failure anew", async () => {
    const { link, problems, connections } = play(async (tries) => {
      if (tries === 1) throw new Error("dead");
    });
    await expect(link.tools()).rejects.toThrow("dead");
    expect(await link.tools()).toEqual([TOOL]);
    expect(link.problem).toBeNull();
    connections[0]?.listener.lost("dead");
    expect(link.problem).toBe("dead");
    expect(problems).toEqual(["dead", "dead"]);
  });
});
