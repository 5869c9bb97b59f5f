import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { SESSION_IDLE_MS } from "../../core/limits.ts";
import { echo, echoNamed } from "../../session/stage.fixture.ts";
import { Team } from "../identity/team.fixture.ts";

const rows = (body: JsonObject): readonly JsonObject[] =>
  Array.isArray(body.sessions) ? body.sessions : [];

/** Two sessions of Ada's in two workspaces, the older first, and one of Bob's. */
async function open() {
  const team = await Team.open();
  const cwd = join(team.people.world.stage.folder, "other");
  mkdirSync(cwd);
  const added = await team.own.call("POST", "/workspaces", { body: { cwd } });
  const later = () => {
    team.people.world.stage.aheadMs += 1_000;
  };
  const one = await team.made(team.ada);
  later();
  const two = await team.made(team.ada, { cwd });
  later();
  const bobs = await team.made(team.bob);
  const ids = async (by: typeof team.ada, query = "") => {
    const { status, body } = await by.call("GET", `/sessions${query}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return rows(body).map(({ sessionId }) => sessionId);
  };
  return { team, cwd, workspace: String(added.body.id), one, two, bobs, ids };
}

describe("GET /sessions", () => {
  it("lists the sessions of all workspaces that its caller sees, the last used first", async () => {
    const { team, one, two, bobs, ids } = await open();
    expect(await ids(team.ada)).toEqual([two.sessionId, one.sessionId]);
    expect(await ids(team.bob)).toEqual([bobs.sessionId]);
    expect(await ids(team.adm)).toEqual([]);
    expect(await ids(team.own)).toEqual([bobs.sessionId, two.sessionId, one.sessionId]);
  });

  it("filters by workspace, user, text and whether it is closed", async () => {
    const { team, cwd, workspace, one, two, bobs, ids } = await open();
    expect(await ids(team.own, `?workspace=${workspace}`)).toEqual([two.sessionId]);
    expect(await ids(team.own, `?workspace=${encodeURIComponent(cwd)}`)).toEqual([two.sessionId]);
    expect(await ids(team.own, "?user=bob")).toEqual([bobs.sessionId]);
    expect(await ids(team.ada, "?user=bob")).toEqual([]);
    await team.turn(team.ada, one.path, "say one");
    expect(await ids(team.own, "?text=SAY")).toEqual([one.sessionId]);
    expect(await ids(team.own, `?text=${encodeURIComponent("\"' OR 1=1 -- *")}`)).toEqual([]);
    await team.ada.call("DELETE", one.path);
    expect(await ids(team.own, "?closed=true")).toEqual([one.sessionId]);
    expect(await ids(team.ada, "?closed=false")).toEqual([two.sessionId]);
  });

  it("filters by the status that is shown, also where a record is older (P5)", async () => {
    const { team, one, two, ids } = await open();
    expect(await ids(team.ada, "?status=ready")).toEqual([two.sessionId, one.sessionId]);
    expect(await ids(team.ada, "?status=inactive,error")).toEqual([]);
    const prompt = { prompt: [{ type: "text", text: "ask" }] };
    await team.ada.call("POST", `${one.path}/prompt`, { body: prompt });
    await expect.poll(() => ids(team.ada, "?status=waiting,running")).toEqual([one.sessionId]);
    await team.ada.call("POST", `${one.path}/cancel`);
    await expect.poll(() => ids(team.ada, "?status=ready")).toContain(one.sessionId);
    team.people.world.stage.aheadMs += SESSION_IDLE_MS;
    await team.people.world.daemon.host.reapIdle();
    expect((await ids(team.ada, "?status=inactive")).length).toBe(2);
    expect(await ids(team.ada, "?status=ready")).toEqual([]);
  });

  it("filters by agent, which is the present one, and by name", async () => {
    const team = await Team.open({
      stage: { profiles: new Map([echo(), echoNamed("other")]) },
    });
    const one = await team.made(team.ada, { name: "one" });
    const other = await team.made(team.ada, { agent: "other", name: "two" });
    await team.made(team.bob, { agent: "other" });
    const ids = async (query: string) => {
      const { body } = await team.ada.call("GET", `/sessions?${query}`);
      return rows(body).map(({ sessionId }) => sessionId);
    };
    expect(await ids("agent=other")).toEqual([other.sessionId]);
    expect(await ids("agent=echo")).toEqual([one.sessionId]);
    expect(await ids("agent=nobody")).toEqual([]);
    expect(await ids("name=two")).toEqual([other.sessionId]);
    expect(await ids("name=two&agent=echo")).toEqual([]);
    const changed = await team.ada.call("POST", `${other.path}/agent`, { body: { agent: "echo" } });
    expect(changed.status).toBe(200);
    expect((await ids("agent=echo")).toSorted()).toEqual(
      [one.sessionId, other.sessionId].toSorted(),
    );
    await team.evictAll();
    expect(await ids("agent=other")).toEqual([]);
  });

  it("comes in pages, and says who made each session", async () => {
    const { team, one, two, bobs } = await open();
    const first = await team.own.call("GET", "/sessions?size=2");
    const rest = await team.own.call("GET", `/sessions?size=2&cursor=${first.body.nextCursor}`);
    expect(rest.body).not.toHaveProperty("nextCursor");
    const all = [...rows(first.body), ...rows(rest.body)];
    expect(all.map(({ sessionId, createdBy }) => [sessionId, createdBy])).toEqual([
      [bobs.sessionId, "bob"],
      [two.sessionId, "ada"],
      [one.sessionId, "ada"],
    ]);
  });

  it.each([
    ["status=asleep", "invalid_request"],
    ["closed=perhaps", "invalid_request"],
    ["user=a%20b", "invalid_request"],
    ["name=No%20name", "invalid_session_name"],
    ["agent=", "invalid_request"],
    ["cursor=nonsense", "invalid_cursor"],
    ["workspace=nowhere", "invalid_request"],
    ["workspace=%2Fnowhere", "workspace_mismatch"],
    [`text=${"x".repeat(10_000)}`, "invalid_request"],
  ])("refuses %s", async (query, code) => {
    const { team } = await open();
    const { status, body } = await team.ada.call("GET", `/sessions?${query}`);
    expect([status, body.code]).toEqual([400, code]);
  });
});

describe("GET /session/:id", () => {
  it("is the same as its status", async () => {
    const { team, one } = await open();
    const status = await team.ada.call("GET", `${one.path}/status`);
    const plain = await team.ada.call("GET", one.path);
    expect(plain.body).toEqual(status.body);
    expect(plain.body).toMatchObject({ sessionId: one.sessionId, createdBy: "ada" });
  });
});
