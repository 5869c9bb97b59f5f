import { describe, expect, it } from "vitest";
import { Stage } from "../bridge/bridge.fixture.ts";
import { askSetup } from "../profile/profile.ts";

describe("P2: an agent that is made to ask", () => {
  it("by how it is started, has no process in common with sessions that want no asks", async () => {
    const stage = new Stage();
    const ask = askSetup({ env: { ASK_ME: "yes" }, args: ["--no-fork"] });
    const profile = stage.echo([], { ask });
    const [asked, other, free] = await Promise.all([
      stage.connected(profile),
      stage.connected(profile),
      stage.connected(profile, { asks: false }),
    ]);
    expect(stage.pool.processCount).toBe(2);
    const forks = [asked, other, free].map(({ session }) => {
      return Object.hasOwn(Object(session.offer.capabilities.sessionCapabilities), "fork");
    });
    expect(forks).toEqual([false, false, true]);
  });

  it("by a mode or an option, has one process for all", async () => {
    const stage = new Stage();
    const profile = stage.echo([], { ask: askSetup({ mode: "auto" }) });
    await stage.connected(profile);
    await stage.connected(profile, { asks: false });
    expect(stage.pool.processCount).toBe(1);
  });
});
