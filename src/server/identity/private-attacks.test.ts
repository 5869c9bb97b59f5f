import { describe, expect, it, vi } from "vitest";
import { LedgerMeter, PriceTable } from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/store.ts";
import type { Called } from "../daemon.fixture.ts";
import { heard } from "../route/work.fixture.ts";
import { ACME, OPERATOR, user } from "./identity.fixture.ts";
import { Team } from "./team.fixture.ts";

const PRICES = new PriceTable({ agents: { echo: { perTurn: 1_000 } } });

const meter = (store: SessionStore) =>
  new LedgerMeter({
    store,
    prices: PRICES,
    usualLimit: () => "granted",
    nowMs: Date.now,
    log: () => {},
  });

const NOWHERE = "00000000-0000-4000-8000-000000000000";

/** An answer without the id that was asked for, and without the time. */
function answerTo({ status, headers, text }: Called, id: string) {
  const { date: _, "x-request-id": __, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(id, "<id>") };
}

describe("P8: what comes of a private session", () => {
  it("is private to the user who branches it, and is not told to others", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.turn(team.ada, path, "say one");
    await team.share(team.ada, path, "bob");
    const stream = await team.stream(team.ada, `${path}/events`);
    const body = { name: "bobs secret plan" };
    const branch = await team.bob.call("POST", `${path}/branch`, { body });
    expect(branch.status, branch.text).toBe(201);
    const branched = `/session/${branch.body.sessionId}`;
    const sharing = await team.bob.call("GET", `${branched}/visibility`);
    expect(sharing.body).toMatchObject({ visibility: "private", createdBy: "bob", sharedWith: [] });
    expect(await team.status(team.ada, branched)).toBe(404);
    expect(await team.status(team.own, branched)).toBe(200);
    await team.turn(team.bob, path, "/new");
    const told = await heard(stream, "command_result");
    expect(told.data.data).toMatchObject({ code: "session_created" });
    const created = await team.own.call("GET", "/audit?act=session_created");
    const [second, first] = created.body.entries as { sessionId: string }[];
    expect(first?.sessionId).toBe(branch.body.sessionId);
    const all = JSON.stringify(stream.frames);
    for (const word of [
      "plan",
      "session_branched",
      `${first?.sessionId}`,
      `${second?.sessionId}`,
    ]) {
      expect(all).not.toContain(word);
    }
    stream.leave();
  });

  it("is told where only its maker sees the source, without the name given to it", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.turn(team.ada, path, "say one");
    const stream = await team.stream(team.ada, `${path}/events`);
    const body = { name: "secret plan" };
    const branch = await team.ada.call("POST", `${path}/branch`, { body });
    const told = await heard(stream, "session_branched");
    expect(told.data.data).toMatchObject({ newSessionId: branch.body.sessionId });
    expect(JSON.stringify(told)).not.toContain("plan");
    stream.leave();
  });

  it("is private to the user who says /new in it", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.turn(team.ada, path, "/new");
    const { text, body } = await team.ada.call("GET", `/audit`);
    expect(body.code, text).toBe("role_required");
    const audit = await team.own.call("GET", "/audit?act=session_created");
    const [made] = audit.body.entries as { sessionId: string }[];
    expect(`/session/${made?.sessionId}`).not.toBe(path);
    expect(await team.status(team.ada, `/session/${made?.sessionId}`)).toBe(200);
    expect(await team.status(team.bob, `/session/${made?.sessionId}`)).toBe(404);
  });

  it("numbers the branches that its maker sees, and no others", async () => {
    const team = await Team.open();
    const named = async (by: typeof team.ada) => {
      const { path } = await team.made(by);
      await team.turn(by, path, "say one");
      await by.call("PATCH", `${path}/metadata`, { body: { displayName: "Plan" } });
      return (await by.call("POST", `${path}/branch`, { body: {} })).body.displayName;
    };
    expect(await named(team.ada)).toBe("Plan (Branch)");
    expect(await named(team.bob)).toBe("Plan (Branch)");
    expect(await named(team.ada)).toBe("Plan (Branch 2)");
  });
});

