import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AGENT_SESSIONS_FORGOTTEN_MAX, AGENT_STRAY_TURN_MS_MAX } from "../../core/limits.ts";
import { isAlive } from "../process/world.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { codeOf, pastOf, Stage } from "./bridge.fixture.ts";

const CLOSED = ["created", "connected", "terminating", "terminated"];

describe("closing a session", () => {
  it.each([[[]], [["--no-close"]]])("never fails, whatever the agent offers: %j", async (flags) => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(flags));
    await Promise.all([hand.session.close(), hand.session.close()]);
    await hand.session.close();
    expect(hand.kinds).toEqual(CLOSED);
    expect(codeOf(await hand.session.setMode("plan"))).toBe("agent_gone");
    const turn = { turnId: hand.turnId(), content: [], params: null };
    expect(codeOf(hand.session.prompt(turn))).toBe("agent_gone");
    expect(hand.kinds).toEqual(CLOSED);
  });

  it("P5: ends its terminals", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    hand.begin('run sh -c "echo $$ > pid; exec sleep 1000"');
    const written = () => readFileSync(join(stage.folder, "pid"), "utf8");
    await expect.poll(written).toMatch(/\n$/);
    const pid = Number(written());
    await hand.session.close();
    expect(isAlive(pid)).toBe(false);
  });

  it("leaves the process to the next one, if the agent has closed it", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const hand = await stage.connected(profile);
    hand.begin("say x", "hang");
    await hand.ears.until(() => hand.ears.text === "x");
    await hand.session.close();
    await stage.connected(profile);
    expect(stage.starts).toBe(1);
  });

  it("leaves the process to the next one, if the agent cannot close", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--no-close"]);
    const first = await stage.connected(profile);
    await first.turn("say mine");
    await first.session.close();
    const second = await stage.connected(profile);
    expect((await second.turn("recall")).text).toMatch(/^I remember 0 turns/);
    expect(second.session.agentSessionId).not.toBe(first.session.agentSessionId);
    expect(stage.starts).toBe(1);
  });

  it("lets a session come back that its agent could not close", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--no-close"]);
    const first = await stage.connected(profile);
    await first.turn("My name is Ada.");
    await first.session.close();
    const { agentSessionId } = first.session;
    const again = await stage.connected(profile, { past: pastOf(agentSessionId, "Hello.") });
    expect(again.session).toMatchObject({ context: "resumed", agentSessionId });
    expect((await again.turn("recall")).text).toMatch(/^I remember 1 turn;.*Ada/);
    expect(stage.starts).toBe(1);
  });

  it("P10: ends a process that cannot close, when it has been left so many sessions", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--no-close"]);
    const neighbour = await stage.connected(profile);
    for (let count = 0; count < AGENT_SESSIONS_FORGOTTEN_MAX; count += 1) {
      await (await stage.connected(profile)).session.close();
    }
    expect(stage.starts).toBe(1);
    await stage.connected(profile);
    expect(stage.starts).toBe(2);
    expect((await neighbour.turn("say still here")).text).toBe("still here");
    await neighbour.session.close();
    await expect.poll(() => stage.marks()).toHaveLength(1);
    expect(neighbour.ears.exits).toEqual([]);
  });

  it("lets nobody hear what the agent still says of it, and is no fault", async () => {
    const stage = new Stage();
    const profile = stage.odd("speaks-of-the-first");
    const first = await stage.connected(profile);
    await first.session.close();
    const before = first.ears.updates.length;
    const second = await stage.connected(profile);
    await second.turn("go");
    expect(stage.starts).toBe(1);
    expect(first.ears.updates).toHaveLength(before);
    expect([first.ears.asks, second.ears.asks, second.ears.updates]).toEqual([[], [], []]);
    expect(stage.faults).toEqual([]);
  });

  it("P8: gives its name to no other, if the agent could not close it", async () => {
    const stage = new Stage();
    const profile = stage.odd("same-name-for-all");
    await (await stage.connected(profile)).session.close();
    expect(await stage.refused(profile)).toMatchObject({ code: "agent_call_failed" });
    expect((await stage.connected(profile)).session.agentSessionId).toBe("S");
    expect(stage.starts).toBe(2);
  });

  it("P5: ends a turn that does not stop, with its process", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(["--no-close", "--ignore-eof"]));
    hand.begin("say x", "ignore-cancel", "hang");
    await hand.ears.until(() => hand.ears.text === "x");
    await hand.session.close();
    expect(hand.kinds).toEqual([...CLOSED.slice(0, 2), "turn_started", ...CLOSED.slice(2)]);
    await expect.poll(() => stage.marks()).toEqual([]);
  });

  it("P5: ends a turn that does not stop, though others use its process, in a while", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--no-close", "--ignore-eof"]);
    const [stray, neighbour] = [await stage.connected(profile), await stage.connected(profile)];
    stray.begin("say x", "ignore-cancel", "hang");
    await stray.ears.until(() => stray.ears.text === "x");
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await stray.session.close();
    vi.advanceTimersByTime(AGENT_STRAY_TURN_MS_MAX - 1);
    expect((await neighbour.turn("say still here")).text).toBe("still here");
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await neighbour.ears.until(() => neighbour.ears.exits.length === 1);
    expect(stage.marks()).toEqual([]);
  });

  it("leaves a process alone that has stopped its turn after all", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--no-close"]);
    const [first, neighbour] = [await stage.connected(profile), await stage.connected(profile)];
    first.ears.answer = () => new Promise(() => {});
    first.begin("ignore-cancel", "ask", "say y");
    await first.ears.until(() => first.ears.asks.length === 1);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await first.session.close();
    // The agent goes on without an answer, and its later updates belong to no session.
    await expect.poll(() => stage.faults.map(({ kind }) => kind)).toContain("unknown_session");
    expect((await neighbour.turn("say still here")).text).toBe("still here");
    vi.advanceTimersByTime(AGENT_STRAY_TURN_MS_MAX);
    vi.useRealTimers();
    expect((await neighbour.turn("say and here")).text).toBe("and here");
    expect(neighbour.ears.exits).toEqual([]);
  });

  it("does not wait for an agent that can have one session only", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, sessionsPerProcess: 1 };
    const profile = stage.echo(["--single-session", "--no-close"], { limits });
    const hand = await stage.connected(profile);
    await hand.session.close();
    const next = await stage.connected(profile);
    expect((await next.turn("say mine")).text).toBe("mine");
    expect(stage.starts).toBe(2);
  });

  it("is heard as closing, though the process goes meanwhile", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const hand = await stage.connected(profile);
    const other = await stage.connected(profile);
    await Promise.all([hand.session.close(), other.session.kill()]);
    expect(hand.kinds).toEqual(CLOSED);
    expect(hand.ears.exits).toEqual([]);
    expect(other.ears.exits).toHaveLength(1);
  });
});

describe("killing an agent", () => {
  it("takes its other sessions along, which hear of it", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const hands = await Promise.all([stage.connected(profile), stage.connected(profile)]);
    await hands[0].session.kill();
    expect(hands.map(({ ears }) => ears.exits.length)).toEqual([1, 1]);
  });

  it("P8: by a session that was closed does nothing", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const first = await stage.connected(profile);
    await first.session.close();
    const second = await stage.connected(profile);
    await first.session.kill();
    expect((await second.turn("say alive")).text).toBe("alive");
    expect(stage.starts).toBe(1);
  });
});
