import { describe, expect, it } from "vitest";
import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import type { Served } from "../connection.ts";
import { AgentRequests } from "./agent-requests.ts";
import { Inbox } from "./inbox.ts";

const DONE: Served = { result: {} };
const NEVER = () => new Promise<Served>(() => {});
const signal = new AbortController().signal;

/** Lets everything happen that only waits for its turn. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** The requests of a session whose agent speaks already, unless it does not yet. */
function world({ isOpen = true, files = new Semaphore(1) } = {}) {
  const inbox = new Inbox({ failed: () => {}, dropped: () => {} });
  if (isOpen) inbox.open();
  const begun: string[] = [];
  const request = (name: string, isFile: boolean, end: () => Promise<Served> = NEVER) => ({
    isFile,
    act: () => {
      begun.push(name);
      return end();
    },
  });
  return { inbox, requests: new AgentRequests(inbox, files), begun, request };
}

describe("a request of an agent", () => {
  it("comes after all that it said before", async () => {
    const { inbox, requests, begun, request } = world();
    const { promise, resolve } = Promise.withResolvers<void>();
    void inbox.add(1, () => promise);
    const { answer } = requests.inOrder(
      request("read", true, async () => DONE),
      { chars: 1, signal },
    );
    await settled();
    expect(begun).toEqual([]);
    resolve();
    expect(await answer).toBe(DONE);
  });

  it("comes at once, if the agent says nothing before it has that", async () => {
    const { requests, request } = world({ isOpen: false });
    const { answer } = requests.atOnce(
      request("read", true, async () => DONE),
      { chars: 1, signal },
    );
    expect(await answer).toBe(DONE);
  });

  it("P10: weighs what it took to say until its file is done", async () => {
    const { requests, request } = world();
    const file = Promise.withResolvers<Served>();
    const chars = AGENT_QUEUE_CHARS_MAX;
    const first = requests.inOrder(
      request("write", true, () => file.promise),
      { chars, signal },
    );
    expect(first.capacity).toBeUndefined();
    const { capacity } = requests.inOrder(request("write", true), { chars: 1, signal });
    let hasCapacity = false;
    void capacity?.then(() => {
      hasCapacity = true;
    });
    await settled();
    expect([capacity, hasCapacity]).toEqual([expect.any(Promise), false]);
    file.resolve(DONE);
    await capacity;
  });

  it("P10: is one file at a time in a session, and a few in a whole process", async () => {
    const files = new Semaphore(1);
    const [one, other] = [world({ files }), world({ files })];
    const file = Promise.withResolvers<Served>();
    const context = { chars: 1, signal };
    void one.requests.inOrder(
      one.request("a", true, () => file.promise),
      context,
    );
    void one.requests.inOrder(one.request("b", true), context);
    void other.requests.inOrder(other.request("c", true), context);
    await settled();
    expect([one.begun, other.begun]).toEqual([["a"], []]);
    file.resolve(DONE);
    await settled();
    expect([one.begun, other.begun]).toEqual([["a"], ["c"]]);
  });

  it("holds nothing up if it takes as long as people do", () => {
    const { requests, begun, request } = world();
    void requests.inOrder(request("ask", false), { chars: 1, signal });
    void requests.inOrder(request("wait", false), { chars: 1, signal });
    expect(begun).toEqual(["ask", "wait"]);
  });

  it("is given up at the session's end, and its place among the files is free again", async () => {
    const files = new Semaphore(1);
    const { inbox, requests, request } = world({ files });
    const context = { chars: 1, signal };
    const answers = ["a", "b"].map((name) => requests.inOrder(request(name, true), context).answer);
    await settled();
    inbox.close();
    requests.end();
    const over = { error: { message: "the session is over" } };
    expect(await Promise.all(answers)).toMatchObject([over, over]);
    expect(await requests.inOrder(request("c", true), context).answer).toMatchObject(over);
    expect(await requests.atOnce(request("d", true), context).answer).toMatchObject(over);
    await files.acquire();
  });
});
