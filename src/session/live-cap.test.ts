import { expect, it } from "vitest";
import { parseUserId } from "../core/id.ts";
import type { Actor } from "../core/session/command.ts";
import { SessionHost } from "./host.ts";
import { PlayedAgents } from "./played-agents.fixture.ts";
import { ada, NEVER } from "./runtime.fixture.ts";
import { promptOf, Stage, TENANT } from "./stage.fixture.ts";
import { CREATION } from "./world.fixture.ts";

it("P10: live sessions of a workspace are not used up by one user at work", async () => {
  const stage = await Stage.open({ settings: { sessionsLiveMax: 8 } });
  const host = new SessionHost({ ...stage.world, agents: new PlayedAgents() });
  const create = (actor: Actor) => {
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    return host.create({ key, creation, actor });
  };
  const user = (name: string): Actor => ({
    ...{ kind: "client", clientId: null, loopback: true },
    userId: parseUserId(name),
  });
  const working = async (actor: Actor) => {
    const made = await create(actor);
    if (made.ok) await made.value.live.submit(promptOf(made.value.live, "work"));
    return made;
  };
  const answers = [];
  for (let n = 0; n < 8; n += 1) answers.push(await working(user("eve")));
  expect(answers.filter(({ ok }) => ok)).toHaveLength(6);
  expect(answers.at(-1)).toMatchObject({
    refusal: { code: "session_limit_exceeded", details: { scope: "user", limit: 6 } },
  });
  expect((await working(user("bob"))).ok).toBe(true);
  // No share binds the operator, or the one person of a server without tokens.
  expect((await working(ada)).ok).toBe(true);
  expect(await working(ada)).toMatchObject({ refusal: { details: { scope: "workspace" } } });
  await host.shutDown(AbortSignal.abort());
});

it("a user at their share loses the session that they have not used for longest", async () => {
  const stage = await Stage.open({ settings: { sessionsLiveMax: 4 } });
  const host = new SessionHost({ ...stage.world, agents: new PlayedAgents() });
  const eve = { ...ada, userId: parseUserId("eve") };
  for (let n = 0; n < 6; n += 1) {
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    expect((await host.create({ key, creation, actor: eve })).ok).toBe(true);
  }
  expect(host.liveOf(TENANT)).toHaveLength(3);
  await host.shutDown(NEVER);
});
