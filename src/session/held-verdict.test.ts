import { describe, expect, it } from "vitest";
import { SESSION_IDLE_MS } from "../core/limits.ts";
import { AWAY, altered, Door } from "./altered-store.fixture.ts";
import { ada, NEVER, read, turn, withSession } from "./runtime.fixture.ts";
import { promptOf, Stage, value } from "./stage.fixture.ts";

/** A session with an open stream, and a prompt in it whose caller has no answer yet. */
async function unanswered(...script: readonly string[]) {
  const stage = await Stage.open();
  const { runtime, key, live } = await withSession(stage, ada);
  const stream = value(await runtime.subscribe(key, { after: null, epoch: null }));
  const prompt = promptOf(live, ...script);
  const admitted = value(await runtime.admit(key, prompt));
  await live.until(({ running }) => running === null);
  return { stage, runtime, key, live, stream, admitted };
}

describe("the verdict of a prompt whose caller has no answer yet", () => {
  it("P3: is kept back from streams until then, and comes in its place", async () => {
    const { runtime, stream, admitted } = await unanswered("say hello");
    // All that streams may have is there already, so the first reading has it all.
    const { value: first = [] } = await stream.next();
    const seen = first.flatMap(({ frames }) => frames.map(({ text }) => JSON.parse(text)));
    expect(seen.map(({ type }) => type)).toContain("session_update");
    expect(seen.map(({ type }) => type)).not.toContain("turn_complete");
    admitted.answered();
    const more = await read(stream, "turn_complete");
    const ids = [...seen, ...more].flatMap(({ id }) => id ?? []);
    expect(ids).toEqual(ids.map((_, index) => ids[0] + index));
    await runtime.shutDown(NEVER);
  });

  it("P10: is let out after a while, whatever has become of the caller", async () => {
    const { runtime, stream } = await unanswered("say hello");
    expect((await read(stream, "turn_complete")).at(-1)).toBeDefined();
    await runtime.shutDown(NEVER);
  });

  it("P3: is kept back also if its session was just being opened again", async () => {
    const door = new Door();
    let isAway = false;
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          commit: async (...args) => (isAway ? AWAY : real.commit(...args)),
          open: async (...args) => {
            await door.pass();
            return real.open(...args);
          },
        }),
    });
    const { runtime, key, live } = await withSession(stage, ada);
    const reopening = door.shut();
    isAway = true;
    await runtime.command(key, ada, { type: "metadata", displayName: "lost" });
    await reopening;
    isAway = false;
    const admitting = runtime.admit(key, promptOf(live, "say hello"));
    door.open();
    const { answered } = value(await admitting);
    await live.until(({ totals }) => totals.turnsCompleted === 1);
    expect(runtime.cursorOf(live).lastEventId).toBeLessThan(live.lastEventId);
    answered();
    expect(runtime.cursorOf(live).lastEventId).toBe(live.lastEventId);
    await runtime.shutDown(NEVER);
  });

  it("P3: is not in a replay either, and follows it without gap or repeat", async () => {
    const { runtime, key, live, admitted } = await unanswered("say hello");
    const replay = value(await runtime.replay(key, "full"));
    const shown = [...replay.compactedReplay, ...replay.liveJournal].map(({ type }) => type);
    expect(shown).not.toContain("turn_complete");
    expect(shown).toContain("session_update");
    expect(replay.lastEventId).toBeLessThan(live.lastEventId);
    admitted.answered();
    const after = { after: replay.lastEventId, epoch: replay.eventEpoch };
    const stream = value(await runtime.subscribe(key, after));
    const seen = await read(stream, "replay_complete");
    expect(seen[0]?.id).toBe(replay.lastEventId + 1);
    expect(seen.map(({ type }) => type)).toContain("turn_complete");
    await runtime.shutDown(NEVER);
  });

  it("P3: a stream that begins behind it waits for it, and is not sent to resync", async () => {
    const { runtime, key, live, admitted } = await unanswered("say hello");
    const opening = runtime.subscribe(key, { after: live.lastEventId, epoch: live.epoch });
    admitted.answered();
    const seen = await read(value(await opening), "replay_complete");
    expect(seen.map(({ type }) => type)).toEqual(["replay_complete"]);
    await runtime.shutDown(NEVER);
  });

  it("P3: a stream that waits for it while the session is let go is one of the next", async () => {
    const { stage, runtime, key, live, stream } = await unanswered("say hello");
    stream.cancel();
    const opening = runtime.subscribe(key, { after: live.lastEventId, epoch: live.epoch });
    stage.aheadMs = SESSION_IDLE_MS;
    await runtime.reapIdle();
    const anew = value(await opening);
    const next = value(await runtime.find(key));
    expect(next).not.toBe(live);
    const [seen] = await Promise.all([read(anew, "turn_complete"), turn(next, "say again")]);
    expect(seen.map(({ type }) => type)).toContain("turn_complete");
    await runtime.shutDown(NEVER);
  });

  it("is let out when the streams end", async () => {
    const { runtime, stream } = await unanswered("say hello");
    const [seen] = await Promise.all([read(stream, "stream_error"), runtime.shutDown(NEVER)]);
    expect(seen.map(({ type }) => type)).toContain("turn_complete");
  });
});
