import { describe, expect, it } from "vitest";
import { Turnstile } from "./turnstile.ts";

/** Lets everything happen that only waits for its turn. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a turnstile", () => {
  it("P10: lets so many in at a time, and the others in their order", async () => {
    const turnstile = new Turnstile(2);
    const inside: string[] = [];
    const leave = new Map<string, () => void>();
    for (const name of ["a", "b", "c", "d"]) {
      void turnstile.enter().then((go) => {
        inside.push(name);
        leave.set(name, go);
      });
    }
    await settled();
    expect(inside).toEqual(["a", "b"]);
    leave.get("b")?.();
    await settled();
    expect(inside).toEqual(["a", "b", "c"]);
  });

  it("counts nobody twice who leaves twice", async () => {
    const turnstile = new Turnstile(1);
    const leave = await turnstile.enter();
    leave();
    leave();
    await turnstile.enter();
    let isInside = false;
    void turnstile.enter().then(() => {
      isInside = true;
    });
    await settled();
    expect(isInside).toBe(false);
  });
});
