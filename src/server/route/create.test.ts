import { randomUUID } from "node:crypto";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HeldStart } from "../../agent/builtin/echo/held-start.fixture.ts";
import { parseUserId } from "../../core/id.ts";
import { echo, promptOf } from "../../session/stage.fixture.ts";
import { given } from "../../session/world.fixture.ts";
import { LOCAL, STRANGER } from "../daemon.fixture.ts";
import {
  CommitGate,
  eventsOf,
  keyOf,
  liveOf,
  made,
  openLife,
  statusOf,
  turnOf,
  until,
  untilUnanswered,
} from "./life.fixture.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("a new session", () => {
  it("answers when its agent is ready, and names itself, its place and its client", async () => {
    const world = await openLife();
    const { status, body } = await world.call("POST", "/session", { body: {} });
    expect(status).toBe(200);
    expect(body).toEqual({
      sessionId: expect.stringMatching(UUID),
      workspaceCwd: world.stage.folder,
      attached: false,
      clientId: expect.stringMatching(/^client_[0-9a-f-]{36}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      eventEpoch: expect.any(String),
      status: "ready",
    });
  });

  it("is made as it was wished for, and the workspace is named by its real path", async () => {
    const world = await openLife();
    symlinkSync(world.stage.folder, join(world.stage.folder, "link"));
    const body = {
      cwd: join(world.stage.folder, "link"),
      sessionScope: "thread",
      sourceType: "my-tool",
      sourceId: "run 7",
      approvalMode: "auto-edit",
      agent: "echo",
      mode: "allowlist",
      allowlist: ["execute:git *"],
      autonomy: "supervised",
      model_config: { temperature: 0.5, reasoning: "high" },
      budget: 5_000,
    };
    const { body: told } = await world.call("POST", "/session", { body });
    expect(told).toMatchObject({
      workspaceCwd: world.stage.folder,
      sourceType: "my-tool",
      sourceId: "run 7",
      sourcePersisted: true,
    });
    const { session } = await liveOf(world, String(told.sessionId));
    expect(session.fixed).toMatchObject({
      scope: "thread",
      securityMode: "allowlist",
      allowlist: ["execute:git *"],
      source: { type: "my-tool", id: "run 7" },
    });
    expect(session.chosen).toMatchObject({
      // The word that was sent would promise more than the profile lets through.
      approvalMode: "default",
      modelConfig: { modelId: null, temperature: 0.5, reasoning: "high" },
      budgetMicro: 5_000,
    });
    expect(session.connection.autonomyProfile).toBe("supervised");
  });

  it("has the id that its caller chose, in lower case, and for ever", async () => {
    const [world, sessionId] = [await openLife(), randomUUID()];
    const body = { sessionId: sessionId.toUpperCase() };
    const { body: made } = await world.call("POST", "/session", { body });
    expect(made).toMatchObject({ sessionId, attached: false });
    const again = await world.call("POST", "/session", { body });
    const live = { sessionId, conflict: "live", liveWorkspaceCwd: made.workspaceCwd };
    expect([again.status, again.body]).toMatchObject([409, live]);
    await turnOf(world, sessionId, "say hello");
    await world.call("DELETE", `/session/${sessionId}`).then(() => world.end());
    const next = await openLife({ stage: { folder: world.stage.folder } });
    const { body: later } = await next.call("POST", "/session", { body });
    expect(later).toMatchObject({ code: "session_id_conflict", conflict: "persisted" });
  });

  it.each([
    [{ cwd: 7 }, 400, "invalid_request"],
    [{ cwd: "x".repeat(4_097) }, 400, "invalid_request"],
    [{ cwd: "not/absolute" }, 400, "invalid_request"],
    [{ cwd: "/nobody/was/here" }, 400, "workspace_mismatch"],
    [{ sessionScope: "all" }, 400, "invalid_session_scope"],
    [{ approvalMode: "sometimes" }, 400, "invalid_approval_mode"],
    [{ approvalMode: "yolo" }, 403, "trust_gate"],
    [{ sessionId: "mine" }, 400, "invalid_session_id"],
    [{ sourceType: "Tool" }, 400, "invalid_session_source"],
    [{ sourceType: "unfinished-branch" }, 400, "invalid_session_source"],
    [{ sourceId: "7" }, 400, "invalid_session_source"],
    [{ sourceType: "tool", sourceId: "a\nb" }, 400, "invalid_session_source"],
    [{ agent: "nobody" }, 400, "agent_unknown"],
    [{ mode: "free" }, 400, "invalid_request"],
    [{ autonomy: "full" }, 400, "invalid_request"],
    [{ model_config: { colour: "red" } }, 400, "invalid_request"],
    [{ budget: 0.5 }, 400, "invalid_amount"],
  ])("is not made of %j, and nothing is left of it", async (body, status, code) => {
    const world = await openLife();
    const answer = await world.call("POST", "/session", { body });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    const list = await world.call("GET", listOf(world.stage.folder));
    expect(list.body).toEqual({ sessions: [] });
  });

  it("is told which approval modes there are, and which workspace it could have had", async () => {
    const world = await openLife();
    const mode = await world.call("POST", "/session", { body: { approvalMode: 1 } });
    expect(mode.body.allowed).toEqual(["plan", "default", "auto-edit", "auto", "yolo"]);
    const place = await world.call("POST", "/session", { body: { cwd: "/elsewhere" } });
    const workspaces = { boundWorkspace: world.stage.folder, requestedWorkspace: "/elsewhere" };
    expect(place.body).toMatchObject(workspaces);
  });

  it("P10: is refused when there is no room, with the time to come again", async () => {
    const world = await openLife({ stage: { settings: { sessionsLiveMax: 1 } } });
    const { sessionId } = await made(world);
    const live = await liveOf(world, sessionId);
    await live.submit(promptOf(live, "hang"));
    await live.until(({ running }) => running !== null);
    const full = await world.call("POST", "/session", { body: { sessionScope: "thread" } });
    expect(full.status).toBe(503);
    expect(full.headers["retry-after"]).toBe("5");
    const why = { code: "session_limit_exceeded", limit: 1, scope: "workspace" };
    expect(full.body).toMatchObject(why);
  });

  it("is not made without an agent, and says what the agent said", async () => {
    const profiles = new Map([echo("--exit-at-start", "3")]);
    const world = await openLife({ stage: { profiles } });
    const answer = await world.call("POST", "/session", { body: {} });
    expect([answer.status, answer.body.code]).toEqual([502, "agent_exited_early"]);
    const list = await world.call("GET", listOf(world.stage.folder));
    expect(list.body).toEqual({ sessions: [] });
  });

  it("takes a model if its agent has it; if not, that is an event and no failure", async () => {
    const world = await openLife();
    const body = { sessionScope: "thread" };
    const good = { ...body, modelServiceId: "echo-large" };
    const bad = { ...body, modelServiceId: "no-such-model" };
    const large = await world.call("POST", "/session", { body: good });
    expect(large.body.modelApplied).toBe(true);
    const live = await liveOf(world, String(large.body.sessionId));
    expect(live.session.chosen.modelConfig.modelId).toBe("echo-large");
    const none = await world.call("POST", "/session", { body: bad });
    expect([none.status, none.body.modelApplied]).toEqual([200, false]);
    expect(await eventsOf(world, keyOf(String(none.body.sessionId)))).toContain(
      "model_switch_failed",
    );
    const odd = await world.call("POST", "/session", { body: { ...body, modelServiceId: 7 } });
    expect(odd.status).toBe(200);
    expect(odd.body).not.toHaveProperty("modelApplied");
  });
});

