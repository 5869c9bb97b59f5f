import { describe, expect, it } from "vitest";
import { parseSessionId } from "../core/id.ts";
import { SESSION_IDLE_MS } from "../core/limits.ts";
import { SessionHost } from "./host.ts";
import { ada, bob, NEVER, read, turn, withSession } from "./runtime.fixture.ts";
import { finishedShown, promptOf, Stage, TENANT, value } from "./stage.fixture.ts";
import { sessionStats } from "./stats/stats.ts";

describe("a stream", () => {
  it("P3: goes on exactly where a client was, also over a restart of the server", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say one");
    const first = value(await runtime.subscribe(key, { after: 0, epoch: null }));
    const seen = await read(first, "replay_complete");
    const last = seen.findLast(({ id }) => id !== null)?.id ?? 0;
    await runtime.shutDown(NEVER);

    const after = await Stage.open({ folder: stage.folder });
    const again = new SessionHost(after.world);
    await again.recover();
    const found = value(await again.find(key));
    const request = { after: last, epoch: found.epoch };
    const second = value(await again.subscribe(key, request));
    await turn(found, "say two");
    const more = await read(second, "turn_complete");
    const ids = [...seen, ...more].flatMap(({ id }) => (id === null ? [] : [id]));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(more.map(({ type }) => type)).not.toContain("state_resync_required");
    await again.shutDown(NEVER);
  });

  it("ends with a word when the server stops, and the session is still there", async () => {
    const stage = await Stage.open();
    const { runtime, key } = await withSession(stage);
    const stream = value(await runtime.subscribe(key, { after: null, epoch: null }));
    const reading = read(stream, "never");
    await runtime.shutDown(NEVER);
    expect((await reading).at(-1)?.type).toBe("stream_error");
    const record = value(await stage.world.store.readRecord(key));
    expect(record).toMatchObject({ status: "inactive", closed: false });
  });
});

describe("a replay", () => {
  it("P3: shows finished turns folded and the open one; the stream goes on from it", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "chunks 30 20", "tool t1 kind=read", "say end");
    await live.submit(promptOf(live, "chunks 10 20", "tool t2 kind=read", "hang"));
    await live.until(({ connection }) => connection.turn.completedToolIds.size === 1);
    const replay = value(await runtime.replay(key, "full"));
    const kinds = finishedShown(replay).map(({ type }) => type);
    expect(kinds.filter((type) => type === "turn_complete")).toHaveLength(1);
    expect(kinds.filter((type) => type === "session_update").length).toBeLessThan(6);
    expect(JSON.stringify(replay.liveJournal)).toContain("agent_message_chunk");
    expect(replay).toMatchObject({ lastEventId: live.lastEventId, eventEpoch: live.epoch });
    await live.submit({ type: "cancel", atMs: Date.now(), actor: ada });
    const request = { after: replay.lastEventId, epoch: replay.eventEpoch };
    const seen = await read(value(await runtime.subscribe(key, request)), "turn_complete");
    const [first] = seen.flatMap(({ id }) => (id === null ? [] : [id]));
    expect(first).toBe(replay.lastEventId + 1);
    await runtime.shutDown(NEVER);
  });
});

describe("the stream of a tenant", () => {
  it("begins with all sessions, and then tells of each that changes", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    const stream = value(runtime.watchTenant({ tenantId: TENANT, userId: null, role: "owner" }));
    const statuses: string[] = [];
    const watching = (async () => {
      for await (const chunk of stream) {
        for (const { frames } of chunk) {
          for (const { text } of frames) {
            const { type, data } = JSON.parse(text);
            if (type === "session_updated") statuses.push(data.session.status);
          }
        }
        if (statuses.includes("running")) break;
      }
    })();
    await live.submit(promptOf(live, "hang"));
    await watching;
    expect(statuses[0]).toMatch(/^(?:ready|running)$/);
    expect(statuses.at(-1)).toBe("running");
    expect(key.tenantId).toBe(TENANT);
    await runtime.shutDown(AbortSignal.abort());
  });
});

