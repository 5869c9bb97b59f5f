import { describe, expect, it } from "vitest";
import { refusal } from "../../core/error.ts";
import { SessionHost } from "../host.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada, NEVER, turn } from "../runtime.fixture.ts";
import { echo, promptOf, SERVER, Stage, value } from "../stage.fixture.ts";
import { REAL_CLOCK } from "../world.fixture.ts";

/** As long as the longest pause, and longer than all that come before it. */
const PAUSE_MS_MAX = 10_000;

describe("a prompt that waits for an agent that cannot be had", () => {
  it("P10: is told so after a few tries with growing pauses", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    const { runtime, key } = await playedSession(stage, agents);
    await runtime.shutDown(NEVER);
    const pauses: number[] = [];
    const after = (ms: number, act: () => void) => {
      if (ms >= PAUSE_MS_MAX) return REAL_CLOCK.after(ms, act);
      pauses.push(ms);
      return REAL_CLOCK.after(0, act);
    };
    const clock = { nowMs: REAL_CLOCK.nowMs, after };
    const next = new SessionHost({ ...stage.world, agents, clock });
    const live = value(await next.find(key));
    agents.refusal = refusal("agent_exited_early", { exit: "code 1" });
    agents.acts.length = 0;
    await turn(live, "say hello");
    const { events } = value(await stage.world.store.readEvents(key, { after: 0, limit: 1_000 }));
    const verdicts = events.filter(({ text }) => text.includes('"turn_error"'));
    expect(verdicts.map(({ text }) => JSON.parse(text))).toMatchObject([
      { data: { code: "agent_unavailable" } },
    ]);
    expect(agents.acts).toEqual(Array.from({ length: 6 }, () => "asked for"));
    expect(pauses).toEqual([200, 400, 800, 1_600, 3_200]);
    agents.refusal = null;
    agents.play = (agent) => agent.finish();
    await turn(live, "say hello again");
    expect(live.session.connection.sessionState).toBe("ready");
    await next.shutDown(NEVER);
  });

  it("is told so at once where trying again does not help", async () => {
    const stage = await Stage.open();
    const { sessionId, live } = await stage.created();
    await stage.registry.evict(live, "idle_timeout");
    const flags = ["--needs-auth", "--no-resume", "--no-load"];
    const after = await Stage.open({
      folder: stage.folder,
      profiles: new Map([echo(...flags)]),
    });
    const hand = await after.opened(sessionId);
    expect(await hand.turn("say hi")).toMatchObject({ data: { code: "agent_unavailable" } });
    const tries = hand.events.filter(
      ({ type, data }) => type === "session_status" && data.to === "activating",
    );
    expect(tries).toHaveLength(1);
    expect(hand.live.agentFailure).toMatchObject({ code: "agent_auth_required" });
  });
});

describe("an agent that is being closed", () => {
  it("P5: is not called gone before it is: only then is there another", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    agents.play = (agent) => agent.finish();
    const { runtime, live } = await playedSession(stage, agents);
    let close = () => {};
    agents.closing = new Promise((resolve) => {
      close = resolve;
    });
    await live.submit({ ...by(), actor: SERVER, type: "stop", reason: "idle_timeout" });
    const prompt = promptOf(live, "say hello");
    await live.submit(prompt);
    // What followed from the prompt would have been decided by the end of these.
    for (const displayName of ["one", "two", "three"]) {
      await live.submit({ ...by(), type: "metadata", displayName });
    }
    expect(live.session.connection.sessionState).toBe("deactivating");
    expect(agents.acts).toEqual(["asked for"]);
    close();
    await live.until(({ running, queue }) => running === null && queue.length === 0);
    expect(agents.acts).toEqual(["asked for", "gone", "asked for"]);
    await runtime.shutDown(NEVER);
  });
});

function by() {
  return { atMs: Date.now(), actor: ada };
}
