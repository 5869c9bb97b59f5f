import { describe, expect, it } from "vitest";
import { CANCELLED } from "../../core/policy/ask.ts";
import { Ears, Stage } from "./bridge.fixture.ts";

/** A promise that the test resolves. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}

describe("a listener that takes its time", () => {
  it("P10: is not told faster than it takes it, and keeps the order", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const store = gate();
    hand.ears.slowly = store.wait;
    const turnId = hand.begin("say one", "usage 1 2", "ask", "say two");
    await hand.ears.until(() => hand.ears.text === "one");
    const { updates, asks, usages } = hand.ears;
    expect([updates.length, asks.length, usages.length]).toEqual([1, 0, 0]);
    hand.ears.slowly = null;
    store.open();
    expect(await hand.verdict(turnId)).toMatchObject({ status: "turn_complete" });
    expect(hand.ears.text).toMatch(/^one.*two$/s);
  });

  it("P10: delays no other session of its agent", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const slow = await stage.connected(profile);
    const other = await stage.connected(profile);
    expect(stage.pool.processCount).toBe(1);
    const store = gate();
    slow.ears.slowly = store.wait;
    const turnId = slow.begin("chunks 100 1000", "say end");
    await slow.ears.until(() => slow.ears.text.length > 0);
    expect(await other.session.setMode("plan")).toMatchObject({ ok: true });
    expect((await other.turn("say quick")).text).toBe("quick");
    await other.session.close();
    expect(other.kinds.at(-1)).toBe("terminated");
    slow.ears.slowly = null;
    store.open();
    await slow.verdict(turnId);
    expect(slow.ears.text).toMatch(/end$/);
  });

  it("P10: delays the others once too much waits for it, and loses nothing", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const slow = await stage.connected(profile);
    const other = await stage.connected(profile);
    const store = gate();
    slow.ears.slowly = store.wait;
    const turnId = slow.begin("chunks 100 100000", "say end");
    await slow.ears.until(() => slow.ears.text.length > 0);
    const late = other.session.setMode("plan");
    slow.ears.slowly = null;
    store.open();
    expect(await late).toMatchObject({ ok: true });
    await slow.verdict(turnId);
    expect(slow.ears.text.length).toBe(10_000_003);
  });

  it("may hold updates back until an ask has been answered", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const answered = gate();
    hand.ears.answer = async ({ options }) => {
      hand.ears.slowly = answered.wait;
      await new Promise(setImmediate);
      answered.open();
      return { outcome: { outcome: "selected", optionId: options[0]?.optionId ?? "" } };
    };
    expect((await hand.turn("say a", "ask", "say b")).text).toMatch(/^a.*b$/s);
  });
});

describe("a listener that fails", () => {
  it.each([
    [
      "throws",
      () => {
        throw new Error("the store is gone");
      },
    ],
    ["breaks its promise", () => Promise.reject(new Error("the store is gone"))],
  ])(
    "P2: and %s loses its session and hears so, and nobody else loses anything",
    async (_, fail) => {
      const stage = new Stage();
      const profile = stage.echo();
      const failing = await stage.connected(profile);
      const other = await stage.connected(profile);
      failing.ears.slowly = fail;
      failing.begin("say x", "say y", "hang");
      await expect.poll(() => stage.faults).toContainEqual({ kind: "failed_listener", count: 1 });
      expect(stage.samples.join()).toContain("the store is gone");
      expect((await other.turn("say alive")).text).toBe("alive");
      expect(failing.ears.updates).toHaveLength(1);
      expect(failing.ears.exits).toEqual([{ exitCode: null, signalCode: null, message: "" }]);
      expect(other.ears.exits).toEqual([]);
      const turn = { turnId: failing.turnId(), content: [], params: null };
      expect(failing.session.prompt(turn)).toMatchObject({ refusal: { code: "agent_gone" } });
      // It is closed at the agent too, so that there is room for another.
      const listed = await stage.pool.calls.list(stage.order("echo"), true);
      expect(listed.ok && listed.value.map(({ sessionId }) => sessionId)).toContain(
        other.session.agentSessionId,
      );
      expect(stage.pool.processCount).toBe(1);
    },
  );

  it("even to hear that is left alone", async () => {
    const stage = new Stage();
    let ends = 0;
    class Broken extends Ears {
      override update(): never {
        throw new Error("cannot hear");
      }
      override exit(): never {
        ends += 1;
        throw new Error("cannot hear of the end either");
      }
    }
    const connected = await stage.connect(stage.echo(), {}, new Broken());
    if (!connected.ok) expect.fail(connected.refusal.code);
    const content = [{ type: "text", text: "say x" }];
    connected.value.prompt({ turnId: "turn-1" as never, content, params: null });
    await expect.poll(() => ends).toBe(1);
    await stage.pool.shutdown();
    expect(ends).toBe(1);
  });

  it("to take the session at all is told that there is none", async () => {
    const stage = new Stage();
    class Broken extends Ears {
      override connected() {
        throw new Error("nobody is here");
      }
    }
    const ears = new Broken();
    const connected = await stage.connect(stage.echo(), {}, ears);
    expect(connected).toMatchObject({ refusal: { code: "agent_gone" } });
    expect(ears.exits).toEqual([]);
  });
});

describe("what is heard first", () => {
  it("is that the session is there, and it can be used from within that", async () => {
    const stage = new Stage();
    class Eager extends Ears {
      override connected(session: Parameters<Ears["connected"]>[0]) {
        expect([this.updates, this.statuses.length]).toEqual([[], 1]);
        super.connected(session);
        const content = [{ type: "text", text: "say at once" }];
        session.prompt({ turnId: "turn-1" as never, content, params: null });
      }
    }
    const ears = new Eager();
    await stage.connect(stage.echo(), {}, ears);
    await ears.until(() => ears.text === "at once");
    const kinds = ears.statuses.map(({ status }) => status);
    expect(kinds.slice(0, 3)).toEqual(["created", "connected", "turn_started"]);
  });
});

describe("an ask", () => {
  it("P5: is given up when its session is closed", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--no-close"]);
    const hand = await stage.connected(profile);
    const neighbour = await stage.connected(profile);
    const given = Promise.withResolvers<void>();
    hand.ears.answer = async (_ask, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      given.resolve();
      return { outcome: CANCELLED };
    };
    hand.begin("ignore-cancel", "ask");
    await hand.ears.until(() => hand.ears.asks.length === 1);
    await hand.session.close();
    await given.promise;
    expect((await neighbour.turn("say alive")).text).toBe("alive");
  });
});
