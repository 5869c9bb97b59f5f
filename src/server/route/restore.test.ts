import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { HeldStart } from "../../agent/builtin/echo/held-start.fixture.ts";
import { PatientClock } from "../../session/side/side.fixture.ts";
import { echo, promptOf } from "../../session/stage.fixture.ts";
import { REAL_CLOCK } from "../../session/world.fixture.ts";
import { SessionLocator } from "../../store/locator.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { type DaemonWorld, STRANGER } from "../daemon.fixture.ts";
import {
  CommitGate,
  eventsOf,
  keyOf,
  liveOf,
  made,
  openLife,
  statusOf,
  storedEvents,
  turnOf,
  until,
  untilUnanswered,
} from "./life.fixture.ts";

const typesOf = (events: unknown) =>
  Array.isArray(events) ? events.map(({ type }) => String(type)) : [];

const updatesOf = async (world: DaemonWorld, key: SessionKey) =>
  (await storedEvents(world, key)).flatMap(({ type, data }) =>
    type === "session_update" ? [data.update.sessionUpdate] : [],
  );

describe("loading a session", () => {
  it("P3: shows its finished turns and the open one, and where the stream goes on", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "chunks 30 20", "say end");
    const live = await liveOf(world, sessionId);
    await live.submit(promptOf(live, "say begun", "hang"));
    await live.until(({ connection }) => connection.turn.hasOutput);
    const { status, body } = await world.call("POST", `${path}/load`, { body: {} });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      sessionId,
      workspaceCwd: world.stage.folder,
      attached: true,
      clientId: expect.stringMatching(/^client_/),
      createdAt: expect.any(String),
      hasActivePrompt: true,
      lastEventId: live.lastEventId,
      eventEpoch: live.epoch,
      status: "running",
    });
    expect(typesOf(body.compactedReplay).filter((type) => type === "turn_complete")).toHaveLength(
      1,
    );
    expect(JSON.stringify(body.liveJournal)).toContain("begun");
    expect(body.state).toMatchObject({ modes: { currentModeId: expect.any(String) } });
    expect(body).not.toHaveProperty("historyHasMore");
  });

  it("always has both parts of the history, and says how prompts ended", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const empty = await world.call("POST", `${path}/load`);
    expect(empty.body).toMatchObject({ compactedReplay: [], liveJournal: expect.any(Array) });
    expect(empty.body).not.toHaveProperty("promptTerminals");
    await turnOf(world, sessionId, "say one");
    await turnOf(world, sessionId, "fail -32001 broken");
    const { body } = await world.call("POST", `${path}/load`);
    const at = expect.stringMatching(/^\d{4}-.*Z$/);
    const promptId = expect.any(String);
    expect(body.promptTerminals).toEqual([
      { v: 1, promptId, terminal: "completed", stopReason: "end_turn", at },
      { v: 1, promptId, terminal: "error", code: "-32001", at },
    ]);
  });

  it("brings back one that was closed, and one that its server left", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say remembered");
    await world.call("DELETE", path);
    expect((await statusOf(world, sessionId)).status).toBe(404);
    const { body } = await world.call("POST", `${path}/load`, { clientId: "ada" });
    const status = expect.stringMatching(/^(activating|ready)$/);
    expect(body).toMatchObject({ attached: false, clientId: "ada", status });
    expect(JSON.stringify(body.compactedReplay)).toContain("remembered");
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    const all = await Promise.all([1, 2, 3].map(() => next.call("POST", `${path}/load`)));
    expect(all.filter(({ body }) => body.attached === false)).toHaveLength(1);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("P6: answers while the agent comes up, with what it offered last", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say remembered");
    const { state } = (await world.call("POST", `${path}/load`)).body;
    expect(state).toMatchObject({ modes: { currentModeId: expect.any(String) } });
    await world.end();
    const held = new HeldStart();
    const { folder } = world.stage;
    const stage = { folder, profiles: new Map([echo(...held.flags)]) };
    const next = await openLife({ stage });
    const { status, body } = await next.call("POST", `${path}/load`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "activating", state });
    expect(body).not.toHaveProperty("agentFailure");
    expect(JSON.stringify(body.compactedReplay)).toContain("remembered");
    const resumed = await next.call("POST", `${path}/resume`);
    expect(resumed.body).toMatchObject({ status: "activating", state });
    const live = await liveOf(next, sessionId);
    expect((await live.submit(promptOf(live, "say next"))).refusal).toBeNull();
    held.begin();
    await live.until(({ totals }) => totals.turnsCompleted === 2);
    // Nothing is told that a client was shown already.
    expect(await updatesOf(next, live.key)).not.toContain("current_mode_update");
  });

  it("tells what the agent offers now that it did not offer before", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await world.end();
    const stage = { folder: world.stage.folder, profiles: new Map([echo("--no-effort")]) };
    const next = await openLife({ stage });
    const loaded = await next.call("POST", `${path}/load`);
    expect(JSON.stringify(loaded.body.state)).toContain("effort");
    const { key } = await liveOf(next, sessionId);
    await until(
      () => updatesOf(next, key),
      (updates) => updates.includes("config_option_update"),
    );
    const again = await next.call("POST", `${path}/load`);
    expect(JSON.stringify(again.body.state)).not.toContain("effort");
    expect(await updatesOf(next, key)).not.toContain("current_mode_update");
  });

  it("P6: shows the history also if there is no agent, and tells why there is none", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say remembered");
    await world.end();
    const profiles = new Map([echo("--exit-at-start", "3")]);
    const next = await openLife({ stage: { folder: world.stage.folder, profiles } });
    const { status, body } = await next.call("POST", `${path}/load`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: expect.stringMatching(/^(activating|error)$/),
      hasActivePrompt: false,
      state: { modes: { currentModeId: expect.any(String) } },
    });
    expect(JSON.stringify(body.compactedReplay)).toContain("remembered");
    const live = await liveOf(next, sessionId);
    await live.until(({ connection }) => connection.sessionState === "error");
    const told = (await storedEvents(next, live.key)).findLast(
      ({ type }) => type === "session_status",
    );
    expect(told?.data).toMatchObject({
      from: "activating",
      to: "error",
      message: expect.stringContaining("exit"),
    });
    const resumed = await next.call("POST", `${path}/resume`);
    expect(resumed.status).toBe(200);
  });

  it("P10: shows no more turns than are wanted, and how to get at the others", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    for (const text of ["one", "two", "three"]) await turnOf(world, sessionId, `say ${text}`);
    const load = (body: object) => world.call("POST", `${path}/load`, { body });
    const page = await load({ historyPageSize: 2 });
    expect(page.body.historyHasMore).toBe(true);
    const text = JSON.stringify(page.body.compactedReplay);
    expect([text.includes("one"), text.includes("two"), text.includes("three")]).toEqual([
      false,
      true,
      true,
    ]);
    const events: unknown = page.body.compactedReplay;
    const [first] = Array.isArray(events) ? events.filter(({ promptId }) => promptId) : [];
    expect(page.body.historyAnchorRecordId).toBe(first.promptId);
    const all = await load({ historyPageSize: 3 });
    expect(all.body).not.toHaveProperty("historyHasMore");
  });

  it.each([
    [{ historyPageSize: 0 }, "invalid_transcript_limit"],
    [{ historyPageSize: 501 }, "invalid_transcript_limit"],
    [{ historyPageSize: "all" }, "invalid_transcript_limit"],
    [{ liveReplayMode: "brief" }, "invalid_live_replay_mode"],
    [{ approvalMode: "never" }, "invalid_approval_mode"],
    [{ cwd: "relative" }, "invalid_request"],
    [{ cwd: "/elsewhere" }, "workspace_mismatch"],
  ])("with %j is %s, and nobody has joined", async (body, code) => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const answer = await world.call("POST", `${path}/load`, { body });
    expect([answer.status, answer.body.code]).toEqual([400, code]);
    expect(answer.body.maxLimit).toBe("historyPageSize" in body ? 500 : undefined);
    expect((await statusOf(world, sessionId)).body.clientCount).toBe(1);
  });

  it("means the workspace that it names, and names both if that is another", async () => {
    const world = await openLife();
    const { path } = await made(world);
    const other = join(world.stage.folder, "other");
    mkdirSync(other);
    await world.call("POST", "/workspaces", { body: { cwd: other } });
    const answer = await world.call("POST", `${path}/load`, { body: { cwd: other } });
    expect(answer.body).toMatchObject({
      code: "workspace_mismatch",
      boundWorkspace: world.stage.folder,
      requestedWorkspace: other,
    });
    const right = await world.call("POST", `${path}/load`, { body: { cwd: world.stage.folder } });
    expect(right.status).toBe(200);
  });

  it("sets the approval mode; one that is not allowed takes the visit back", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const body = { approvalMode: "auto" };
    expect((await world.call("POST", `${path}/load`, { body })).status).toBe(200);
    const live = await liveOf(world, sessionId);
    expect(live.session.chosen.approvalMode).toBe("auto");
    const free = await world.call("POST", `${path}/resume`, { body: { approvalMode: "yolo" } });
    expect([free.status, free.body.code]).toEqual([403, "trust_gate"]);
    expect((await statusOf(world, sessionId)).body.clientCount).toBe(2);
  });

  it("P8: of another tenant's session is like loading one that does not exist", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    for (const action of ["load", "resume"]) {
      const foreign = await world.call("POST", `${path}/${action}`, { as: STRANGER });
      const unknown = "6b1f3c9e-0000-4000-8000-000000000000";
      const missing = await world.call("POST", `/session/${unknown}/${action}`);
      expect(foreign.status).toBe(404);
      expect(foreign.text.replaceAll(sessionId, unknown)).toBe(missing.text);
      const malformed = await world.call("POST", `/session/no%20id/${action}`);
      expect(malformed.text.replaceAll("no id", unknown)).toBe(missing.text);
    }
  });
});