describe("the session that a workspace shares", () => {
  it("is made once, and joined by everybody else, however many come at the same time", async () => {
    const world = await openLife();
    const all = await Promise.all(
      [1, 2, 3, 4].map(() => world.call("POST", "/session", { body: {} })),
    );
    expect(new Set(all.map(({ body }) => body.sessionId)).size).toBe(1);
    expect(all.filter(({ body }) => body.attached === false)).toHaveLength(1);
    const joined = all.filter(({ body }) => body.attached === true);
    expect(joined.map(({ body }) => body.hasActivePrompt)).toEqual([false, false, false]);
    const [first] = all;
    const { body } = await statusOf(world, String(first?.body.sessionId));
    expect(body.clientCount).toBe(4);
  });

  it("is there after a restart of the server; one that asks for its own gets another", async () => {
    const world = await openLife();
    const { body: before } = await world.call("POST", "/session", { body: {} });
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    const { body: after } = await next.call("POST", "/session", { body: {} });
    expect(after).toMatchObject({ sessionId: before.sessionId, attached: true });
    const other = await made(next);
    expect(other.sessionId).not.toBe(before.sessionId);
  });

  it("P7: keeps its agent and its mode; who wants others is refused and not joined", async () => {
    const world = await openLife();
    const { body: first } = await world.call("POST", "/session", { body: {} });
    const joined = await world.call("POST", "/session", { body: { mode: "yolo" } });
    expect([joined.status, joined.body.code]).toEqual([409, "session_setting_conflict"]);
    const lists = await world.call("POST", "/session", { body: { allowlist: ["read:*"] } });
    expect([lists.status, lists.body]).toMatchObject([
      409,
      { code: "session_setting_conflict", field: "allowlist", actual: "", wanted: "read:*" },
    ]);
    const free = await world.call("POST", "/session", { body: { approvalMode: "yolo" } });
    expect([free.status, free.body.code]).toEqual([403, "trust_gate"]);
    const { body } = await statusOf(world, String(first.sessionId));
    expect(body.clientCount).toBe(1);
    const same = await world.call("POST", "/session", {
      body: { mode: "ask", agent: "echo", approvalMode: "auto" },
    });
    expect(same.body).toMatchObject({ sessionId: first.sessionId, attached: true });
    const { session } = await liveOf(world, String(first.sessionId));
    expect(session.chosen.approvalMode).toBe("auto");
  });

  it("P7: is joined by whoever names its own allowlist, in whatever order", async () => {
    const world = await openLife();
    const body = { mode: "allowlist", allowlist: ["read:*", "execute:ls"] };
    const { body: first } = await world.call("POST", "/session", { body });
    const again = { mode: "allowlist", allowlist: ["execute:ls", "read:*"] };
    const joined = await world.call("POST", "/session", { body: again });
    expect(joined.body).toMatchObject({ sessionId: first.sessionId, attached: true });
    const { body: none } = await world.call("POST", "/session", { body: { allowlist: [] } });
    expect(none).toMatchObject({ code: "session_setting_conflict", field: "allowlist" });
  });

  it("is of the scope that the server is set to, where none is asked for", async () => {
    const world = await openLife({ settings: { sessionScope: "thread" } });
    const [one, other] = [await made(world, {}), await made(world, { sessionScope: undefined })];
    expect(one.sessionId).not.toBe(other.sessionId);
    await made(world, { sessionScope: "single" });
    const shared = await world.call("POST", "/session", { body: { sessionScope: "single" } });
    expect(shared.body.attached).toBe(true);
  });
});

