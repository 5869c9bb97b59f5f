import { describe, expect, it } from "vitest";
import { heard } from "../route/work.fixture.ts";
import { ACME, OPERATOR, user } from "./identity.fixture.ts";
import { Team } from "./team.fixture.ts";

describe("a session that is shared", () => {
  it("is seen by those it is shared with, by what their role allows", async () => {
    const team = await Team.open();
    const { path, sessionId } = await team.made(team.ada);
    expect(await team.status(team.bob, path)).toBe(404);
    const shared = await team.share(team.ada, path, "bob", "vic");
    expect(shared.body).toEqual({
      sessionId,
      visibility: "private",
      createdBy: "ada",
      sharedWith: ["bob", "vic"],
    });
    for (const one of [team.bob, team.vic]) expect(await team.status(one, path)).toBe(200);
    expect(await team.status(team.adm, path)).toBe(404);
    const prompt = { body: { prompt: [{ type: "text", text: "say hi" }] } };
    expect((await team.bob.call("POST", `${path}/prompt`, prompt)).status).toBe(202);
    expect((await team.vic.call("POST", `${path}/prompt`, prompt)).status).toBe(403);
    const listed = await team.bob.call("GET", "/audit");
    expect(listed.status).toBe(403);
  });

  it("is shared anew by its creator and by owners only, and a repeat changes nothing", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.share(team.ada, path, "bob");
    const refused = await team.share(team.bob, path, "bob", "vic");
    expect([refused.status, refused.body.code]).toEqual([403, "sharing_forbidden"]);
    const stream = await team.stream(team.own, `${path}/events`);
    await team.share(team.own, path, "bob");
    await team.share(team.own, path, "vic");
    const { data } = await heard(stream, "session_visibility_changed");
    expect(data.data).toMatchObject({
      visibility: "private",
      sharedWith: ["vic"],
      from: "private",
    });
    expect(await team.status(team.bob, path)).toBe(404);
    const audit = await team.own.call("GET", "/audit?act=session_visibility_changed");
    expect(audit.body.entries).toMatchObject([
      { actor: { userId: "own" }, details: { visibility: "private", sharedWith: "vic" } },
      { actor: { userId: "ada" }, details: { visibility: "private", sharedWith: "bob" } },
    ]);
    stream.leave();
  });

  it.each([
    {},
    { visibility: "secret" },
    { visibility: "tenant", sharedWith: ["bob"] },
    { visibility: "private", sharedWith: ["../bob"] },
    { visibility: "private", sharedWith: "bob" },
    { visibility: "private", sharedWith: Array.from({ length: 65 }, (_, n) => `u${n}`) },
  ])("is refused to be shared by %j, and stays as it was", async (body) => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    const refused = await team.ada.call("POST", `${path}/visibility`, { body });
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"]);
    const now = await team.ada.call("GET", `${path}/visibility`);
    expect(now.body).toMatchObject({ visibility: "private", sharedWith: [] });
  });

  it("P8: is private also while it is only stored, and when its creator is gone", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.share(team.ada, path, "bob");
    await team.evictAll();
    expect(await team.status(team.vic, path)).toBe(404);
    expect(await team.status(team.bob, path)).toBe(200);
    await team.people.members.remove(ACME, user("ada"), OPERATOR);
    expect(await team.status(team.ada, path)).toBe(401);
    expect(await team.status(team.own, path)).toBe(200);
  });

  it("is made visible to the tenant by request, also when it is created", async () => {
    const team = await Team.open();
    const open = await team.made(team.ada, { visibility: "tenant" });
    expect(await team.status(team.vic, open.path)).toBe(200);
    const { path } = await team.made(team.ada);
    const body = { visibility: "tenant" };
    await team.ada.call("POST", `${path}/visibility`, { body });
    expect(await team.status(team.vic, path)).toBe(200);
  });
});

