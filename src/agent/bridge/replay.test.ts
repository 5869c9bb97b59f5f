import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  AGENT_REPLAY_BEGIN_MS_MAX,
  AGENT_REPLAY_QUIET_MS,
  AGENT_REPLAY_WAIT_MS_MAX,
} from "../../core/limits.ts";
import { FaultLog } from "../fault.ts";
import { type Hand, pastOf, Stage } from "./bridge.fixture.ts";
import { AgentReplay } from "./replay.ts";

const PAST = pastOf("S", "Hello.", "Hi.");

const kindsOf = ({ ears }: Hand) => ears.updates.map(({ sessionUpdate }) => sessionUpdate);

describe("P3: what an agent sends again behind its answer to session/load", () => {
  it("is not heard again, and the first prompt waits for its end", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("loads-late"), { past: PAST });
    expect(hand.session.context).toBe("loaded");
    const { verdict, text } = await hand.turn("go");
    expect(verdict).toMatchObject({ status: "turn_complete", stopReason: "end_turn" });
    expect(text).toBe("news");
    expect(kindsOf(hand)).toEqual(["usage_update", "agent_message_chunk"]);
    expect((await hand.turn("go")).text).toBe("news");
    expect(stage.faults).toEqual([]);
  });

  it("is waited for a while if nothing of it has come yet", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("replays-after-a-pause"), { past: PAST });
    expect((await hand.turn("go")).text).toBe("news");
    expect(kindsOf(hand)).toEqual(["agent_message_chunk"]);
  });

  it("is not told as the words of the user of now, but these are", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("replays-into-a-turn"), { past: PAST });
    const words = () =>
      hand.ears.updates.flatMap(({ sessionUpdate, content }) =>
        sessionUpdate === "user_message_chunk" ? [Object(content).text] : [],
      );
    expect((await hand.turn("hello there")).text).toBe("news");
    expect(words()).toEqual(["he", "llo there"]);
    await hand.turn("once more");
    expect(words().slice(2)).toEqual(["long before", "on", "ce more"]);
  });

  it("is not heard again either if nobody prompts the agent", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("loads-late"), { past: PAST });
    await hand.ears.until(() => hand.ears.updates.length > 0);
    expect(kindsOf(hand)).toEqual(["usage_update"]);
  });

  it("P6: does not keep it from being remembered", async () => {
    const stage = new Stage();
    const state = ["--state", `${stage.folder}/state`, "--no-resume", "--late-replay"];
    const first = await stage.connected(stage.echo(state, {}, "first"));
    for (const name of ["Ada", "Bob", "Eve"]) await first.turn(`My name is ${name}.`);
    await first.session.kill();
    const past = pastOf(first.session.agentSessionId, "My name is Ada.", "Hello, Ada.");
    const again = await stage.connected(stage.echo(state), { past });
    expect(again.session.context).toBe("loaded");
    const { text } = await again.turn("recall");
    expect(text).toMatch(/^I remember 3 turns; last you said "My name is Eve\."/);
    expect(kindsOf(again)).not.toContain("user_message_chunk");
  });

  it("P2: holds no turn up that is cancelled, nor the next one", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("replays-for-ever"), { past: PAST });
    const turnId = hand.begin("go");
    hand.session.cancel();
    expect(await hand.verdict(turnId)).toMatchObject({ stopReason: "cancelled" });
    expect(hand.ears.text).toBe("");
    await hand.session.close();
    expect(hand.kinds).toEqual([
      "created",
      "connected",
      "turn_started",
      "turn_complete",
      "terminating",
      "terminated",
    ]);
  });

  it("P10: holds a prompt up for a while only, if it never ends; that is a fault", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("replays-for-ever"), { past: PAST });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const turnId = hand.begin("go");
    vi.advanceTimersByTime(AGENT_REPLAY_WAIT_MS_MAX);
    vi.useRealTimers();
    expect(await hand.verdict(turnId)).toMatchObject({ status: "turn_complete" });
    expect(hand.ears.text).toContain("news");
    expect(kindsOf(hand)).not.toContain("user_message_chunk");
    expect(stage.faults).toEqual([{ kind: "endless_replay", count: 1 }]);
  });
});

describe("the end of a replay", () => {
  const said = { sessionUpdate: "agent_message_chunk" };

  const silence = async (ms = AGENT_REPLAY_QUIET_MS) => {
    vi.advanceTimersByTime(ms);
    await new Promise(setImmediate);
  };

  it("is a longer silence where nothing was said again, and then a short one", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const replay = new AgentReplay(new FaultLog(() => {}), () => true);
    replay.answered();
    await silence(AGENT_REPLAY_BEGIN_MS_MAX - 1);
    expect(replay.mayPrompt()).toBe(false);
    expect(replay.takes(said, 1)).toBe(true);
    await silence();
    expect(replay.mayPrompt()).toBe(true);
  });

  it("is a silence in which something could have been heard", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let isRead = false;
    const replay = new AgentReplay(new FaultLog(() => {}), () => isRead);
    replay.takes(said, 1);
    replay.answered();
    expect(replay.mayPrompt()).toBe(false);
    let isOver = false;
    replay.whenOver(() => {
      isOver = true;
    });
    await silence();
    isRead = true;
    expect([isOver, replay.takes(said, 1)]).toEqual([false, true]);
    await silence();
    expect([isOver, replay.takes(said, 1)]).toEqual([true, false]);
  });

  it("is waited for only as long as there is a prompt that waits", async () => {
    const replay = new AgentReplay(new FaultLog(() => {}), () => true);
    replay.answered();
    const told: string[] = [];
    replay.whenOver(() => told.push("over"));
    replay.stopWaiting();
    await expect.poll(() => replay.mayPrompt()).toBe(true);
    expect(told).toEqual([]);
  });
});
