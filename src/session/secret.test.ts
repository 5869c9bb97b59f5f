import { describe, expect, it } from "vitest";
import { SecretGuard } from "../store/index.ts";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { ada, NEVER, turn } from "./runtime.fixture.ts";
import { Stage, value } from "./stage.fixture.ts";

const SECRET = "supersecret123";

async function guarded() {
  const guard = new SecretGuard();
  const stage = await Stage.open({ guard, steps: { guard } });
  const agents = new PlayedAgents();
  agents.play = (agent) => agent.finish();
  return { guard, stage, agents, ...(await playedSession(stage, agents)) };
}

describe("P11: a secret that comes in pieces", () => {
  it("is redacted where they are joined, and everybody is told so", async () => {
    const { guard, stage, agents, runtime, key, live } = await guarded();
    value(guard.know(SECRET));
    agents.play = async (agent) => {
      for (const text of ["it is super", "secret123, you see"]) await agent.say(text);
      agent.finish();
    };
    await turn(live, "say it");
    const { rows } = value(await stage.world.store.readMessages(key, { after: 0, limit: 100 }));
    const said = rows.map(({ text }) => text).join();
    expect(said).toContain("it is [redacted], you see");
    await runtime.shutDown(NEVER);
    const page = value(await stage.world.store.readEvents(key, { after: 0, limit: 1_000 }));
    const events = page.events.map(({ text }) => JSON.parse(text));
    expect(events.filter(({ type }) => type === "secret_redacted")).toMatchObject([
      { data: { where: "conversation" } },
    ]);
  });
});

describe("a name that has become a secret since it was given", () => {
  it("P6, P11: is not written again, and the session goes on", async () => {
    const { guard, stage, runtime, key, live } = await guarded();
    const displayName = `the key is ${SECRET}`;
    const by = { atMs: Date.now(), actor: ada };
    expect((await live.submit({ ...by, type: "metadata", displayName })).refusal).toBeNull();
    value(guard.know(SECRET));
    for (const word of ["one", "two"]) await turn(live, word);
    expect(live.session.lastTurnError).toBeNull();
    expect(stage.logs).not.toContain("session reopened");
    const record = value(await stage.world.store.readRecord(key));
    expect(record.displayName).toBe("the key is [redacted]");
    await runtime.shutDown(NEVER);
  });
});