describe("P8: the shared session of a workspace", () => {
  it("is one for each user, which they join again", async () => {
    const team = await Team.open();
    const create = async (by: typeof team.ada) =>
      (await by.call("POST", "/session", { body: { sessionScope: "single" } })).body;
    const [ada, bob, again] = [
      await create(team.ada),
      await create(team.bob),
      await create(team.ada),
    ];
    expect(bob.sessionId).not.toBe(ada.sessionId);
    expect(again).toMatchObject({ sessionId: ada.sessionId, attached: true });
    const [one, two] = await Promise.all([create(team.adm), create(team.own)]);
    expect(new Set([one.sessionId, two.sessionId, ada.sessionId, bob.sessionId]).size).toBe(4);
  });

  it("is not joined by another because its owner made it visible", async () => {
    const team = await Team.open();
    const body = { sessionScope: "single", visibility: "tenant" };
    const ada = (await team.ada.call("POST", "/session", { body })).body;
    const bob = (await team.bob.call("POST", "/session", { body })).body;
    expect(bob).toMatchObject({ attached: false });
    expect(bob.sessionId).not.toBe(ada.sessionId);
  });
});

describe("P8: an id or a key of a colleague", () => {
  it("tells by creating under it only that it is taken, and not by what", async () => {
    const team = await Team.open();
    const { sessionId } = await team.made(team.ada);
    const body = { sessionId };
    const taken = await team.bob.call("POST", "/session", { body });
    expect(taken.status).toBe(409);
    expect(taken.body).toEqual({ ...taken.body, sessionId, conflict: "persisted" });
    const own = await team.ada.call("POST", "/session", { body });
    expect(own.body).toMatchObject({ code: "session_id_conflict", conflict: "live" });
  });

  it("opens no session of theirs by an idempotency key", async () => {
    const team = await Team.open();
    const headers = { "idempotency-key": "the same" };
    const body = { sessionScope: "thread" };
    const [ada, bob] = [
      await team.ada.call("POST", "/session", { body, headers }),
      await team.bob.call("POST", "/session", { body, headers }),
    ];
    expect(bob.status).toBe(200);
    expect(bob.body.sessionId).not.toBe(ada.body.sessionId);
  });

  it("is not found even where the session could not be opened", async () => {
    const team = await Team.open({ stage: { settings: { sessionsLiveMax: 1 } } });
    const { sessionId, path } = await team.made(team.ada);
    await team.evictAll();
    const busy = await team.made(team.own);
    const prompt = { prompt: [{ type: "text", text: "hang" }] };
    await team.own.call("POST", `${busy.path}/prompt`, { body: prompt });
    expect((await team.ada.call("GET", `${path}/context`)).status).toBe(503);
    for (const other of [team.bob, team.vic, team.adm]) {
      const theirs = await other.call("GET", `${path}/context`);
      const nothing = await other.call("GET", `/session/${NOWHERE}/context`);
      expect(answerTo(theirs, sessionId)).toEqual(answerTo(nothing, NOWHERE));
    }
  });
});

describe("P8: a private session that is deleted", () => {
  it("leaves an audit for those who saw it, also if its id is used again", async () => {
    const team = await Team.open();
    const { sessionId, path } = await team.made(team.ada);
    await team.turn(team.ada, path, "say one");
    await team.own.call("POST", "/sessions/delete", { body: { sessionIds: [sessionId] } });
    const nothing = await team.bob.call("GET", `/session/${NOWHERE}/audit`);
    const gone = await team.bob.call("GET", `${path}/audit`);
    expect(answerTo(gone, sessionId)).toEqual(answerTo(nothing, NOWHERE));
    expect((await team.adm.call("GET", "/audit")).text).not.toContain(sessionId);
    const acts = async (by: typeof team.ada) => {
      const { body } = await by.call("GET", `${path}/audit`);
      return (body.entries as { act: string }[]).map(({ act }) => act);
    };
    expect(await acts(team.ada)).toContain("prompt_admitted");
    expect(await acts(team.own)).toContain("session_deleted");
    const again = await team.bob.call("POST", "/session", { body: { sessionId } });
    expect(again.status, again.text).toBe(200);
    expect(await acts(team.bob)).toContain("session_created");
    expect(await acts(team.bob)).not.toContain("prompt_admitted");
    const { text } = await team.adm.call("GET", `/audit?session=${sessionId}`);
    expect(text).not.toContain("prompt_admitted");
  });
});