describe("a client's name", () => {
  it("is the one that it brings, if that is one; it may also be given one", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world, {}, { clientId: "ada" });
    expect(clientId).toBe("ada");
    const beat = await world.call("POST", `${path}/heartbeat`, { clientId: "ada" });
    expect(beat.body).toMatchObject({ sessionId, clientId: "ada" });
    const bad = await world.call("POST", "/session", { body: {}, clientId: "a b" });
    expect([bad.status, bad.body.code]).toEqual([400, "invalid_client_id"]);
  });

  it("P8: stays with the user who brought it", async () => {
    const world = await openLife();
    const ada = { ...LOCAL, userId: given(parseUserId("ada")) };
    const eve = { ...LOCAL, userId: given(parseUserId("eve")) };
    const { path } = await made(world, {}, { clientId: "desk", as: ada });
    const stolen = await world.call("POST", `${path}/resume`, { clientId: "desk", as: eve });
    expect([stolen.status, stolen.body.code]).toEqual([400, "invalid_client_id"]);
  });

  it("P8: is of one tenant only, and so is the session that everybody shares", async () => {
    const world = await openLife();
    const mine = await world.call("POST", "/session", { body: {}, clientId: "desk" });
    const theirs = await world.call("POST", "/session", {
      body: {},
      clientId: "desk",
      as: STRANGER,
    });
    expect(theirs.body).toMatchObject({ attached: false, clientId: "desk" });
    expect(theirs.body.sessionId).not.toBe(mine.body.sessionId);
    const sameId = await world.call("POST", "/session", {
      body: { sessionId: mine.body.sessionId },
      as: STRANGER,
    });
    expect(sameId.body).toMatchObject({ sessionId: mine.body.sessionId, attached: false });
  });
});

describe("an answer that nobody gets", () => {
  it("takes back the session that was made for it", async () => {
    const held = new HeldStart();
    const profiles = new Map([echo(...held.flags)]);
    const world = await openLife({ stage: { profiles } });
    const leave = new AbortController();
    const sessionId = randomUUID();
    const call = { body: { sessionId }, signal: leave.signal };
    const asked = world.call("POST", "/session", call).catch(() => "gone");
    await until(async () => world.daemon.world.store.readRecord(keyOf(sessionId)), isThere);
    leave.abort();
    expect(await asked).toBe("gone");
    await untilUnanswered(world);
    held.begin();
    await until(async () => world.daemon.world.store.readRecord(keyOf(sessionId)), isGone);
    const list = await world.call("GET", listOf(world.stage.folder));
    expect(list.body).toEqual({ sessions: [] });
  });

  it("takes back the registration of one who joined", async () => {
    const gate = new CommitGate();
    const world = await openLife({ stage: { wrap: (store) => gate.around(store) } });
    const { body } = await world.call("POST", "/session", { body: {}, clientId: "ada" });
    const leave = new AbortController();
    const held = gate.close("bob");
    const call = { body: {}, clientId: "bob", signal: leave.signal };
    const second = world.call("POST", "/session", call).catch(() => "gone");
    await held;
    leave.abort();
    expect(await second).toBe("gone");
    await untilUnanswered(world);
    gate.open();
    const live = await liveOf(world, String(body.sessionId));
    await until(
      async () => eventsOf(world, live.key),
      (events) => events.includes("client_detached"),
    );
    const { body: status } = await statusOf(world, String(body.sessionId));
    expect(status.clients).toMatchObject([{ clientId: "ada" }]);
  });
});

