import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { TRANSCRIPT_PAGE_BYTES_MAX } from "../../core/limits.ts";
import { writeTranscriptCursor } from "../../session/view/transcript.ts";
import { SessionBeside } from "./beside.fixture.ts";

interface Event {
  readonly type: string;
  readonly promptId?: string;
  readonly data: JsonObject;
}

function eventsOf(body: JsonObject): readonly Event[] {
  return Object(body.events);
}

/** What people said, in the order of a page. */
function saidIn(body: JsonObject): readonly unknown[] {
  const chunks = eventsOf(body).filter(({ data }) => data.sessionUpdate === "user_message_chunk");
  return chunks.map(({ data }) => Object(data.content).text);
}

/** A session with turns in which these were said. */
async function conversation(...said: readonly string[]) {
  const beside = await SessionBeside.open();
  for (const text of said) await beside.turn(text);
  return beside;
}

async function pagesOf(beside: SessionBeside, query: string): Promise<readonly JsonObject[]> {
  const { status, body } = await beside.get(`/transcript${query}`);
  expect(status).toBe(200);
  expect(body.hasMore).toBe(body.nextCursor !== undefined);
  if (body.nextCursor === undefined) return [body];
  const { limit } = Object.fromEntries(new URLSearchParams(query));
  return [body, ...(await pagesOf(beside, `?limit=${limit}&cursor=${body.nextCursor}`))];
}

