import { describe, expect, it } from "vitest";
import { SNAPSHOT_BYTES_MAX, SUBSCRIBERS_MAX } from "../../core/limits.ts";
import { PlayedAgents } from "../../session/played-agents.fixture.ts";
import { ada } from "../../session/runtime.fixture.ts";
import { value } from "../../session/stage.fixture.ts";
import { summaryOfLive } from "../../session/view/summary.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { type HeardFrame, StreamClient } from "../http/stream-client.fixture.ts";
import { expectNoGap, heard, openWork, Work, withoutError } from "./work.fixture.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const FROM_START = { "last-event-id": "0" };

/** What a client sends that comes back. */
function backAt(stream: StreamClient) {
  return {
    "last-event-id": String(stream.lastId),
    "x-qwen-event-epoch": String(stream.response.headers["x-qwen-event-epoch"]),
  };
}

function typesOf(stream: StreamClient): readonly string[] {
  return stream.frames.map(({ event }) => event);
}

describe("GET /session/:id/events", () => {
  it("opens at once, and says which log this is", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    const { statusCode, headers } = stream.response;
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-qwen-event-epoch": work.live.epoch,
      "x-qwen-sse-stream-id": expect.stringMatching(UUID),
    });
    await stream.until(({ beginning }) => beginning.startsWith("retry: 3000\n\n"));
  });

  it("without a cursor tells what happens from now on, and nothing else", async () => {
    const work = await Work.made(await openWork());
    await work.turn("say before");
    const { lastEventId } = work.live;
    const stream = await work.stream();
    const promptId = await work.admitted("say after");
    await heard(stream, "turn_complete", promptId);
    expect(stream.frames[0]?.id).toBe(lastEventId + 1);
    expect(typesOf(stream)).not.toContain("replay_complete");
    expectNoGap(stream.frames);
  });

  it("P3: replays what is after the cursor, says where that ends, and goes on", async () => {
    const work = await Work.made(await openWork());
    await work.turn("say before");
    const through = work.live.lastEventId;
    const stream = await work.stream(FROM_START);
    const complete = await heard(stream, "replay_complete");
    expect(complete.data.data).toEqual({
      replayedCount: through,
      lastReplayedEventId: through,
      lastEventId: through,
    });
    await heard(stream, "turn_complete", await work.admitted("say after"));
    expect(stream.frames[0]?.id).toBe(1);
    expect(stream.frames[through]?.event).toBe("replay_complete");
    expectNoGap(stream.frames);
  });

  it("completes a replay of nothing too", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream({ "last-event-id": String(work.live.lastEventId) });
    const complete = await heard(stream, "replay_complete");
    expect(complete.data.data).toEqual({ replayedCount: 0, lastEventId: work.live.lastEventId });
  });

  it("P3: goes on in the middle of a turn without gap or repeat, however often", async () => {
    const agents = new PlayedAgents();
    const work = await Work.made(await openWork({ world: { agents } }));
    const whole = await work.stream(FROM_START);
    let stream = await work.stream(FROM_START);
    const seen: HeardFrame[] = [];
    const promptId = await work.admitted("talk");
    await work.live.until(({ running }) => running !== null);
    for (let visit = 1; visit <= 8; visit += 1) {
      await agents.last.say(`while the client is there ${visit}`);
      await stream.until(({ frames }) => JSON.stringify(frames).includes(`there ${visit}`));
      stream.leave();
      await stream.over();
      seen.push(...stream.frames);
      await agents.last.say(`while it is away ${visit}`);
      stream = await work.stream(backAt(stream));
      await heard(stream, "replay_complete");
    }
    agents.last.finish();
    await heard(stream, "turn_complete", promptId);
    await heard(whole, "turn_complete", promptId);
    seen.push(...stream.frames);
    expect(seen.map(({ event }) => event)).not.toContain("state_resync_required");
    const isEvent = ({ id }: HeardFrame) => id !== null;
    const through = Math.min(stream.lastId, whole.lastId);
    const events = seen.filter(isEvent).slice(0, through);
    expect(events).toEqual(whole.frames.filter(isEvent).slice(0, through));
    expectNoGap(events);
  });

  it("P3: goes on at another server where it was at the last one", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    const first = await work.stream(FROM_START);
    await heard(first, "turn_complete", await work.admitted("say before"));
    await world.end();
    expect(await first.over()).toBe("ended");
    const next = await openWork({ stage: { folder: world.stage.folder } });
    const second = await StreamClient.open(next, `${work.path}/events`, backAt(first));
    await heard(second, "replay_complete");
    expect(second.response.headers["x-qwen-event-epoch"]).toBe(work.live.epoch);
    expect(typesOf(second)).not.toContain("state_resync_required");
    expectNoGap([...first.frames, ...second.frames]);
  });

  it("P3: tells two clients of one session the very same", async () => {
    const work = await Work.made(await openWork(), "ada", "bob");
    const streams = [await work.stream(), await work.stream()];
    const prompts = ["say one", "say two"].map((script, index) => {
      return work.admitted(script, { clientId: index === 0 ? "ada" : "bob" });
    });
    for (const promptId of await Promise.all(prompts)) {
      for (const stream of streams) await heard(stream, "turn_complete", promptId);
    }
    const [one, two] = streams.map(({ frames }) => frames.filter(({ id }) => id !== null));
    const length = Math.min(one?.length ?? 0, two?.length ?? 0);
    expect(length).toBeGreaterThan(6);
    expect(one?.slice(0, length)).toEqual(two?.slice(0, length));
  });
});