describe("an export", () => {
  it.each(["md", "json", "jsonl"] as const)("as %s has what was said", async (format) => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say forty-two");
    const { pieces } = value(
      await runtime.export(live, format, {
        ...key,
        userId: null,
        signal: NEVER,
        sees: () => true,
      }),
    );
    let file = "";
    for await (const piece of pieces) file += piece;
    expect(file).toContain("forty-two");
    expect(value(await sessionStats(stage.world, live))).toMatchObject({
      turns: expect.anything(),
    });
    await runtime.shutDown(NEVER);
  });
});

describe("clients come and go", () => {
  it("the last one to leave lets the session rest; it stays addressable", async () => {
    const stage = await Stage.open();
    const { runtime, key } = await withSession(stage);
    value(await runtime.attach(key, bob));
    value(await runtime.detach(key, ada.clientId, ada));
    expect(runtime.liveOf(TENANT)).toHaveLength(1);
    value(await runtime.detach(key, bob.clientId, bob));
    expect(runtime.liveOf(TENANT)).toHaveLength(0);
    const found = value(await runtime.find(key));
    expect(found.session.connection.sessionState).toBe("inactive");
    await runtime.shutDown(NEVER);
  });

  it("detaching twice does no harm", async () => {
    const stage = await Stage.open();
    const { runtime, key } = await withSession(stage);
    for (let n = 0; n < 2; n += 1) value(await runtime.detach(key, bob.clientId, bob));
    expect(runtime.liveOf(TENANT)).toHaveLength(1);
    await runtime.shutDown(NEVER);
  });

  it("an owner who vanished takes the session along, unless somebody has joined", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    value(await runtime.attach(key, bob));
    await runtime.ownerVanished(live, ada);
    expect(runtime.liveOf(TENANT)).toHaveLength(1);
    value(await runtime.detach(key, bob.clientId, bob));
    expect(await runtime.find(key)).toMatchObject({ refusal: { code: "session_not_found" } });
    const alone = await withSession(stage);
    await alone.runtime.ownerVanished(alone.live, ada);
    const gone = await stage.world.store.readRecord(alone.key);
    expect(gone).toMatchObject({ refusal: { code: "session_not_found" } });
    await runtime.shutDown(NEVER);
    await alone.runtime.shutDown(NEVER);
  });

  it("a session that nobody uses is let go after a while, but not while one watches", async () => {
    const stage = await Stage.open();
    const { runtime, key } = await withSession(stage);
    const stream = value(await runtime.subscribe(key, { after: null, epoch: null }));
    stage.aheadMs = SESSION_IDLE_MS;
    await runtime.reapIdle();
    expect(runtime.liveOf(TENANT)).toHaveLength(1);
    stream.cancel();
    await runtime.reapIdle();
    expect(runtime.liveOf(TENANT)).toHaveLength(0);
    await runtime.shutDown(NEVER);
  });
});

describe("a session that a client has closed", () => {
  it("answers as if it had never been, until somebody loads it", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "My name is Ada.");
    const atMs = stage.world.clock.nowMs();
    value(await runtime.submit(key, { type: "close", atMs, actor: ada }));
    await live.until(({ closed }) => closed);
    const missing = { ok: false, refusal: { code: "session_not_found" } };
    expect(await runtime.find(key)).toMatchObject(missing);
    expect(await runtime.heartbeat(key, ada)).toMatchObject(missing);
    const back = value(await runtime.resume(key, bob)).live;
    expect(back.session.closed).toBe(false);
    await turn(back, "recall");
    expect(value(await runtime.find(key))).toBe(back);
    await runtime.shutDown(NEVER);
  });

  it("P8: of another tenant, or of nobody, is not found either", async () => {
    const stage = await Stage.open();
    const { runtime } = await withSession(stage);
    const sessionId = parseSessionId("unknown") ?? expect.fail();
    expect(await runtime.find({ tenantId: TENANT, sessionId })).toMatchObject({
      refusal: { code: "session_not_found" },
    });
    await runtime.shutDown(NEVER);
  });
});
