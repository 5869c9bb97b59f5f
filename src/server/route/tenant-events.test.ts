import { describe, expect, it } from "vitest";
import { STRANGER } from "../daemon.fixture.ts";
import { type HeardFrame, StreamClient } from "../http/stream-client.fixture.ts";
import { heard, openWork, Work } from "./work.fixture.ts";

function sessionOf(frame: HeardFrame): { sessionId?: string; status?: string } {
  return Object(frame.data.data.session);
}

describe("GET /events", () => {
  it("tells all of a tenant's sessions, and then each that changes", async () => {
    const world = await openWork();
    const first = await Work.made(world);
    const second = await Work.made(world);
    const stream = await StreamClient.open(world, "/events");
    expect(stream.response.headers).not.toHaveProperty("x-qwen-event-epoch");
    const complete = await heard(stream, "replay_complete");
    expect(complete.data.data).toEqual({ replayedCount: 2 });
    const listed = stream.frames.map((frame) => sessionOf(frame).sessionId);
    expect(listed).toEqual(expect.arrayContaining([first.id, second.id]));
    const before = stream.frames.length;
    await second.admitted("hang");
    await stream.until(
      ({ frames }) => sessionOf(frames.at(-1) ?? expect.fail()).status === "running",
    );
    const changed = stream.frames.slice(before);
    expect(changed.every((frame) => frame.id === null)).toBe(true);
    expect(new Set(changed.map((frame) => sessionOf(frame).sessionId))).toEqual(
      new Set([second.id]),
    );
  });

  it("P1: tells nothing that is not durable, and P8: nothing of other tenants", async () => {
    const world = await openWork();
    const theirs = await Work.madeBy(STRANGER, world);
    const stream = await StreamClient.open(world, "/events");
    const complete = await heard(stream, "replay_complete");
    expect(complete.data.data).toEqual({ replayedCount: 0 });
    await theirs.live.until(({ connection }) => connection.sessionState === "ready");
    const ours = await Work.made(world);
    await stream.until(({ frames }) => {
      return frames.some((frame) => sessionOf(frame).sessionId === ours.id);
    });
    const told = stream.frames.map((frame) => sessionOf(frame).sessionId);
    expect(told).not.toContain(theirs.id);
  });

  it("P5: ends with the server, and says so", async () => {
    const world = await openWork();
    const stream = await StreamClient.open(world, "/events");
    await heard(stream, "replay_complete");
    await world.end();
    expect(await stream.over()).toBe("ended");
    expect(stream.frames.at(-1)?.data).toMatchObject({
      type: "stream_error",
      data: { errorKind: "daemon_shutdown" },
    });
  });
});
