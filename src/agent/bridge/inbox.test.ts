import { describe, expect, it } from "vitest";
import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";
import { Inbox } from "./inbox.ts";

/** An inbox that keeps what it told, and what went wrong. */
function world() {
  const told: string[] = [];
  const thrown: unknown[] = [];
  const counts = { dropped: 0 };
  const inbox = new Inbox({
    failed: (why) => {
      thrown.push(why);
      inbox.close();
    },
    dropped: () => {
      counts.dropped += 1;
    },
  });
  const add = (word: string, chars = 1, wait?: Promise<void>) =>
    inbox.add(chars, () => {
      told.push(word);
      return wait;
    });
  return { inbox, add, told, thrown, counts };
}

const NEVER = new Promise<void>(() => {});

describe("a session's inbox", () => {
  it("tells at once what comes, while nobody takes his time", () => {
    const { inbox, add, told } = world();
    inbox.open();
    expect(add("a")).toBeUndefined();
    expect(told).toEqual(["a"]);
  });

  it("keeps what comes before it is open, and never waits: P10: beyond its limit it drops", () => {
    const { inbox, add, told, counts } = world();
    expect(add("a", AGENT_QUEUE_CHARS_MAX)).toBeUndefined();
    expect(add("b")).toBeUndefined();
    expect(counts.dropped).toBe(1);
    inbox.open();
    expect(told).toEqual(["a"]);
  });

  it("tells the next when the promise is kept, in order", async () => {
    const { inbox, add, told } = world();
    inbox.open();
    const { promise, resolve } = Promise.withResolvers<void>();
    void add("a", 1, promise);
    void add("b");
    void add("c");
    expect(told).toEqual(["a"]);
    resolve();
    await promise;
    expect(told).toEqual(["a", "b", "c"]);
  });

  it("P10: asks to wait when there is too much, until there is room again", async () => {
    const { inbox, add, told } = world();
    inbox.open();
    const { promise, resolve } = Promise.withResolvers<void>();
    expect(add("a", AGENT_QUEUE_CHARS_MAX, promise)).toBeUndefined();
    const room = add("b");
    expect(room).toBeInstanceOf(Promise);
    expect(add("c")).toBe(room);
    resolve();
    await room;
    expect(told).toEqual(["a", "b", "c"]);
    expect(add("d")).toBeUndefined();
  });

  it("in a hurry tells all that there is and waits for nobody, nor lets anybody wait", async () => {
    const { inbox, add, told } = world();
    inbox.open();
    void add("a", AGENT_QUEUE_CHARS_MAX, NEVER);
    const room = add("b", 1, NEVER);
    inbox.hurry();
    await room;
    expect(add("c", AGENT_QUEUE_CHARS_MAX, NEVER)).toBeUndefined();
    expect(told).toEqual(["a", "b", "c"]);
  });

  it("closed tells nothing more, and lets nobody wait", async () => {
    const { inbox, add, told } = world();
    inbox.open();
    void add("a", AGENT_QUEUE_CHARS_MAX, NEVER);
    const room = add("b");
    inbox.close();
    await room;
    expect(add("c")).toBeUndefined();
    inbox.hurry();
    inbox.open();
    expect(told).toEqual(["a"]);
  });

  it("tells its owner of whoever fails, by throwing or by a broken promise", async () => {
    const throwing = world();
    throwing.inbox.open();
    const why = new Error("no");
    void throwing.inbox.add(1, () => {
      throw why;
    });
    expect(throwing.thrown).toEqual([why]);
    const breaking = world();
    breaking.inbox.open();
    const broken = Promise.reject(why);
    void breaking.add("a", 1, broken);
    void breaking.add("b");
    await broken.catch(() => {});
    expect(breaking.thrown).toEqual([why]);
    expect(breaking.told).toEqual(["a"]);
  });
});
