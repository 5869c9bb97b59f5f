import { describe, expect, it } from "vitest";
import { LOADS_HELD_CHARS_MAX, LOADS_MADE_MAX } from "../../core/limits.ts";
import { type Answer, json } from "../http/answer.ts";
import { LoadGate } from "./restore.ts";

const soon = () => new Promise((resolve) => setImmediate(resolve));

/** Answers that are made when the test says so. */
class Works {
  readonly #gate = new LoadGate();
  readonly begun: ((answer: Answer) => void)[] = [];

  load(): Promise<Answer> {
    return this.#gate.pass(() => new Promise((resolve) => this.begun.push(resolve)));
  }
}

describe("P10: loading many sessions at once", () => {
  it("makes a few answers at a time, and all of them in the end", async () => {
    const works = new Works();
    const count = LOADS_MADE_MAX * 3;
    const loads = Array.from({ length: count }, () => works.load());
    await soon();
    expect(works.begun).toHaveLength(LOADS_MADE_MAX);
    works.begun[0]?.(json(200, {}));
    await soon();
    expect(works.begun).toHaveLength(LOADS_MADE_MAX + 1);
    for (let n = 1; n < count; n += 1) {
      works.begun[n]?.(json(200, {}));
      await soon();
    }
    expect(await Promise.all(loads)).toHaveLength(count);
  });

  it("makes no more while too much waits for slow clients, whatever becomes of it", async () => {
    const fates = ["delivered", "lost"] as const;
    for (const fate of fates) {
      const works = new Works();
      const told: string[] = [];
      const afterwards = (fate: string) => told.push(fate);
      const large = works.load();
      await soon();
      const text = "x".repeat(LOADS_HELD_CHARS_MAX);
      works.begun[0]?.({ kind: "json", status: 200, text, afterwards });
      const answer = await large;
      const next = works.load();
      await soon();
      expect(works.begun).toHaveLength(1);
      answer.afterwards?.(fate);
      await soon();
      expect(works.begun).toHaveLength(2);
      expect(told).toEqual([fate]);
      works.begun[1]?.(json(200, {}));
      await next;
    }
  });

  it("lets the next one in when one fails", async () => {
    const gate = new LoadGate();
    const failing = Array.from({ length: LOADS_MADE_MAX }, () =>
      gate.pass(() => Promise.reject(new Error("no"))),
    );
    expect(await Promise.allSettled(failing)).toHaveLength(LOADS_MADE_MAX);
    expect(await gate.pass(async () => json(200, {}))).toMatchObject({ status: 200 });
  });
});
