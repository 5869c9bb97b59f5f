import { setImmediate as settled } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { KeyedMutex } from "./keyed-mutex.ts";

/** A task that logs its start and its end, and ends when it is told to. */
function heldTask(log: string[], name: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const task = async () => {
    log.push(`${name} begins`);
    try {
      return await promise;
    } finally {
      log.push(`${name} ends`);
    }
  };
  return { task, end: () => resolve(name), fail: () => reject(new Error(name)) };
}

describe("a keyed mutex", () => {
  it("runs tasks of one key one after the other, in their order", async () => {
    const mutex = new KeyedMutex();
    const log: string[] = [];
    const first = heldTask(log, "first");
    const second = heldTask(log, "second");
    const results = Promise.all([mutex.run("key", first.task), mutex.run("key", second.task)]);
    second.end();
    await settled();
    expect(log).toEqual(["first begins"]);
    first.end();
    expect(await results).toEqual(["first", "second"]);
    expect(log).toEqual(["first begins", "first ends", "second begins", "second ends"]);
  });

  it("does not make tasks of different keys wait for each other", async () => {
    const mutex = new KeyedMutex<object>();
    const log: string[] = [];
    const first = heldTask(log, "first");
    void mutex.run({}, first.task);
    await mutex.run({}, async () => log.push("other"));
    expect(log).toEqual(["first begins", "other"]);
    first.end();
  });

  it("goes on after a task that failed, and only its caller is told", async () => {
    const mutex = new KeyedMutex();
    const first = heldTask([], "first");
    const failed = mutex.run("key", first.task);
    const next = mutex.run("key", async () => "next");
    first.fail();
    await expect(failed).rejects.toThrow("first");
    expect(await next).toBe("next");
  });

  it("P10: counts the tasks that run or wait, and forgets a key without any", async () => {
    const mutex = new KeyedMutex();
    const first = heldTask([], "first");
    const second = heldTask([], "second");
    expect(mutex.countOf("key")).toBe(0);
    const ends = [mutex.run("key", first.task), mutex.run("key", second.task)];
    expect(mutex.countOf("key")).toBe(2);
    first.end();
    await ends[0];
    expect(mutex.countOf("key")).toBe(1);
    second.end();
    await ends[1];
    expect(mutex.countOf("key")).toBe(0);
  });

  it("takes a task of the same key from the end of another", async () => {
    const mutex = new KeyedMutex();
    const again = mutex
      .run("key", async () => "one")
      .then(() => mutex.run("key", async () => "two"));
    expect(await again).toBe("two");
    expect(mutex.countOf("key")).toBe(0);
  });
});
