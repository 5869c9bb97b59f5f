import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import type { Person } from "../identity/people.fixture.ts";
import { Team } from "../identity/team.fixture.ts";
import { heard } from "./work.fixture.ts";

const rows = ({ sessions }: JsonObject): readonly JsonObject[] =>
  Array.isArray(sessions) ? sessions : [];

const rename = (by: Person, path: string, name: unknown) =>
  by.call("PATCH", `${path}/metadata`, { body: { name } });

async function idOf(by: Person, name: string): Promise<unknown> {
  const { status, body } = await by.call("GET", `/session/${name}`);
  return status === 200 ? body.sessionId : [status, body.code];
}

const NOT_FOUND = [404, "session_not_found"];

describe("a name that is given to a session", () => {
  it("P1: is there for all who see it, and is told as an event", async () => {
    const team = await Team.open();
    const body = { name: "fix-login", sessionScope: "thread" };
    const made = await team.ada.call("POST", "/session", { body });
    expect(made.body).toMatchObject({ name: "fix-login" });
    const path = `/session/${made.body.sessionId}`;
    const stream = await team.stream(team.ada, `${path}/events`);
    const list = await team.stream(team.ada, "/events");
    expect((await rename(team.ada, path, "docs")).body).toMatchObject({ name: "docs" });
    const { data } = await heard(stream, "session_named");
    expect(data).toMatchObject({
      originatorUserId: "ada",
      data: { name: "docs", source: "given", from: "fix-login" },
    });
    const told = () => list.frames.some((frame) => JSON.stringify(frame).includes('"docs"'));
    await expect.poll(told).toBe(true);
    for (const listed of ["/sessions?name=docs", "/sessions"]) {
      const found = await team.own.call("GET", listed);
      expect(rows(found.body)).toMatchObject([{ sessionId: made.body.sessionId, name: "docs" }]);
    }
    expect(await idOf(team.ada, "fix-login")).toEqual(NOT_FOUND);
    expect(await idOf(team.ada, "docs")).toBe(made.body.sessionId);
  });

  it("does wherever its id does, also when it is at rest or closed", async () => {
    const team = await Team.open();
    const { path, sessionId } = await team.made(team.ada, { name: "docs" });
    await team.turn(team.ada, "/session/docs", "say hello");
    const transcript = await team.ada.call("GET", "/session/docs/transcript");
    expect(transcript.text).toContain("hello");
    const audit = await team.ada.call("GET", "/session/docs/audit?limit=1");
    expect(audit.body).toMatchObject({ sessionId, hasMore: true });
    const next = `/session/docs/audit?cursor=${audit.body.nextCursor}`;
    expect((await team.ada.call("GET", next)).text).toContain('"name":"docs"');
    expect((await team.ada.call("GET", "/session/docs/export?format=md")).text).toContain("hello");
    await team.evictAll();
    expect(await idOf(team.ada, "docs")).toBe(sessionId);
    expect((await team.ada.call("GET", "/session/docs/stats")).status).toBe(200);
    expect((await team.ada.call("DELETE", "/session/docs")).status).toBe(204);
    expect(await idOf(team.ada, "docs")).toEqual(NOT_FOUND);
    const taken = await team.ada.call("POST", "/session", { body: { name: "docs" } });
    expect([taken.status, taken.body.code]).toEqual([409, "session_name_taken"]);
    const loaded = await team.ada.call("POST", "/session/docs/load", { body: {} });
    expect(loaded.body).toMatchObject({ sessionId, name: "docs" });
    const gone = await team.own.call("POST", "/sessions/delete", {
      body: { sessionIds: ["docs"] },
    });
    expect(gone.body).toMatchObject({ removed: ["docs"] });
    expect((await team.ada.call("GET", path)).status).toBe(404);
    expect((await team.made(team.ada, { name: "docs" })).sessionId).not.toBe(sessionId);
  });

  it("is refused where its caller sees another one of that name, with what to type", async () => {
    const team = await Team.open();
    const one = await team.made(team.ada, { name: "docs" });
    await team.made(team.ada, { name: "docs-2" });
    const other = await team.made(team.ada);
    const refused = await rename(team.ada, other.path, "docs");
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: "session_name_taken", sessionId: one.sessionId, suggestion: "docs-3" },
    ]);
    expect(refused.body.error).toContain("docs-3");
    expect((await rename(team.ada, one.path, "docs")).status).toBe(200);
    expect((await rename(team.ada, one.path, "guide")).status).toBe(200);
    expect((await rename(team.ada, other.path, "docs")).status).toBe(200);
  });

  it.each(["Docs", "d", "-docs", "do_cs", "face", "3f0c9b1e-8a44", "x".repeat(65), 7, null])(
    "cannot be %j",
    async (name) => {
      const team = await Team.open();
      const { path } = await team.made(team.ada);
      const answers = [
        await rename(team.ada, path, name),
        await team.ada.call("POST", "/session", { body: { name } }),
      ];
      for (const { status, body } of answers) {
        expect([status, body.code]).toEqual([400, "invalid_session_name"]);
        expect(body.error).toContain("fix-login");
      }
    },
  );

  it("comes with a session of its own, whatever the server's usual scope", async () => {
    const team = await Team.open({ settings: { token: "unused", sessionScope: "single" } });
    const shared = await team.ada.call("POST", "/session", { body: {} });
    const named = await team.ada.call("POST", "/session", { body: { name: "docs" } });
    expect(named.body).toMatchObject({ attached: false });
    expect(named.body.sessionId).not.toBe(shared.body.sessionId);
    const body = { name: "guide", sessionScope: "single" };
    const both = await team.ada.call("POST", "/session", { body });
    expect([both.status, both.body.code]).toEqual([400, "invalid_session_scope"]);
  });

  it("P2: is the same session's for a create that is repeated with its key", async () => {
    const team = await Team.open();
    const create = () =>
      team.ada.call("POST", "/session", {
        body: { name: "docs" },
        headers: { "idempotency-key": "k" },
      });
    const [first, again] = [await create(), await create()];
    expect(again.body.sessionId).toBe(first.body.sessionId);
    expect(again.status).toBe(200);
  });

  it("goes to one of many that want it at one time", async () => {
    const team = await Team.open();
    const made = await Promise.all(
      Array.from({ length: 6 }, () =>
        team.ada.call("POST", "/session", { body: { name: "docs" } }),
      ),
    );
    expect(made.filter(({ status }) => status === 200).length).toBe(1);
    const others = made.filter(({ status }) => status !== 200);
    expect(new Set(others.map(({ body }) => body.code))).toEqual(new Set(["session_name_taken"]));
    const paths = [await team.made(team.bob), await team.made(team.bob)].map(({ path }) => path);
    const renamed = await Promise.all(paths.map((path) => rename(team.bob, path, "guide")));
    expect(renamed.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });
});

