import { describe, expect, it } from "vitest";
import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";
import type { Served } from "../connection.ts";
import { Errands } from "./agent-requests.ts";
import { Inbox } from "./inbox.ts";
import { Turnstile } from "./turnstile.ts";

const DONE: Served = { result: {} };
const NEVER = () => new Promise<Served>(() => {});
const signal = new AbortController().signal;

/** Lets everything happen that only waits for its turn. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** The errands of a session whose agent speaks already, unless it does not yet. */
function world({ isOpen = true, files = new Turnstile(1) } = {}) {
  const inbox = new Inbox({ failed: () => {}, dropped: () => {} });
  if (isOpen) inbox.open();
  const begun: string[] = [];
  const errand = (name: string, isFile: boolean, end: () => Promise<Served> = NEVER) => ({
    isFile,
    act: () => {
      begun.push(name);
      return end();
    },
  });
  return { inbox, errands: new Errands(inbox, files), begun, errand };
}

describe("what an agent wants of us", () => {
  it("comes after all that it said before", async () => {
    const { inbox, errands, begun, errand } = world();
    const { promise, resolve } = Promise.withResolvers<void>();
    void inbox.add(1, () => promise);
    const { answer } = errands.inTurn(
      errand("read", true, async () => DONE),
      { chars: 1, signal },
    );
    await settled();
    expect(begun).toEqual([]);
    resolve();
    expect(await answer).toBe(DONE);
  });

  it("comes at once, if the agent says nothing before it has that", async () => {
    const { errands, errand } = world({ isOpen: false });
    const { answer } = errands.atOnce(
      errand("read", true, async () => DONE),
      { chars: 1, signal },
    );
    expect(await answer).toBe(DONE);
  });

  it("P10: weighs what it took to say until its file is done", async () => {
    const { errands, errand } = world();
    const file = Promise.withResolvers<Served>();
    const chars = AGENT_QUEUE_CHARS_MAX;
    const first = errands.inTurn(
      errand("write", true, () => file.promise),
      { chars, signal },
    );
    expect(first.room).toBeUndefined();
    const { room } = errands.inTurn(errand("write", true), { chars: 1, signal });
    let isRoom = false;
    void room?.then(() => {
      isRoom = true;
    });
    await settled();
    expect([room, isRoom]).toEqual([expect.any(Promise), false]);
    file.resolve(DONE);
    await room;
  });

  it("P10: is one file at a time in a session, and a few in a whole process", async () => {
    const files = new Turnstile(1);
    const [one, other] = [world({ files }), world({ files })];
    const file = Promise.withResolvers<Served>();
    const asked = { chars: 1, signal };
    void one.errands.inTurn(
      one.errand("a", true, () => file.promise),
      asked,
    );
    void one.errands.inTurn(one.errand("b", true), asked);
    void other.errands.inTurn(other.errand("c", true), asked);
    await settled();
    expect([one.begun, other.begun]).toEqual([["a"], []]);
    file.resolve(DONE);
    await settled();
    expect([one.begun, other.begun]).toEqual([["a"], ["c"]]);
  });

  it("holds nothing up if it takes as long as people do", () => {
    const { errands, begun, errand } = world();
    void errands.inTurn(errand("ask", false), { chars: 1, signal });
    void errands.inTurn(errand("wait", false), { chars: 1, signal });
    expect(begun).toEqual(["ask", "wait"]);
  });

  it("is given up at the session's end, and its place among the files is free again", async () => {
    const files = new Turnstile(1);
    const { inbox, errands, errand } = world({ files });
    const asked = { chars: 1, signal };
    const answers = ["a", "b"].map((name) => errands.inTurn(errand(name, true), asked).answer);
    await settled();
    inbox.close();
    errands.end();
    const over = { error: { message: "the session is over" } };
    expect(await Promise.all(answers)).toMatchObject([over, over]);
    expect(await errands.inTurn(errand("c", true), asked).answer).toMatchObject(over);
    expect(await errands.atOnce(errand("d", true), asked).answer).toMatchObject(over);
    await files.enter();
  });
});
