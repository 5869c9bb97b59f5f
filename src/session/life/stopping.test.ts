import { describe, expect, it } from "vitest";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada } from "../runtime.fixture.ts";
import { promptOf, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";

describe("while the server stops", () => {
  it("P2: a prompt is refused, and what was at work before may finish", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    const { runtime, live: busy } = await playedSession(stage, agents);
    await busy.submit(promptOf(busy, "work"));
    const { last: worker } = agents;
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const { live: idle } = value(await runtime.create({ key, creation, actor: ada }));
    const stopped = runtime.shutDown(new AbortController().signal);
    const prompt = { ...promptOf(idle, "too late"), actor: ada };
    const refused = { ok: false, refusal: { code: "server_stopping" } };
    expect(await runtime.submit(key, prompt)).toMatchObject(refused);
    expect(await runtime.admit(key, prompt)).toMatchObject(refused);
    expect(idle.session).toMatchObject({ running: null, queue: [] });
    worker.finish();
    await stopped;
    expect(busy.session).toMatchObject({ running: null, lastTurnError: null });
  });
});