describe("P10: the check of who sees a session", () => {
  it("reads nothing from the store for a live session, for any caller", async () => {
    const team = await Team.open();
    const { path } = await team.made(team.ada);
    await team.share(team.ada, path, "bob");
    const read = vi.spyOn(team.people.world.daemon.world.store, "readRecord");
    const statuses: number[] = [];
    for (const by of [team.ada, team.bob, team.own, team.adm]) {
      statuses.push((await by.call("GET", `${path}/pending-prompts`)).status);
      statuses.push(await team.status(by, path));
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 404, 404]);
    expect(read).not.toHaveBeenCalled();
  });
});

describe("P8: reports", () => {
  it("name a session only to those who see it, and their sums stay", async () => {
    const team = await Team.open({ stage: { meter } });
    await team.own.call("POST", "/credits/grants", { body: { amountMicro: 9_000_000 } });
    const [hers, his] = [await team.made(team.ada), await team.made(team.adm)];
    for (const [by, { path }] of [
      [team.ada, hers],
      [team.adm, his],
    ] as const) {
      await team.turn(by, path, "say one");
    }
    const paths = ["statement", "statement?format=csv", "usage?by=session"];
    for (const path of paths) {
      const seen = await team.adm.call("GET", `/credits/${path}`);
      expect(seen.text).not.toContain(hers.sessionId);
      expect(seen.text).toContain(his.sessionId);
      expect((await team.own.call("GET", `/credits/${path}`)).text).toContain(hers.sessionId);
    }
    const usage = async (by: typeof team.adm) => {
      const { body } = await by.call("GET", "/credits/usage?by=session");
      const groups = body.groups as { chargedMicro: number; turns: number }[];
      return groups.reduce((sum, { turns }) => sum + turns, 0);
    };
    expect(await usage(team.adm)).toBe(await usage(team.own));
  });

  it("count what the caller sees, and list it in full pages", async () => {
    const team = await Team.open();
    const mine: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      mine.push((await team.made(team.bob)).sessionId);
      await team.made(team.ada);
    }
    const { body } = await team.bob.call("GET", "/workspaces");
    const [workspace] = body.workspaces as { id: string }[];
    const list = (query: string) =>
      team.bob.call("GET", `/workspace/${workspace?.id}/sessions?${query}`);
    const first = await list("size=2");
    const second = await list(`size=2&cursor=${first.body.nextCursor}`);
    const ids = [first, second].map((page) => {
      return (page.body.sessions as { sessionId: string }[]).map(({ sessionId }) => sessionId);
    });
    expect(ids.map(({ length }) => length)).toEqual([2, 1]);
    expect(ids.flat().toSorted()).toEqual(mine.toSorted());
    expect(second.body.nextCursor).toBeUndefined();
  });

  it("of one who is an owner no more end, and begin again with less", async () => {
    const team = await Team.open();
    const { sessionId, path } = await team.made(team.ada);
    const [one, all] = [
      await team.stream(team.own, `${path}/events`),
      await team.stream(team.own, "/events"),
    ];
    await all.until(({ heard }) => heard.includes("replay_complete"));
    expect(JSON.stringify(all.frames)).toContain(sessionId);
    await team.people.person("boss", "owner");
    const role = { body: { role: "admin" } };
    const changed = await team.own.call("POST", "/members/own", role);
    expect(changed.status, changed.text).toBe(200);
    expect(await one.over()).toBe("ended");
    expect(await all.over()).toBe("ended");
    expect(await team.status(team.own, path)).toBe(404);
    await team.people.members.remove(ACME, user("own"), OPERATOR);
  });
});
