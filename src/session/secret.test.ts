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

type Guarded = Awaited<ReturnType<typeof guarded>>;

describe("P11: a secret that comes in pieces", () => {
  it("is in no event, not even half of it, and all clients are told so", async () => {
    const { guard, agents, live, ...rest } = await guarded();
    value(guard.know(SECRET));
    agents.play = async (agent) => {
      for (const text of ["it is super", "secret123, you see"]) await agent.say(text);
      agent.finish();
    };
    await turn(live, "say it");
    const { messages, events } = await stored(rest);
    expect(messages).toContain("it is [redacted], you see");
    expect(events.join()).not.toMatch(/super|secret123/);
    expect(redactions(events)).toMatchObject([{ data: { where: "agent_update" } }]);
  });

  it("is redacted where they are joined, if it was no secret yet when it began", async () => {
    const { guard, agents, live, ...rest } = await guarded();
    agents.play = async (agent) => {
      await agent.say("it is super");
      value(guard.know(SECRET));
      await agent.say("secret123, you see");
      agent.finish();
    };
    await turn(live, "say it");
    const { messages, events } = await stored(rest);
    expect(messages).toContain("it is [redacted], you see");
    expect(redactions(events)).toMatchObject([{ data: { where: "conversation" } }]);
  });
});

/** The messages and events of a session, as the store has them when the server has stopped. */
async function stored({ stage, runtime, key }: Omit<Guarded, "guard" | "agents" | "live">) {
  const { rows } = value(await stage.world.store.readMessages(key, { after: 0, limit: 100 }));
  await runtime.shutDown(NEVER);
  const page = value(await stage.world.store.readEvents(key, { after: 0, limit: 1_000 }));
  return {
    messages: rows.map(({ text }) => text).join(),
    events: page.events.map(({ text }) => text),
  };
}

function redactions(events: readonly string[]) {
  const parsed = events.map((text) => JSON.parse(text));
  return parsed.filter(({ type }) => type === "secret_redacted");
}

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
