import { describe, expect, it } from "vitest";
import { TURN_STATUS_TEXT_CHARS_MAX, TURN_STATUS_TURNS_MAX } from "../../core/limits.ts";
import { PlayedAgents } from "../../session/played-agents.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { openWork, Work, withoutError } from "./work.fixture.ts";

const when = expect.any(Number);

async function statusOf(work: Work, promptId: string) {
  const { status, body } = await work.call("GET", `/turns/${promptId}`);
  expect(status).toBe(200);
  return body;
}

describe("GET /session/:id/turns/:promptId", () => {
  it("knows what runs and what waits", async () => {
    const work = await Work.made(await openWork(), "ada");
    const running = await work.admitted("hang", { clientId: "ada" });
    const queued = await work.admitted("say hello");
    await work.live.until((session) => session.running !== null);
    expect(await statusOf(work, running)).toEqual({
      sessionId: work.id,
      state: "running",
      promptId: running,
      promptText: "hang",
      queuedAt: when,
      startedAt: when,
      originatorClientId: "ada",
    });
    expect(await statusOf(work, queued)).toEqual({
      sessionId: work.id,
      state: "queued",
      promptId: queued,
      promptText: "say hello",
      queuedAt: when,
    });
  });

  it("has of the agent's words those after its last tool call", async () => {
    const work = await Work.made(await openWork(), "ada");
    const silent = await work.turn("say I look first\ntool");
    expect(await statusOf(work, silent)).not.toHaveProperty("resultText");
    const twice = await work.turn("say one\ntool\nsay two\ntool\nsay three\nsay four");
    expect(await statusOf(work, twice)).toMatchObject({ resultText: "threefour" });
    const current = await work.call("GET", "/turns/current");
    expect(current.body).toMatchObject({ promptId: twice, resultText: "threefour" });
  });

  it("knows what has become of prompts, with the agent's last words", async () => {
    const work = await Work.made(await openWork(), "ada");
    const promptId = await work.turn("say hello\ntool\nsay  world", { clientId: "ada" });
    expect(await statusOf(work, promptId)).toEqual({
      sessionId: work.id,
      state: "completed",
      stopReason: "end_turn",
      promptId,
      promptText: "say hello\ntool\nsay  world",
      startedAt: when,
      endedAt: when,
      cost: null,
      resultText: "world",
      originatorClientId: "ada",
    });
    const failed = await work.turn("say so far\nfail -32001 no luck");
    expect(await statusOf(work, failed)).toMatchObject({
      state: "error",
      error: { code: "-32001", message: "no luck" },
      resultText: "so far",
    });
  });

  it.each([
    ["/skill nope", "skill_not_found"],
    ["/agent nope", "agent_not_found"],
    ["/", "parse_error"],
    ["/skills extra", "invalid_args"],
    ["/nope", "unknown_command"],
  ])("says that the command %s failed, and with which code", async (line, code) => {
    const work = await Work.made(await openWork());
    const failed = await work.turn(line);
    const error = { code, message: expect.any(String) };
    expect(await statusOf(work, failed)).toMatchObject({ state: "error", error });
    expect((await work.call("GET", "/turns/current")).body).toMatchObject({
      state: "error",
      promptId: failed,
      error,
    });
    const listed = await work.turn("/skills");
    expect(await statusOf(work, listed)).toMatchObject({ state: "completed" });
  });

  it("knows of one that was cancelled, and of one that was taken back unrun", async () => {
    const work = await Work.made(await openWork());
    const running = await work.admitted("hang");
    const waiting = await work.admitted("say hello");
    await work.call("DELETE", `/pending-prompts/${waiting}`);
    const removed = {
      sessionId: work.id,
      state: "cancelled",
      stopReason: "cancelled",
      promptId: waiting,
      promptText: "say hello",
      queuedAt: when,
      endedAt: when,
      cost: null,
    };
    expect(await statusOf(work, waiting)).toEqual(removed);
    await work.call("POST", "/cancel");
    await work.live.until((session) => session.running === null);
    expect(await statusOf(work, running)).toMatchObject({
      state: "cancelled",
      stopReason: "cancelled",
    });
    expect(await statusOf(work, waiting)).toEqual(removed);
  });

  it("says when one came that had to wait, though that was in the turn before", async () => {
    const work = await Work.made(await openWork());
    await work.admitted("hang");
    const promptId = await work.admitted("say hello");
    await work.call("POST", "/cancel");
    await work.live.until(({ running, queue }) => running === null && queue.length === 0);
    expect(await statusOf(work, promptId)).toMatchObject({
      state: "completed",
      queuedAt: when,
      startedAt: when,
      endedAt: when,
    });
  });

  it("P10: cuts long words, and says so", async () => {
    const work = await Work.made(await openWork());
    const promptId = await work.turn(`chunks 40 1k\n# ${"x".repeat(40_000)}`);
    const status = await statusOf(work, promptId);
    expect(String(status.resultText)).toHaveLength(TURN_STATUS_TEXT_CHARS_MAX);
    expect(String(status.promptText)).toHaveLength(TURN_STATUS_TEXT_CHARS_MAX);
    expect(status).toMatchObject({
      promptTextTruncated: true,
      resultTruncated: true,
      resultCode: "RESULT_TEXT_TRUNCATED",
    });
  });

  it("P5: knows after a restart what the old server could not finish", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    const done = await work.turn("say hello");
    const cut = await work.admitted("say half\nhang");
    await work.live.until((session) => session.connection.turn.hasOutput);
    await world.end();
    const next = await openWork({ stage: { folder: world.stage.folder } });
    const path = `${work.path}/turns/`;
    const { body } = await next.call("GET", `${path}${cut}`);
    expect(body).toMatchObject({ state: "error", error: { code: "daemon_shutdown" } });
    expect((await next.call("GET", `${path}${done}`)).body).toMatchObject({ state: "completed" });
    expect((await next.call("GET", `${path}current`)).body).toMatchObject({ promptId: cut });
  });

  it("P10: remembers so many turns, and no more", async () => {
    const agents = new PlayedAgents();
    agents.play = (agent) => agent.finish();
    const work = await Work.made(await openWork({ world: { agents } }));
    const first = await work.turn("first");
    const second = await work.turn("second");
    for (let more = 1; more < TURN_STATUS_TURNS_MAX; more += 1) await work.turn("more");
    expect((await work.call("GET", `/turns/${first}`)).status).toBe(404);
    expect(await statusOf(work, second)).toMatchObject({ state: "completed" });
  });

  it("P8: knows no prompts that are not there, and no clients or callers of others", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    for (const promptId of ["none", "no id"]) {
      const answer = await work.call("GET", `/turns/${encodeURIComponent(promptId)}`);
      expect(answer.status).toBe(404);
      expect(withoutError(answer.body)).toEqual({
        code: "prompt_not_found",
        sessionId: work.id,
        promptId,
      });
    }
    const foreign = await work.call("GET", "/turns/current", { as: STRANGER });
    expect([foreign.status, foreign.body.code]).toEqual([404, "session_not_found"]);
    const eve = await work.call("GET", "/turns/current", { clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
  });
});

describe("GET /session/:id/turns/current", () => {
  it("is nothing, then what runs, then what ran last", async () => {
    const work = await Work.made(await openWork());
    const current = async () => (await work.call("GET", "/turns/current")).body;
    expect(await current()).toEqual({ sessionId: work.id, state: "idle" });
    const running = await work.admitted("hang");
    const queued = await work.admitted("say last");
    await work.live.until((session) => session.running !== null);
    expect(await current()).toMatchObject({ state: "running", promptId: running });
    await work.call("POST", "/cancel");
    await work.live.until(({ totals }) => totals.turnsCompleted === 2);
    expect(await current()).toMatchObject({
      state: "completed",
      promptId: queued,
      resultText: "last",
    });
  });
});
