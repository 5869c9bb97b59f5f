import { describe, expect, it } from "vitest";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { ada, NEVER } from "./runtime.fixture.ts";
import { promptOf, Stage } from "./stage.fixture.ts";

/** A session whose agent is at work. */
async function atWork() {
  const stage = await Stage.open();
  const agents = new PlayedAgents();
  const session = await playedSession(stage, agents);
  await session.live.submit(promptOf(session.live, "work"));
  return { stage, agents, ...session };
}

describe("half a character", () => {
  it("P2: as a name is refused, and breaks nobody's turn", async () => {
    const { stage, agents, runtime, live } = await atWork();
    const by = { atMs: Date.now(), actor: ada };
    const { refusal } = await live.submit({ ...by, type: "metadata", displayName: "x\ud800" });
    expect(refusal).toMatchObject({ code: "invalid_metadata" });
    agents.last.finish();
    await live.until(({ running }) => running === null);
    expect(live.session.lastTurnError).toBeNull();
    expect(stage.logs).not.toContain("session reopened");
    await runtime.shutDown(NEVER);
  });

  it("P2: as an agent's title is passed over, and breaks nobody's turn", async () => {
    const { stage, agents, runtime, live } = await atWork();
    void agents.last.update({ sessionUpdate: "session_info_update", title: "\udc00" });
    agents.last.finish();
    await live.until(({ running }) => running === null);
    expect(live.session).toMatchObject({ lastTurnError: null, chosen: { displayName: null } });
    expect(stage.logs).not.toContain("session reopened");
    await runtime.shutDown(NEVER);
  });
});