describe("a cursor that cannot be continued", () => {
  it("of another log has to resync, and gets all that is there", async () => {
    const work = await Work.made(await openWork());
    const epoch = { "x-qwen-event-epoch": "another" };
    const stream = await work.stream({ "last-event-id": "2", ...epoch });
    await heard(stream, "replay_complete");
    expect(stream.frames[0]?.data).toMatchObject({
      type: "state_resync_required",
      data: {
        reason: "epoch_reset",
        detail: "epoch_mismatch",
        lastDeliveredId: 2,
        earliestAvailableId: 1,
      },
    });
    expect(stream.frames[1]?.id).toBe(1);
  });

  it("of events that never were has to resync as well", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream({ "last-event-id": "1000000" });
    await heard(stream, "replay_complete");
    expect(stream.frames[0]?.data.data).toMatchObject({
      reason: "epoch_reset",
      lastDeliveredId: 1_000_000,
    });
  });

  it("of events that are not kept any more gets those that are", async () => {
    const work = await Work.made(await openWork({ stage: { settings: { eventsKeptMax: 5 } } }));
    await work.turn("say one");
    const stream = await work.stream(FROM_START);
    await heard(stream, "replay_complete");
    const { data } = stream.frames[0]?.data ?? expect.fail();
    expect(data).toMatchObject({ reason: "ring_evicted", lastDeliveredId: 0 });
    expect(stream.frames[1]?.id).toBe(data.earliestAvailableId);
    expectNoGap(stream.frames);
  });

  it("is none at all if it is no number of an event", async () => {
    const work = await Work.made(await openWork());
    const epoch = { "x-qwen-event-epoch": "no epoch" };
    const cursors = ["-1", "abc", "1.5", "9007199254740993"];
    const opening = cursors.map((cursor) => work.stream({ "last-event-id": cursor, ...epoch }));
    const streams = await Promise.all(opening);
    await work.call("POST", "/cancel");
    for (const stream of streams) {
      await heard(stream, "prompt_cancelled");
      expect(typesOf(stream)).toEqual(["prompt_cancelled"]);
    }
  });
});

describe("a snapshot in a stream", () => {
  it("comes first where there is no replay, and right after one else", async () => {
    const work = await Work.made(await openWork());
    const live = await work.stream({}, "?snapshot=1");
    const snapshot = await heard(live, "session_snapshot");
    expect(live.frames[0]).toBe(snapshot);
    expect(snapshot.id).toBeNull();
    expect(snapshot.data.data).toEqual({
      sessionId: work.id,
      currentModelId: "echo-small",
      currentApprovalMode: "default",
      status: "ready",
      turn: { sessionId: work.id, state: "idle" },
      asks: [],
    });
    await work.call("POST", "/model", { body: { modelId: "echo-large" } });
    await work.call("POST", "/approval-mode", { body: { mode: "auto" } });
    const replayed = await work.stream(FROM_START, "?snapshot=1");
    const again = await heard(replayed, "session_snapshot");
    expect(again.data.data).toMatchObject({
      currentModelId: "echo-large",
      currentApprovalMode: "auto",
    });
    expect(typesOf(replayed).slice(-2)).toEqual(["replay_complete", "session_snapshot"]);
  });

  it("P1: tells a client that joins what runs and what is asked, as the routes do", async () => {
    const work = await Work.made(await openWork(), "ada");
    const stream = await work.stream();
    const promptId = await work.admitted("ask command=ls\nsay done");
    const ask = await heard(stream, "permission_request");
    const joined = await work.stream({}, "?snapshot=1");
    const { data } = (await heard(joined, "session_snapshot")).data;
    expect(data).toMatchObject({
      status: "waiting",
      turn: { promptId, state: "running", promptText: "ask command=ls\nsay done" },
      asks: [{ requestId: ask.data.data.requestId, kind: "permission" }],
    });
    expect(data.turn).toEqual((await work.call("GET", "/turns/current")).body);
    expect(data.asks).toEqual(summaryOfLive(work.live).pendingInteractions);
  });

  it("P10: names asks only, where they are too large for one frame", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    await work.admitted(`ask command=${"x".repeat(SNAPSHOT_BYTES_MAX)}`);
    const ask = await heard(stream, "permission_request");
    const joined = await work.stream({}, "?snapshot=1");
    const snapshot = await heard(joined, "session_snapshot");
    const { requestId } = ask.data.data;
    const createdAt = expect.any(String);
    expect(snapshot.data.data).toMatchObject({
      status: "waiting",
      asks: [{ requestId, kind: "permission", createdAt }],
      asksCut: true,
    });
    expect(Buffer.byteLength(JSON.stringify(snapshot.data))).toBeLessThan(SNAPSHOT_BYTES_MAX);
  });
});

