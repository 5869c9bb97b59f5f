import { describe, expect, it } from "vitest";
import { altered, Door } from "../../session/altered-store.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { eventsOf, keyOf, liveOf, made, openLife, turnOf } from "./life.fixture.ts";

/** A world with a closed session of one turn, whose store can be held up and counted. */
async function closedSession() {
  const reads = new Door();
  const commits: number[] = [];
  const wrap = (store: SessionStore) =>
    altered(store, {
      readTurns: async (...range) => {
        await reads.pass();
        return store.readTurns(...range);
      },
      commit: async (key, term, commit) => {
        commits.push(commit.events.length);
        return store.commit(key, term, commit);
      },
    });
  const world = await openLife({ stage: { wrap } });
  const { sessionId, path } = await made(world);
  await turnOf(world, sessionId, "say remembered");
  expect((await world.call("DELETE", path)).status).toBe(204);
  commits.length = 0;
  const load = () => world.call("POST", `${path}/load`, { body: {} });
  return { world, sessionId, reads, commits, load };
}

describe("a session that is brought back", () => {
  it("P1: is so with its client, and with an agent wanted, by one commit", async () => {
    const { world, sessionId, reads, commits, load } = await closedSession();
    const before = (await eventsOf(world, keyOf(sessionId))).length;
    const reading = reads.shut();
    const loading = load();
    await reading;
    const types = (await eventsOf(world, keyOf(sessionId))).slice(before);
    expect(types).toEqual(["session_lifecycle", "client_attached", "session_status"]);
    expect(commits).toEqual([3]);
    reads.open();
    expect((await loading).body).toMatchObject({ status: "activating" });
  });

  it("gets its agent when its client has the history", async () => {
    const { world, sessionId, load } = await closedSession();
    const { body } = await load();
    expect(body).toMatchObject({ status: "activating" });
    expect(JSON.stringify(body.compactedReplay)).toContain("remembered");
    const live = await liveOf(world, sessionId);
    await live.until(({ connection }) => connection.sessionState === "ready");
  });

  it("P10: gets it all the same where the history takes its time", async () => {
    const { world, sessionId, reads, load } = await closedSession();
    const reading = reads.shut();
    const loading = load();
    await reading;
    const live = await liveOf(world, sessionId);
    expect(live.agentSide.link).toBeNull();
    await live.until(({ connection }) => connection.sessionState === "ready");
    reads.open();
    expect((await loading).status).toBe(200);
  });

  it("goes to rest again before its agent has been started", async () => {
    const { world, sessionId, reads, load } = await closedSession();
    const reading = reads.shut();
    const loading = load();
    await reading;
    expect((await world.call("DELETE", `/session/${sessionId}`)).status).toBe(204);
    reads.open();
    await loading;
    expect((await world.call("GET", `/session/${sessionId}/status`)).status).toBe(404);
  });
});
