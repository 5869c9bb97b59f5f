import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { profileOf } from "../../agent/profile/profile.ts";
import { DaemonWorld } from "../daemon.fixture.ts";
import { People } from "../identity/people.fixture.ts";
import { agentsRoutes } from "./agents.ts";

const AGENT = fileURLToPath(
  new URL("../../agent/bridge/keeping-agent.fixture.ts", import.meta.url),
);

/** An agent that keeps its sessions in the workspace. */
function keeping(...features: readonly string[]) {
  const args = [AGENT, ...features];
  const profile = profileOf({ name: "echo", command: process.execPath, args });
  return { profiles: new Map([["echo", profile]]) };
}

describe("an agent's copy of a session", () => {
  it("P8: is deleted with the session, and the copies of others stay", async () => {
    const people = await People.open({ stage: keeping("delete") });
    const ada = await people.person("ada", "owner");
    const file = join(people.world.stage.folder, "kept-sessions.json");
    const kept = () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).length : 0);
    const body = { sessionScope: "thread" };
    const made = async () => String((await ada.call("POST", "/session", { body })).body.sessionId);
    const sessionIds = [await made()];
    const other = await made();
    for (const id of [...sessionIds, other]) {
      const prompt = { prompt: [{ type: "text", text: "hello" }] };
      expect((await ada.call("POST", `/session/${id}/prompt`, { body: prompt })).status).toBe(202);
    }
    expect(kept()).toBe(2);
    const deleted = await ada.call("POST", "/sessions/delete", { body: { sessionIds } });
    expect(deleted.status, deleted.text).toBe(200);
    await expect.poll(kept).toBe(1);
  });
});

describe("POST /agents/:name/logout", () => {
  it("P8: signs no agent out for an owner where tenants share its home", async () => {
    const people = await People.open({ stage: keeping("logout") });
    const ada = await people.person("ada", "owner");
    const { status, body } = await ada.call("POST", "/agents/echo/logout");
    expect([status, body.code]).toEqual([403, "role_required"]);
  });

  it.each([
    ["signs it out for the operator", ["logout"], 204],
    ["says that an agent cannot be signed out", [], 501],
  ])("%s", async (_, features, status) => {
    const world = await DaemonWorld.open({ routes: agentsRoutes, stage: keeping(...features) });
    const answer = await fetch(`${world.url}/agents/echo/logout`, { method: "POST" });
    expect(answer.status).toBe(status);
  });
});