describe("the end of a stream", () => {
  it("comes with the session's end, which is its last frame", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    await work.admitted("hang");
    const { host } = work.world.daemon;
    value(await host.close(work.live.key, ada));
    expect(await stream.over()).toBe("ended");
    const types = typesOf(stream);
    expect(types.at(-1)).toBe("session_closed");
    expect(types).toContain("turn_error");
    const gone = await work.call("GET", "/events");
    expect([gone.status, gone.body.code]).toEqual([404, "session_not_found"]);
  });

  it("comes with the agent's end, and whoever comes back finds the session there", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    const promptId = await work.admitted("crash 3");
    expect(await stream.over()).toBe("ended");
    const died = stream.frames.at(-1);
    expect(died?.data).toMatchObject({
      type: "session_died",
      data: { reason: "channel_closed", exitCode: 3, signalCode: null },
    });
    const verdict = stream.frames.find(({ event }) => event === "turn_error");
    expect(verdict?.data.data).toMatchObject({ promptId, code: "channel_closed" });
    const back = await work.stream(backAt(stream));
    await heard(back, "turn_complete", await work.admitted("say again"));
    expectNoGap([...stream.frames, ...back.frames]);
  });

  it("P5: comes with the server's, without an end of the session", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    await work.world.end();
    expect(await stream.over()).toBe("ended");
    const last = stream.frames.at(-1);
    expect(last).toMatchObject({ id: null, event: "stream_error" });
    expect(last?.data.data.errorKind).toBe("daemon_shutdown");
    expect(typesOf(stream)).not.toContain("session_died");
  });
});

describe("a stream that is not opened", () => {
  it("P10: is one more than a session may have", async () => {
    const work = await Work.made(await openWork());
    const opened = Array.from({ length: SUBSCRIBERS_MAX }, () => work.stream());
    const streams = await Promise.all(opened);
    const answer = await work.call("GET", "/events");
    expect(answer.status).toBe(429);
    expect(answer.headers["retry-after"]).toBe("5");
    expect(withoutError(answer.body)).toEqual({ code: "subscriber_limit_exceeded", limit: 64 });
    streams[0]?.leave();
    await streams[0]?.over();
    // The place is free when the server has heard that the other is gone.
    let status = 429;
    while (status === 429) status = (await work.stream()).response.statusCode ?? 0;
    expect(status).toBe(200);
  });

  it("has a queue that no stream can have", async () => {
    const work = await Work.made(await openWork());
    for (const maxQueued of ["15", "2049", "many", ""]) {
      const answer = await work.call("GET", `/events?maxQueued=${maxQueued}`);
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_max_queued"]);
    }
    const stream = await work.stream({}, "?maxQueued=16&connectReason=whatever");
    expect(stream.response.statusCode).toBe(200);
  });

  it("P8: is one of a session that is not there for this caller", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    for (const query of ["", "?maxQueued=1"]) {
      const foreign = await work.call("GET", `/events${query}`, { as: STRANGER });
      const unknown = await world.call("GET", `/session/nobody/events${query}`);
      expect([foreign.status, unknown.status]).toEqual([404, 404]);
      expect(foreign.text).toBe(unknown.text.replaceAll("nobody", work.id));
    }
  });

  it("is none for a bad name of its client, which nobody looks at", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream({ "x-qwen-client-id": "no name" });
    expect(stream.response.statusCode).toBe(200);
  });
});