describe("a create with an idempotency key", () => {
  const once = (key: string, body: object = {}) => ({
    body: { sessionScope: "thread", ...body },
    headers: { "idempotency-key": key },
  });

  it("P2: makes one session, however often it comes, also over a restart", async () => {
    const world = await openLife();
    const all = await Promise.all([1, 2, 3].map(() => world.call("POST", "/session", once("k"))));
    const [first] = all;
    const same = { sessionId: first?.body.sessionId, clientId: first?.body.clientId };
    for (const { body } of all) expect(body).toMatchObject({ ...same, attached: false });
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    const again = await next.call("POST", "/session", once("k"));
    expect(again.body).toMatchObject({ ...same, attached: false });
    const list = await next.call("GET", listOf(world.stage.folder));
    expect(list.body.sessions).toHaveLength(1);
    await next.call("DELETE", `/session/${first?.body.sessionId}`);
    const closed = await next.call("POST", "/session", once("k"));
    expect([closed.status, closed.body.sessionId]).toEqual([200, first?.body.sessionId]);
  });

  it("is refused with another body; a key is its caller's own, and has its bounds", async () => {
    const world = await openLife();
    const first = await world.call("POST", "/session", once("k"));
    const other = await world.call("POST", "/session", once("k", { sourceType: "x" }));
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
    const stranger = await world.call("POST", "/session", { ...once("k"), as: STRANGER });
    expect(stranger.body.sessionId).not.toBe(first.body.sessionId);
    const bob = await world.call("POST", "/session", { ...once("k"), clientId: "bob" });
    expect(bob.body.sessionId).not.toBe(first.body.sessionId);
    const endless = await world.call("POST", "/session", once("k".repeat(257)));
    expect([endless.status, endless.body.code]).toEqual([400, "invalid_idempotency_key"]);
  });

  it("that came to nothing may be used for something else", async () => {
    const world = await openLife();
    const failed = await world.call("POST", "/session", once("k", { approvalMode: "yolo" }));
    expect(failed.status).toBe(403);
    expect((await world.call("POST", "/session", once("k"))).status).toBe(200);
  });

  it("whose answer was lost makes the session that it would have made", async () => {
    const held = new HeldStart();
    const profiles = new Map([echo(...held.flags)]);
    const world = await openLife({ stage: { profiles } });
    const leave = new AbortController();
    const call = { ...once("k", { sourceType: "tool" }), signal: leave.signal };
    const asked = world.call("POST", "/session", call).catch(() => "gone");
    const { world: session } = world.daemon;
    const stored = () => session.store.list(LOCAL.tenantId, {}, { limit: 9, cursor: null });
    await until(stored, (page) => page.ok && page.value.sessions.length === 1);
    leave.abort();
    expect(await asked).toBe("gone");
    await untilUnanswered(world);
    held.begin();
    const retried = await world.call("POST", "/session", once("k", { sourceType: "tool" }));
    expect(retried.body).toMatchObject({ attached: false, sourceType: "tool" });
    const resumed = await world.call("POST", `/session/${retried.body.sessionId}/resume`);
    expect(["activating", "ready"]).toContain(resumed.body.status);
    await until(stored, (page) => page.ok && page.value.sessions.length === 1);
  });

  it("is answered with the shared session that it joined", async () => {
    const world = await openLife();
    const { body: shared } = await world.call("POST", "/session", { body: {} });
    const first = await world.call("POST", "/session", once("k", { sessionScope: "single" }));
    const again = await world.call("POST", "/session", once("k", { sessionScope: "single" }));
    for (const { body } of [first, again]) {
      expect(body).toMatchObject({ sessionId: shared.sessionId, attached: true });
    }
    expect(again.body.clientId).toBe(first.body.clientId);
  });
});

const listOf = (folder: string) => `/workspace/${encodeURIComponent(folder)}/sessions`;

const isThere = ({ ok }: { readonly ok: boolean }) => ok;
const isGone = ({ ok }: { readonly ok: boolean }) => !ok;
