import { expect, it } from "vitest";
import { refusal, sentenceOf } from "../core/error.ts";
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

it("P10: sessions that wait for people count in their user's share, and are named", async () => {
  const stage = await Stage.open({ settings: { sessionsLiveMax: 4 } });
  const agents = new PlayedAgents();
  const host = new SessionHost({ ...stage.world, agents });
  const waiting = async (actor: Actor) => {
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const made = await host.create({ key, creation, actor });
    if (!made.ok) return made;
    const { live } = made.value;
    await live.submit(promptOf(live, "work"));
    await live.until(({ running }) => running !== null);
    void agents.last.ask();
    await live.until(({ connection }) => connection.sessionState === "waiting");
    return made;
  };
  const eve = { ...ada, userId: parseUserId("eve") };
  const bob = { ...ada, userId: parseUserId("bob") };
  const made = [await waiting(eve), await waiting(eve), await waiting(eve)];
  const ids = made.map((one) => (one.ok ? one.value.live.key.sessionId : "none")).join(", ");
  const refused = await waiting(eve);
  if (refused.ok) expect.unreachable();
  // They were not evicted, though no client watches them: each still waits.
  const states = host.liveOf(TENANT).map(({ session }) => session.connection.sessionState);
  expect(states).toEqual(["waiting", "waiting", "waiting"]);
  expect(refused.refusal.details).toMatchObject({ scope: "user", limit: 3, sessionIds: ids });
  expect(sentenceOf(refused.refusal)).toBe(
    "3 sessions of this user are live already; " +
      `3 of them wait for an answer (${ids}): GET /session/ID/approvals shows what is asked, ` +
      "POST /session/ID/permission/REQUEST answers, DELETE /session/ID closes.",
  );
  // Another user has a place all the same, and hears nothing of Eve's when there is none (P8).
  const other = await waiting(bob);
  expect(other.ok).toBe(true);
  const full = await waiting(bob);
  if (full.ok || !other.ok) expect.unreachable();
  const { sessionId } = other.value.live.key;
  expect(full.refusal.details).toMatchObject({ scope: "workspace", sessionIds: sessionId });
  const cyd = { ...ada, userId: parseUserId("cyd") };
  expect(await waiting(cyd)).toMatchObject({
    refusal: { details: { advice: "close one or wait" } },
  });
  await host.shutDown(AbortSignal.abort());
});

it("P10: a session for which there is no agent names those of its maker that wait", async () => {
  const stage = await Stage.open();
  const agents = new PlayedAgents();
  const host = new SessionHost({ ...stage.world, agents });
  const create = (actor: Actor) => {
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    return host.create({ key, creation, actor });
  };
  const eve = { ...ada, userId: parseUserId("eve") };
  const made = await create(eve);
  if (!made.ok) expect.unreachable();
  const { live } = made.value;
  await live.submit(promptOf(live, "work"));
  await live.until(({ running }) => running !== null);
  void agents.last.ask();
  await live.until(({ connection }) => connection.sessionState === "waiting");
  const reason = "this user has their share of the tenant's agents";
  agents.refusal = refusal("agent_capacity", { reason, scope: "user" });
  const refused = await create(eve);
  if (refused.ok) expect.unreachable();
  const { sessionId } = live.key;
  expect(refused.refusal.details).toMatchObject({ scope: "user", sessionIds: sessionId });
  expect(sentenceOf(refused.refusal)).toBe(
    `No further agent can be started: ${reason}; 1 of your sessions waits for an answer ` +
      `(${sessionId}): GET /session/ID/approvals shows what is asked, ` +
      "POST /session/ID/permission/REQUEST answers, DELETE /session/ID closes.",
  );
  // Another user hears nothing of them (P8).
  const bob = { ...ada, userId: parseUserId("bob") };
  const other = await create(bob);
  expect(other).toMatchObject({ refusal: { details: { reason } } });
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