describe("GET /session/:id/transcript", () => {
  it("is the finished turns, without ids, each update as the agent said it", async () => {
    const beside = await conversation("hello");
    const { status, body } = await beside.get("/transcript");
    expect(status).toBe(200);
    const { sessionId } = beside;
    expect(body).toMatchObject({ v: 1, sessionId, hasMore: false });
    for (const time of [body.startTime, body.lastUpdated]) {
      expect(new Date(String(time)).toISOString()).toBe(time);
    }
    const events = eventsOf(body);
    expect(events.filter((event) => "id" in event)).toEqual([]);
    const [asked, answered] = events.filter(({ type }) => type === "session_update");
    expect(asked?.data).toMatchObject({
      sessionUpdate: "user_message_chunk",
      content: { type: "text", text: "hello" },
      _meta: { source: "bridge-echo", "qwen.session.recordId": asked?.promptId },
    });
    expect(answered?.data).toMatchObject({ sessionUpdate: "agent_message_chunk" });
    const verdict = events.find(({ type }) => type === "turn_complete");
    expect(verdict).toMatchObject({ v: 1, data: { sessionId, promptId: asked?.promptId } });
  });

  it("has no turn in it that is still at work", async () => {
    const beside = await conversation("one");
    const live = await beside.live();
    const running = beside.turn("hang");
    await live.until(({ running: prompt }) => prompt !== null);
    expect(saidIn((await beside.get("/transcript")).body)).toEqual(["one"]);
    await live.submit({ type: "cancel", atMs: Date.now(), actor: { kind: "server" } });
    await running;
  });

  it("P3: comes in pages from the first turn on, and ends where it ended at first", async () => {
    const beside = await conversation("1", "2", "3", "4", "5");
    const pages = await pagesOf(beside, "?limit=2");
    expect(pages.flatMap(saidIn)).toEqual(["1", "2", "3", "4", "5"]);
    expect(pages.map((page) => saidIn(page).length)).toEqual([2, 2, 1]);
    await beside.turn("6");
    const cursor = pages[1]?.nextCursor;
    const { body } = await beside.get(`/transcript?limit=2&cursor=${cursor}`);
    expect([saidIn(body), body.hasMore]).toEqual([["5"], false]);
  });

  it("comes in pages back from the last one, each of them in order", async () => {
    const beside = await conversation("1", "2", "3", "4", "5");
    const pages = await pagesOf(beside, "?limit=2&direction=backward");
    expect(pages.map(saidIn)).toEqual([["4", "5"], ["2", "3"], ["1"]]);
  });

  it("comes in pages back from the record that is named, without it", async () => {
    const beside = await conversation("1", "2", "3", "4");
    const events = eventsOf((await beside.get("/transcript")).body);
    const fourth = events.findLast(({ type }) => type === "turn_complete");
    for (const name of [fourth?.promptId, fourth?.data.turnId]) {
      const pages = await pagesOf(beside, `?limit=2&beforeRecordId=${name}`);
      expect(pages.map(saidIn)).toEqual([["2", "3"], ["1"]]);
    }
    const first = events.find(({ type }) => type === "turn_complete");
    const { body } = await beside.get(`/transcript?beforeRecordId=${first?.promptId}`);
    expect(saidIn(body)).toEqual([]);
    expect(body.hasMore).toBe(false);
  });

  it("is read from the store, and wakes nobody", async () => {
    const beside = await conversation("one");
    await beside.rest();
    expect(saidIn((await beside.get("/transcript")).body)).toEqual(["one"]);
    expect(beside.world.daemon.host.liveOf(beside.key.tenantId)).toEqual([]);
  });

  it("is refused with a limit that is none, or too high", async () => {
    const beside = await SessionBeside.open();
    for (const limit of ["0", "501", "-1", "1.5", "many", ""]) {
      const { status, body } = await beside.get(`/transcript?limit=${limit}`);
      expect([status, body]).toEqual([
        400,
        {
          error: expect.any(String),
          code: "invalid_transcript_limit",
          min: 1,
          max: 500,
          maxLimit: 500,
        },
      ]);
    }
  });

  it("P8: takes no cursor of another session, and none beside another place", async () => {
    const beside = await conversation("1", "2");
    const { nextCursor } = (await beside.get("/transcript?limit=1")).body;
    const sessionId = beside.world.daemon.world.ids.session();
    const position = { direction: "backward", before: 9 } as const;
    const foreign = writeTranscriptCursor({ sessionId, epoch: "e", position });
    for (const query of [
      `cursor=${foreign}`,
      `cursor=${nextCursor}x`,
      "cursor=odd",
      "cursor=",
      `cursor=${nextCursor}&beforeRecordId=any`,
      `cursor=${nextCursor}&direction=backward`,
      "beforeRecordId=nobody-knows-it",
      "beforeRecordId=",
    ]) {
      const { status, body } = await beside.get(`/transcript?${query}`);
      expect([query, status, body.code]).toEqual([query, 400, "invalid_transcript_cursor"]);
    }
  });

  it("P8: refuses what is no cursor alike, whether there is such a session or not", async () => {
    const beside = await conversation("1");
    const ask = (id: string, query: string) =>
      beside.world.call("GET", `/session/${id}/transcript?${query}`);
    const unknown = beside.world.daemon.world.ids.session();
    const [here, nowhere] = await Promise.all([
      ask(beside.sessionId, "cursor=odd"),
      ask(unknown, "cursor=odd"),
    ]);
    expect([nowhere.status, nowhere.body]).toEqual([here.status, here.body]);
    expect(nowhere.body.code).toBe("invalid_transcript_cursor");
    expect((await ask(unknown, "limit=0")).body.code).toBe("invalid_transcript_limit");
    expect((await ask(unknown, "limit=1")).status).toBe(404);
  });

  it("P3: says so when the log that a cursor belongs to is not there any more", async () => {
    const beside = await conversation("1");
    const { sessionId } = beside;
    const position = { direction: "backward", before: 9 } as const;
    const cursor = writeTranscriptCursor({ sessionId, epoch: "another", position });
    const { status, body } = await beside.get(`/transcript?cursor=${cursor}`);
    const code = "transcript_snapshot_unavailable";
    expect([status, body]).toEqual([409, { error: expect.any(String), code, sessionId }]);
  });

  it("P10: gives no page that is too large, and a way past the turn that is", async () => {
    const beside = await conversation("1", "chunks 90 100k", "3");
    const first = await beside.get("/transcript");
    expect([saidIn(first.body), first.body.hasMore]).toEqual([["1"], true]);
    const { status, body } = await beside.get(`/transcript?cursor=${first.body.nextCursor}`);
    expect([status, body.code]).toEqual([413, "transcript_page_too_large"]);
    expect(body.pageBytes).toBeGreaterThan(TRANSCRIPT_PAGE_BYTES_MAX);
    expect(body.maxBytes).toBe(TRANSCRIPT_PAGE_BYTES_MAX);
    const last = await beside.get(`/transcript?cursor=${body.nextCursor}`);
    expect([saidIn(last.body), last.body.hasMore]).toEqual([["3"], false]);
  });
});
