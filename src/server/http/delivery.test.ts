import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { ANSWER_STALL_MS_MAX } from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { type Answer, empty, file, json, jsonWith } from "./answer.ts";
import { route } from "./route.ts";
import { answering, closeServers, serve, UNDESCRIBED } from "./server.fixture.ts";

afterEach(closeServers);

/** More megabytes than the system's buffers hold for a reader who does not read. */
const PIECES_HELD_MAX = 64;

async function* piecesOf(...pieces: readonly string[]) {
  yield* pieces;
}

describe("an answer", () => {
  it("of JSON is kept by nobody and guessed at by nobody", async () => {
    const answer = json(201, { ü: "€" }, { "X-Own": "yes" });
    const world = await serve([answering("/a", async () => answer)]);
    const { status, headers, text } = await world.ask("/a");
    expect({ status, text }).toEqual({ status: 201, text: '{"ü":"€"}' });
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": "12",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-own": "yes",
    });
  });

  it("of JSON in pieces has all of them, counted in bytes", async () => {
    const turns = ["[", '"ü😀"', ",", '"€"', "]"];
    const world = await serve([answering("/a", async () => jsonWith(200, { id: 7 }, { turns }))]);
    const { headers, text } = await world.ask("/a");
    const whole = '{"turns":["ü😀","€"],"id":7}';
    expect(text).toBe(whole);
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": `${Buffer.byteLength(whole)}`,
    });
  });

  it("of nothing has no body", async () => {
    const world = await serve([answering("/a", async () => empty())]);
    expect(await world.ask("/a")).toMatchObject({ status: 204, text: "" });
  });

  it("of a file comes in pieces, with its type", async () => {
    const disposition = { "Content-Disposition": 'attachment; filename="x.md"' };
    const answer = () => file("text/markdown", piecesOf("# A\n", "b"), disposition);
    const world = await serve([answering("/a", async () => answer())]);
    const { text, headers } = await world.ask("/a");
    expect(text).toBe("# A\nb");
    expect(headers).toMatchObject({
      "content-type": "text/markdown",
      "content-disposition": 'attachment; filename="x.md"',
    });
  });
});

describe("a file", () => {
  it("that fails in the middle is cut off, so that nobody takes it for whole", async () => {
    async function* broken() {
      yield "the beginning";
      throw new Error("disk gone");
    }
    const world = await serve([answering("/a", async () => file("text/plain", broken()))]);
    await expect(world.ask("/a")).rejects.toThrow(/aborted|hang up/);
    expect(world.logged.join()).toContain("disk gone");
    expect(await world.ask("/health")).toMatchObject({ status: 200 });
  });

  it("P10: of very many pieces lets everybody else have their turn in between", async () => {
    let isAnswered = false;
    let pieces = 0;
    async function* untilAnswered() {
      const health = world.ask("/health").then(() => {
        isAnswered = true;
      });
      for (; !isAnswered && pieces < 200_000; pieces += 1) yield "";
      yield isAnswered ? "in between" : "too late";
      await health;
    }
    const answer = async () => file("text/plain", untilAnswered());
    const world = await serve([answering("/a", answer)]);
    expect((await world.ask("/a")).text).toBe("in between");
  });

  it("P10: is read no faster than it is taken, and let go when its reader leaves", async () => {
    let yielded = 0;
    const { promise: over, resolve: isOver } = Promise.withResolvers<void>();
    async function* endless() {
      try {
        for (;;) {
          yielded += 1;
          yield "x".repeat(1_024 * 1_024);
        }
      } finally {
        isOver();
      }
    }
    const world = await serve([answering("/a", async () => file("text/plain", endless()))]);
    const socket = world.socket();
    socket.write(`GET /a HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\n\r\n`);
    await once(socket, "readable");
    // The source has stopped if it has not moved while other requests were answered many times. One
    // that did not stop would move in between, and soon exceed the buffers of the system.
    for (let before = -1; yielded !== before && yielded < PIECES_HELD_MAX; ) {
      before = yielded;
      for (let answers = 0; answers < 20; answers += 1) await world.ask("/health");
    }
    expect(yielded).toBeLessThan(PIECES_HELD_MAX);
    socket.destroy();
    await over;
  });
});

describe("P10: an answer that nobody takes", () => {
  const large = "x".repeat(64 * 1_024 * 1_024);
  async function* endless() {
    for (;;) yield "x".repeat(1_024 * 1_024);
  }

  it.each<[string, () => Answer]>([
    ["of JSON", () => json(200, { large })],
    ["of a file", () => file("text/plain", endless())],
  ])("%s is given up after a while", async (_what, answer) => {
    const clock = new ManualClock();
    const world = await serve([answering("/a", async () => answer())], {}, { clock });
    const socket = world.socket();
    socket.write(`GET /a HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\n\r\n`);
    await expect.poll(() => clock.running(ANSWER_STALL_MS_MAX)).toBe(1);
    clock.advance(ANSWER_STALL_MS_MAX);
    socket.resume();
    await once(socket, "close");
    expect(clock.runningCount).toBe(0);
  });
});

describe("what becomes of an answer", () => {
  const told = (answer: Answer) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    return { fate: promise, answer: { ...answer, afterwards: resolve } };
  };

  it("is told when it has left", async () => {
    const { fate, answer } = told(json(202, {}));
    const world = await serve([answering("/a", async () => answer)]);
    await world.ask("/a");
    expect(await fate).toBe("delivered");
  });

  it("harms nobody, if whoever hears of it fails", async () => {
    const afterwards = () => {
      throw new Error("did not want to know");
    };
    const world = await serve([answering("/a", async () => ({ ...json(200, {}), afterwards }))]);
    expect(await world.ask("/a")).toMatchObject({ status: 200 });
    await expect.poll(() => world.logged.join()).toContain("did not want to know");
  });

  it("is told when it cannot be delivered any more", async () => {
    const { fate, answer } = told(json(200, {}));
    const { promise: asked, resolve: wasAsked } = Promise.withResolvers<void>();
    const late = route({
      ...answering("/a", async () => answer),
      method: "GET",
      path: "/a",
      about: UNDESCRIBED,
      gate: "caller",
      needs: null,
      async handle({ signal }) {
        wasAsked();
        await once(signal, "abort");
        return answer;
      },
    });
    const world = await serve([late]);
    const socket = world.socket();
    socket.write(`GET /a HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\n\r\n`);
    await asked;
    socket.destroy();
    expect(await fate).toBe("lost");
  });
});
