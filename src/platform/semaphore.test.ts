import { setImmediate as settled } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore.ts";

describe("a semaphore", () => {
  it("P10: gives out as many permits as its limit, and the others in their order", async () => {
    const semaphore = new Semaphore(2);
    const running: string[] = [];
    const releases = new Map<string, () => void>();
    for (const name of ["a", "b", "c", "d"]) {
      void semaphore.acquire().then((release) => {
        running.push(name);
        releases.set(name, release);
      });
    }
    await settled();
    expect(running).toEqual(["a", "b"]);
    releases.get("b")?.();
    await settled();
    expect(running).toEqual(["a", "b", "c"]);
  });

  it("takes back a permit once, however often it is released", async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    release();
    release();
    await semaphore.acquire();
    let isRunning = false;
    void semaphore.acquire().then(() => {
      isRunning = true;
    });
    await settled();
    expect(isRunning).toBe(false);
  });

  it("runs one task at a time with a limit of 1, also after one that failed", async () => {
    const mutex = new Semaphore(1);
    const log: string[] = [];
    const first = mutex.run(async () => {
      log.push("first begins");
      await settled();
      log.push("first ends");
      throw new Error("first");
    });
    const second = mutex.run(() => log.push("second"));
    await expect(first).rejects.toThrow("first");
    await second;
    expect(log).toEqual(["first begins", "first ends", "second"]);
  });
});
