import { describe, expect, it } from "vitest";
import { Fermata } from "../../src/client/index.ts";
import type { Person } from "../../src/server/identity/people.fixture.ts";
import { Team } from "../../src/server/identity/team.fixture.ts";

const as = (team: Team, { token }: Pick<Person, "token">) =>
  new Fermata({ url: team.people.world.url, token });

/** A session that Ada has shared with Vic, who may only read. */
async function shared() {
  const team = await Team.open();
  const session = await as(team, team.ada).sessions.create();
  const path = `/session/${session.id}`;
  await team.share(team.ada, path, "vic");
  const turn = await session.prompt("say one");
  await turn.verdict;
  return { team, session, path };
}

describe("a client with a token", () => {
  it("P8: opens and lists what its user sees, and nothing else", async () => {
    const { team, session } = await shared();
    const opened = await as(team, team.vic).sessions.open(session.id);
    expect(opened.id).toBe(session.id);
    const stranger = as(team, team.bob).sessions.open(session.id);
    await expect(stranger).rejects.toMatchObject({ code: "session_not_found", status: 404 });
    const ids = [];
    for await (const { sessionId } of as(team, team.bob).sessions.list()) ids.push(sessionId);
    expect(ids).toEqual([]);
    const unknown = as(team, { token: "nonsense" }).agents.list();
    await expect(unknown).rejects.toMatchObject({ code: "unauthorized", status: 401 });
  });

  it("has a view also where its user may only read, and refusals for the rest", async () => {
    const { team, session } = await shared();
    const seen = await as(team, team.vic).sessions.open(session.id);
    const view = seen.view();
    const { turns } = await view.until(({ connection }) => connection === "live");
    expect(turns).toMatchObject([{ prompt: "say one", verdict: { kind: "complete" } }]);
    const next = await session.prompt("say two");
    await next.verdict;
    await view.until((state) => state.turns.length === 2);
    await expect(seen.prompt("say no")).rejects.toMatchObject({ code: "role_required" });
    view.dispose();
  });

  it("P8: is told when its user loses a session, and when its token is revoked", async () => {
    const { team, session, path } = await shared();
    const view = (await as(team, team.vic).sessions.open(session.id)).view();
    await view.until(({ connection }) => connection === "live");
    await team.share(team.ada, path);
    const closed = view.until(() => false);
    await expect(closed).rejects.toMatchObject({ code: "session_not_found" });
    const own = session.view();
    await own.until(({ connection }) => connection === "live");
    await team.own.call("DELETE", `/tokens/${team.ada.tokenId}`);
    await expect(own.until(() => false)).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("comes back to a stream that a limit refuses, when there is capacity again", async () => {
    const team = await Team.open({ settings: { token: "unused", maxConnections: 16 } });
    const session = await as(team, team.ada).sessions.create();
    const others = await Promise.all(
      [1, 2, 3, 4].map(() => team.stream(team.ada, `/session/${session.id}/events`)),
    );
    const turn = await session.prompt("say one");
    const verdict = turn.verdict;
    const { server } = team.people.world;
    expect(server.openStreamCount).toBe(4);
    for (const other of others) other.leave();
    expect(await verdict).toMatchObject({ text: "one" });
  });
});