describe("a name that is made of the words of the first prompt", () => {
  it("P7: is there with the prompt, once, and leaves the display name as it is", async () => {
    const team = await Team.open();
    const { path, sessionId } = await team.made(team.ada);
    expect((await team.ada.call("GET", path)).body).not.toHaveProperty("name");
    const stream = await team.stream(team.ada, `${path}/events`);
    await team.turn(team.ada, path, "/help");
    await team.turn(team.ada, path, "say Fix the login, please");
    await team.turn(team.ada, path, "say something else");
    const named = stream.frames.filter(({ event }) => event === "session_named");
    expect(named.map(({ data }) => data.data)).toMatchObject([
      { name: "say-fix-login", source: "auto", from: null },
    ]);
    expect(await idOf(team.ada, "say-fix-login")).toBe(sessionId);
    const { body } = await team.ada.call("GET", "/session/say-fix-login");
    expect(body).toMatchObject({ displayName: "say Fix the login, please" });
    const audit = await team.ada.call("GET", `${path}/audit`);
    expect(audit.text).not.toContain("say-fix-login");
  });

  it("does not come where one was given, and can be replaced", async () => {
    const team = await Team.open();
    const given = await team.made(team.ada, { name: "docs" });
    await team.turn(team.ada, given.path, "say hello");
    expect(await idOf(team.ada, "docs")).toBe(given.sessionId);
    const other = await team.made(team.ada);
    await team.turn(team.ada, other.path, "say hello");
    expect((await rename(team.ada, "/session/say-hello", "greeting")).status).toBe(200);
    await team.turn(team.ada, "/session/greeting", "say more");
    expect(await idOf(team.ada, "greeting")).toBe(other.sessionId);
  });

  it("has a number where its caller sees that name, and none for what is hidden (P8)", async () => {
    const team = await Team.open();
    const said = async (by: Person) => {
      const { path } = await team.made(by);
      await team.turn(by, path, "say hello");
      return (await by.call("GET", path)).body.name;
    };
    const all = [await said(team.ada), await said(team.ada), await said(team.ada)];
    expect(all).toEqual(["say-hello", "say-hello-2", "say-hello-3"]);
    expect(await said(team.bob)).toBe("say-hello");
    expect(await said(team.own)).toBe("say-hello-4");
  });

  it("is another for each of many that begin at one time", async () => {
    const team = await Team.open();
    const made = await Promise.all(Array.from({ length: 5 }, () => team.made(team.ada)));
    const body = { prompt: [{ type: "text", text: "say hello" }] };
    await Promise.all(made.map(({ path }) => team.ada.call("POST", `${path}/prompt`, { body })));
    const listed = await team.ada.call("GET", "/sessions");
    expect(new Set(rows(listed.body).map(({ name }) => name)).size).toBe(5);
  });

  it("is that of the workspace where the words are of another writing", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.turn(team.ada, path, "修复登录");
    const { body } = await team.ada.call("GET", path);
    expect(body.name).toMatch(/^session-fermata-session-/);
    expect(body.displayName).toBe("修复登录");
  });
});