describe("84: restoring a session that another store has", () => {
  it("says which one has it, also to whoever only looks", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fermata-located-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const locator = new SessionLocator(folder);
    const key = keyOf("6b1f3c9e-0000-4000-8000-000000000000");
    await locator.note(key, "elsewhere");
    const steps = { location: { locator, isLasting: true } };
    const world = await openLife({ stage: { steps } });
    const path = `/session/${key.sessionId}`;
    const answers = await Promise.all([
      world.call("POST", `${path}/load`),
      world.call("POST", `${path}/resume`),
      world.call("GET", `${path}/status`),
    ]);
    for (const { status, body } of answers) {
      expect(status).toBe(409);
      expect(body).toMatchObject({
        code: "resume_mismatch",
        stored: "elsewhere",
        active: "sqlite",
      });
    }
  });
});

describe("resuming a session", () => {
  it("registers its client, cheaply, and has no history in its answer", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say one");
    const live = await liveOf(world, sessionId);
    const { status, body } = await world.call("POST", `${path}/resume`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      attached: true,
      hasActivePrompt: false,
      lastEventId: live.lastEventId,
      eventEpoch: live.epoch,
      state: expect.any(Object),
    });
    expect(body).not.toHaveProperty("compactedReplay");
    const clientId = String(body.clientId);
    const beat = await world.call("POST", `${path}/heartbeat`, { clientId });
    expect(beat.status).toBe(200);
  });
});

