import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { UNFINISHED_FORK } from "../../core/session/visibility.ts";
import { ada } from "../../session/runtime.fixture.ts";
import { promptOf, value } from "../../session/stage.fixture.ts";
import { CREATION } from "../../session/world.fixture.ts";
import { type DaemonWorld, LOCAL, STRANGER } from "../daemon.fixture.ts";
import { liveOf, made, openLife, statusOf, turnOf } from "./life.fixture.ts";

const pathOf = ({ stage }: DaemonWorld) => `/workspace/${encodeURIComponent(stage.folder)}`;

async function list(world: DaemonWorld, query = "") {
  return world.call("GET", `${pathOf(world)}/sessions${query}`);
}

const rows = (body: JsonObject): readonly JsonObject[] =>
  Array.isArray(body.sessions) ? body.sessions : [];
const ids = (body: JsonObject) => rows(body).map(({ sessionId }) => sessionId);

describe("the list of sessions", () => {
  it("is empty for a workspace in which nothing has happened", async () => {
    const world = await openLife();
    const { status, body } = await list(world);
    expect([status, body]).toEqual([200, { sessions: [] }]);
  });

  it("has the last used first, page by page, each once", async () => {
    const world = await openLife();
    const made5: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      world.stage.aheadMs += 1_000;
      made5.push((await made(world)).sessionId);
    }
    world.stage.aheadMs += 1_000;
    const [first = ""] = made5;
    await turnOf(world, first, "say used");
    const expected = [first, ...made5.slice(1).reverse()];
    const one = await list(world, "?size=2");
    const two = await list(world, `?size=2&cursor=${one.body.nextCursor}`);
    const three = await list(world, `?size=2&cursor=${two.body.nextCursor}`);
    expect([...ids(one.body), ...ids(two.body), ...ids(three.body)]).toEqual(expected);
    expect(three.body).not.toHaveProperty("nextCursor");
    expect(ids((await list(world, "?size=many&cursor=")).body)).toEqual(expected);
    expect(ids((await list(world, "?size=0")).body)).toHaveLength(1);
    expect(ids((await list(world, "?size=1000")).body)).toHaveLength(5);
  });

  it("shows what is going on in those that are live", async () => {
    const world = await openLife();
    const { sessionId, clientId } = await made(world, { sourceType: "tool", sourceId: "7" });
    const live = await liveOf(world, sessionId);
    await live.submit(promptOf(live, "ask kind=execute title=Run command=make"));
    await live.until(({ connection }) => connection.sessionState === "waiting");
    const [row] = rows((await list(world)).body);
    expect(row).toMatchObject({
      sessionId,
      workspaceCwd: world.stage.folder,
      clientCount: 1,
      hasActivePrompt: true,
      status: "waiting",
      sourceType: "tool",
      sourceId: "7",
      isArchived: false,
      isWaitingForPermission: true,
      isWaitingForUserQuestion: false,
      pendingInteractionCount: 1,
      hasTurnError: false,
      pendingInteractions: [
        {
          requestId: expect.any(String),
          kind: "permission",
          createdAt: expect.stringMatching(/Z$/),
          action: { type: "execute", title: "Run", input: expect.any(Object) },
          options: expect.arrayContaining([
            { optionId: expect.any(String), label: expect.any(String), kind: "allow_once" },
          ]),
        },
      ],
    });
    const { body } = await statusOf(world, sessionId);
    const { isArchived: _, ...listed } = row ?? {};
    expect(body).toMatchObject({ ...listed, updatedAt: expect.any(String) });
    expect(body.clients).toEqual([{ clientId, lastSeenAt: expect.any(Number) }]);
  });

  it("shows a question with its keys, and the error of a turn until the next begins", async () => {
    const world = await openLife();
    const { sessionId } = await made(world);
    await turnOf(world, sessionId, "fail -32001 broken");
    const failed = (await statusOf(world, sessionId)).body;
    expect(failed).toMatchObject({ hasTurnError: true, turnError: { code: "-32001" } });
    const live = await liveOf(world, sessionId);
    await live.submit(promptOf(live, "question field=colour Which one?"));
    await live.until(({ connection }) => connection.sessionState === "waiting");
    const { body } = await statusOf(world, sessionId);
    expect(body).toMatchObject({ isWaitingForUserQuestion: true, hasTurnError: false });
    expect(body).not.toHaveProperty("turnError");
    expect(Object(body.pendingInteractions)[0]).toMatchObject({
      kind: "user_question",
      questions: [{ answerKey: "colour", question: expect.any(String) }],
    });
  });

  it("has those that are only stored too, also closed ones; P5: none of them runs", async () => {
    const world = await openLife();
    const kept = await made(world);
    const closed = await made(world);
    const gone = await made(world);
    await turnOf(world, closed.sessionId, "say hello");
    await world.call("DELETE", closed.path);
    await world.call("POST", "/sessions/delete", { body: { sessionIds: [gone.sessionId] } });
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    const { body } = await list(next);
    const byId = new Map(rows(body).map((row) => [row.sessionId, row]));
    expect(byId.size).toBe(2);
    expect(byId.get(kept.sessionId)).toMatchObject({ clientCount: 0, status: "inactive" });
    expect(byId.get(kept.sessionId)).not.toHaveProperty("closed");
    expect(byId.get(closed.sessionId)).toMatchObject({ closed: true, hasActivePrompt: false });
    expect((await next.call("POST", `${closed.path}/load`)).status).toBe(200);
  });

  it("can be of one source, of those without one, or of those under another session", async () => {
    const world = await openLife();
    const plain = await made(world);
    const tool = await made(world, { sourceType: "tool", sourceId: "1" });
    const other = await made(world, { sourceType: "tool", sourceId: "2" });
    const set = async (query: string) => new Set(ids((await list(world, query)).body));
    expect(await set("?sourceType=tool")).toEqual(new Set([tool.sessionId, other.sessionId]));
    expect(await set("?sourceType=tool&sourceId=2")).toEqual(new Set([other.sessionId]));
    expect(await set("?sourceType=default")).toEqual(new Set([plain.sessionId]));
    expect(await set("?sourceType=default&size=1")).toEqual(new Set([plain.sessionId]));
    expect(await set(`?parentSessionId=${plain.sessionId}`)).toEqual(new Set());
    expect(await set("?archiveState=archived")).toEqual(new Set());
    expect((await set("?view=organized")).size).toBe(3);
  });

  it.each([
    ["cursor=nonsense", 400, "invalid_cursor"],
    ["archiveState=lost", 400, "invalid_archive_state"],
    ["view=tree", 400, "invalid_session_view"],
    ["group=mine", 400, "invalid_session_group_filter"],
    ["view=organized&group=mine", 404, "group_not_found"],
    ["parentSessionId=", 400, "invalid_parent_session_id"],
    ["parentSessionId=a%20b", 400, "invalid_parent_session_id"],
    ["parentSessionId=a&view=organized", 400, "invalid_parent_session_filter"],
    ["sourceType=Tool", 400, "invalid_session_source"],
    ["sourceId=7", 400, "invalid_session_source"],
  ])("does not take ?%s", async (query, status, code) => {
    const world = await openLife();
    const answer = await list(world, `?${query}`);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it("is of one workspace, which may be named by its id or by its path", async () => {
    const world = await openLife();
    const other = join(world.stage.folder, "other");
    mkdirSync(other);
    const { body: added } = await world.call("POST", "/workspaces", { body: { cwd: other } });
    const there = await made(world, { cwd: other });
    await made(world);
    for (const selector of [String(added.id), encodeURIComponent(other)]) {
      for (const path of ["workspace", "workspaces"]) {
        const { body } = await world.call("GET", `/${path}/${selector}/sessions`);
        expect(ids(body)).toEqual([there.sessionId]);
      }
    }
    const relative = await world.call("GET", "/workspace/other/sessions");
    expect([relative.status, relative.body.code]).toEqual([400, "invalid_request"]);
    const unknown = await world.call("GET", "/workspace/%2Fnowhere/sessions");
    expect(unknown.body).toMatchObject({ code: "workspace_mismatch", workspaceCount: 2 });
  });

  it("P8: has no session of another tenant, whose status is a plain 404", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const theirs = await world.call("GET", `${pathOf(world)}/sessions`, { as: STRANGER });
    expect(theirs.body).toEqual({ sessions: [] });
    const foreign = await world.call("GET", `${path}/status`, { as: STRANGER });
    const missing = await world.call("GET", "/session/nothing/status");
    expect(foreign.status).toBe(404);
    expect(foreign.text.replaceAll(sessionId, "nothing")).toBe(missing.text);
  });
});

describe("the number of sessions", () => {
  it("is told with how many of them are live", async () => {
    const world = await openLife();
    await made(world);
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say hello");
    await world.call("DELETE", path);
    const { body } = await world.call("GET", `${pathOf(world)}/session-info`);
    const counts = { active: 2, archived: 0, total: 2, live: 1 };
    expect(body).toEqual({ ...counts, expensive: true, cost: "disk_scan" });
  });

  it("has no branch in it that is still being made, as the list has none", async () => {
    const world = await openLife();
    await made(world);
    const { host, world: parts } = world.daemon;
    const key = { tenantId: LOCAL.tenantId, sessionId: parts.ids.session() };
    const source = { type: UNFINISHED_FORK, id: null };
    const creation = { ...CREATION, workspaceCwd: world.stage.folder, source };
    value(await host.create({ key, creation, actor: ada }));
    expect(rows((await list(world)).body)).toHaveLength(1);
    const { body } = await world.call("GET", `${pathOf(world)}/session-info`);
    expect(body).toMatchObject({ active: 1, total: 1 });
  });
});