describe("P8: names of sessions that a caller does not see", () => {
  it("conflict with nothing, and are found by nobody else", async () => {
    const team = await Team.open();
    const hers = await team.made(team.ada, { name: "docs" });
    expect(await idOf(team.bob, "docs")).toEqual(NOT_FOUND);
    const his = await team.made(team.bob, { name: "docs" });
    expect(await idOf(team.ada, "docs")).toBe(hers.sessionId);
    expect(await idOf(team.bob, "docs")).toBe(his.sessionId);
    expect(rows((await team.bob.call("GET", "/sessions?name=docs")).body)).toMatchObject([
      { sessionId: his.sessionId },
    ]);
  });

  it("show in no suggestion", async () => {
    const team = await Team.open();
    for (const name of ["docs", "docs-2", "docs-3"]) await team.made(team.ada, { name });
    await team.made(team.bob, { name: "docs" });
    const refused = await team.bob.call("POST", "/session", { body: { name: "docs" } });
    expect(refused.body).toMatchObject({ suggestion: "docs-2" });
  });

  it("are both meant for one who sees two and made neither: the id says which", async () => {
    const team = await Team.open();
    const hers = await team.made(team.ada, { name: "docs" });
    const his = await team.made(team.bob, { name: "docs" });
    const { status, body } = await team.own.call("GET", "/session/docs/status");
    expect([status, body.code]).toEqual([409, "session_name_ambiguous"]);
    expect(body.error).toContain(hers.sessionId);
    expect(body.error).toContain(his.sessionId);
    const taken = await team.own.call("POST", "/session", { body: { name: "docs" } });
    expect([taken.status, taken.body.suggestion]).toEqual([409, "docs-2"]);
  });

  it("mean the caller's own session still, when another comes into sight", async () => {
    const team = await Team.open();
    const hers = await team.made(team.ada, { name: "docs" });
    const his = await team.made(team.bob, { name: "docs" });
    expect((await team.share(team.bob, his.path, "ada")).status).toBe(200);
    expect(await idOf(team.ada, "docs")).toBe(hers.sessionId);
    expect(rows((await team.ada.call("GET", "/sessions?name=docs")).body).length).toBe(2);
    expect((await rename(team.ada, hers.path, "hers")).status).toBe(200);
    expect(await idOf(team.ada, "docs")).toBe(his.sessionId);
    expect((await team.share(team.bob, his.path)).status).toBe(200);
    expect(await idOf(team.ada, "docs")).toEqual(NOT_FOUND);
    expect((await rename(team.ada, hers.path, "docs")).status).toBe(200);
  });
});