describe("a restore that takes too long", () => {
  it("P10: is answered, goes on by itself, and does not register its caller", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await world.end();
    const gate = new CommitGate();
    const stage = { folder: world.stage.folder, wrap: (store: SessionStore) => gate.around(store) };
    const clock = new PatientClock(REAL_CLOCK, 1_000);
    const settings = { sessionRestoreTimeoutMs: 1_000 };
    const next = await openLife({ stage, settings, world: { clock } });
    const held = gate.close("ada");
    const asked = next.call("POST", `${path}/load`, { clientId: "ada" });
    await held;
    clock.pass(1_000);
    const { status, headers, body } = await asked;
    expect(status).toBe(504);
    expect(body).toMatchObject({
      code: "session_restore_timeout",
      errorKind: "restore_timeout",
      retryable: true,
      sessionId,
      action: "load",
      timeoutMs: 1_000,
    });
    expect(headers["retry-after"]).toBe("5");
    gate.open();
    const live = await liveOf(next, sessionId);
    await until(
      () => eventsOf(next, live.key),
      (events) => events.includes("client_detached"),
    );
    expect(live.present()).toEqual([]);
    const again = await next.call("POST", `${path}/load`, { clientId: "ada" });
    expect(again.body).toMatchObject({ clientId: "ada" });
  });
});

describe("a restore whose answer is lost", () => {
  it("leaves the session as it was, without its caller", async () => {
    const gate = new CommitGate();
    const world = await openLife({ stage: { wrap: (store) => gate.around(store) } });
    const { sessionId, clientId, path } = await made(world);
    const leave = new AbortController();
    const held = gate.close("bob");
    const call = { clientId: "bob", signal: leave.signal };
    const asked = world.call("POST", `${path}/resume`, call).catch(() => "gone");
    await held;
    leave.abort();
    expect(await asked).toBe("gone");
    await untilUnanswered(world);
    gate.open();
    const live = await liveOf(world, sessionId);
    await live.until(({ clients }) => clients.size === 2);
    await live.until(({ clients }) => clients.size === 1);
    expect((await statusOf(world, sessionId)).body.clients).toMatchObject([{ clientId }]);
  });
});
