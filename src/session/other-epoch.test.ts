import { describe, expect, it } from "vitest";
import type { SessionKey } from "../store/store.ts";
import { SessionHost } from "./host.ts";
import type { LiveSession } from "./live.ts";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { NEVER, turn } from "./runtime.fixture.ts";
import { promptOf, Stage, value } from "./stage.fixture.ts";

/** Gives the log another epoch, as a restored backup or a cut has it. */
async function renew({ world: { store, holder } }: Stage, key: SessionKey): Promise<void> {
  const { term, record } = value(await store.open(key, holder, []));
  const cut = { lastEventId: record.lastEventId, epoch: `after ${record.epoch}`, audit: [] };
  value(await store.cutLog(key, term, cut));
  value(await store.close(key, term));
}

/** The session at a server of its own, for as long as something is done with it. */
async function atNext<Value>(
  stage: Stage,
  agents: PlayedAgents,
  key: SessionKey,
  act: (live: LiveSession) => Value | Promise<Value>,
): Promise<Value> {
  const runtime = new SessionHost({ ...stage.world, agents });
  const done = await act(value(await runtime.find(key)));
  await runtime.shutDown(NEVER);
  return done;
}

/** By which name the agent would be asked for what it knows. */
const resumed = (live: LiveSession) => live.past(live.session)?.agentSessionId ?? null;

describe("an agent that may know more than the log", () => {
  it("P6: is resumed while the log is the same, and told anew once it is not", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    agents.play = (agent) => agent.finish();
    const { runtime, key, live } = await playedSession(stage, agents);
    await turn(live, "say one");
    await runtime.shutDown(NEVER);
    expect(await atNext(stage, agents, key, resumed)).toBe("played");
    await renew(stage, key);
    expect(await atNext(stage, agents, key, resumed)).toBeNull();
    await atNext(stage, agents, key, (again) => turn(again, "say two"));
    expect(await atNext(stage, agents, key, resumed)).toBe("played");
  });

  it("P6: is forgotten where the log has lost the end of the first turn", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    const { key, live } = await playedSession(stage, agents);
    expect((await live.submit(promptOf(live, "say one"))).refusal).toBeNull();
    await live.until(({ running }) => running !== null);
    await renew(stage, key);
    expect(await atNext(stage, agents, key, resumed)).toBeNull();
  });
});
