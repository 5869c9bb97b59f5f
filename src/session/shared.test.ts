import { describe, expect, it, vi } from "vitest";
import { SessionHost } from "./host.ts";
import { PlayedAgents } from "./played-agents.fixture.ts";
import { ada, bob } from "./runtime.fixture.ts";
import { Stage, TENANT, value } from "./stage.fixture.ts";
import { CREATION } from "./world.fixture.ts";

describe("the session that a workspace shares", () => {
  it("is the one that was made last, also when an earlier one comes back to life", async () => {
    const stage = await Stage.open();
    const dead = await stage.created({ scope: "single" });
    await dead.turn("crash 3");
    await dead.live.until(({ connection }) => connection.sessionState === "error");
    const next = await stage.created({ scope: "single" });
    expect(next.sessionId).not.toBe(dead.sessionId);
    expect(await dead.turn("say hi")).toMatchObject({ type: "turn_complete" });
    const joined = await stage.created({ scope: "single" });
    expect(joined.sessionId).toBe(next.sessionId);
  });

  it("is joined without asking the store while it lives", async () => {
    const stage = await Stage.open();
    const made = await stage.created({ scope: "single" });
    const list = vi.spyOn(stage.world.store, "list");
    const joined = await stage.created({ scope: "single" });
    expect(joined.sessionId).toBe(made.sessionId);
    expect(list).not.toHaveBeenCalled();
  });

  it("is not joined any more while its client closes it: there will be another", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    const runtime = new SessionHost({ ...stage.world, agents });
    const creation = { ...CREATION, workspaceCwd: stage.folder, scope: "single" } as const;
    const keyed = () => ({ tenantId: TENANT, sessionId: stage.world.ids.session() });
    const key = keyed();
    value(await runtime.create({ key, creation, actor: ada }));
    let close = () => {};
    agents.closing = new Promise((resolve) => {
      close = resolve;
    });
    value(await runtime.submit(key, { type: "close", atMs: Date.now(), actor: ada }));
    const other = keyed();
    const made = value(await runtime.create({ key: other, creation, actor: bob }));
    expect(made).toMatchObject({ attached: false, live: { key: other } });
    close();
    await runtime.shutDown(AbortSignal.abort());
  });
});