describe("P8: a user from whom a session is withdrawn", () => {
  it("loses its open streams as of a missing session, and hears no more of it", async () => {
    const team = await Team.open();
    const { path, sessionId } = await team.made(team.ada);
    await team.share(team.ada, path, "bob");
    const [his, hers, all] = [
      await team.stream(team.bob, `${path}/events`),
      await team.stream(team.ada, `${path}/events`),
      await team.stream(team.bob, "/events"),
    ];
    await all.until(({ heard }) => heard.includes("replay_complete"));
    expect(all.frames[0]).toMatchObject({ data: { data: { session: { sessionId } } } });
    await team.share(team.ada, path);
    expect(await his.over()).toBe("ended");
    const last = his.frames.at(-1);
    expect(last).toMatchObject({ event: "stream_error", id: null });
    expect(last?.data.data).toMatchObject({ errorKind: "session_not_found" });
    expect(his.frames.some(({ event }) => event === "session_visibility_changed")).toBe(false);
    await heard(hers, "session_visibility_changed");
    await heard(all, "session_deleted");
    const before = all.frames.length;
    await team.turn(team.ada, path, "say secret");
    // What comes next on the stream of all sessions is another session: nothing was between.
    const other = await team.made(team.bob);
    await all.until(({ frames }) => frames.length > before);
    const later = all.frames.slice(before);
    expect(JSON.stringify(later)).not.toContain(sessionId);
    expect(JSON.stringify(later)).toContain(other.sessionId);
    hers.leave();
    all.leave();
  });

  it("is told on the tenant's stream when it is shared again", async () => {
    const team = await Team.open();
    const all = await team.stream(team.bob, "/events");
    await all.until(({ heard }) => heard.includes("replay_complete"));
    const { path, sessionId } = await team.made(team.ada);
    await team.turn(team.ada, path, "say secret");
    expect(JSON.stringify(all.frames)).not.toContain(sessionId);
    await team.share(team.ada, path, "bob");
    const { data } = await heard(all, "session_updated");
    expect(data.data).toMatchObject({ session: { sessionId } });
    await team.share(team.ada, path);
    const before = all.frames.length;
    await team.own.call("POST", "/sessions/delete", { body: { sessionIds: [sessionId] } });
    await team.made(team.bob);
    await all.until(({ frames }) => frames.length > before + 1);
    const deletions = all.frames.filter(({ event }) => event === "session_deleted");
    expect(deletions).toHaveLength(1);
    all.leave();
  });

  it.each(["consensus", "designated"] as const)(
    "P5: is not waited for by an ask under %s",
    async (policy) => {
      const team = await Team.open({ stage: { settings: { policy } } });
      const { path } = await team.made(team.ada, {}, "adas");
      await team.share(team.ada, path, "bob");
      await team.bob.call("POST", `${path}/resume`, { body: {}, clientId: "bobs" });
      const stream = await team.stream(team.ada, `${path}/events`);
      const body = { prompt: [{ type: "text", text: "ask\nask\nsay done" }] };
      await team.bob.call("POST", `${path}/prompt`, { body, clientId: "bobs" });
      const first = await heard(stream, "permission_request");
      await team.share(team.ada, path);
      await heard(stream, "permission_voter_left");
      const vote = { outcome: { outcome: "selected", optionId: "allow_once" } };
      // Ada stays a voter of a consensus; for Bob's own prompt only an owner answers in his place.
      const byAda = (id: unknown) =>
        team.ada.call("POST", `${path}/permission/${id}`, { body: vote, clientId: "adas" });
      const byOwner = (id: unknown) =>
        team.own.call("POST", `${path}/permission/${id}`, { body: vote });
      const answer = policy === "consensus" ? byAda : byOwner;
      const { requestId } = first.data.data;
      if (policy === "designated") expect((await byAda(requestId)).status).toBe(403);
      expect((await answer(requestId)).status).toBe(200);
      const asks = () => stream.frames.filter(({ event }) => event === "permission_request");
      await stream.until(() => asks().length === 2);
      expect((await answer(asks()[1]?.data.data.requestId)).status).toBe(200);
      await heard(stream, "turn_complete");
      stream.leave();
    },
  );
});
