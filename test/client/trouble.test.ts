import { describe, expect, it } from "vitest";
import { Fermata, type FollowedItem } from "../../src/client/index.ts";
import { ServeProcess, sharedServer } from "../server/serve.fixture.ts";
import { playedServer, streamOf } from "./played-server.fixture.ts";
import { RoughWay } from "./rough-way.fixture.ts";

const server = sharedServer();

const event = (id: number, type: string, data: object, promptId?: string) => ({
  id,
  v: 1,
  type,
  data: { sessionId: "s", ...data },
  ...(promptId && { promptId }),
  _meta: { serverTimestamp: 1 },
});

const said = (id: number, text: string) => {
  const content = { type: "text", text };
  return event(
    id,
    "session_update",
    {
      update: { sessionUpdate: "agent_message_chunk", content },
    },
    "p",
  );
};

const COMPLETE = { promptId: "p", stopReason: "end_turn" };

/** A server with one session, whose streams are played. */
const oneSession = (streams: (count: number) => ReturnType<typeof streamOf>, load: object = {}) =>
  playedServer((path, count) => {
    if (path.endsWith("/events")) return streams(count);
    if (path.endsWith("/load")) return { text: JSON.stringify(load) };
    if (path.endsWith("/prompt")) {
      const text = JSON.stringify({ promptId: "p", lastEventId: 0, eventEpoch: "e1" });
      return { status: 202, text };
    }
    return { text: JSON.stringify({ sessionId: "s" }) };
  });

describe("on a way that breaks", { timeout: 60_000 }, () => {
  it.each([1, 40, 200, 350, 500])(
    "P2: an answer that is cut after %d bytes is asked for again, and done once",
    async (bytes) => {
      const way = await RoughWay.to(server().port);
      const fermata = new Fermata({ url: way.url });
      way.cuts.push(bytes, bytes);
      const session = await fermata.sessions.create();
      way.cuts.push(bytes);
      const turn = await session.prompt("say once");
      expect(await turn.verdict).toMatchObject({ text: "once" });
      const types: string[] = [];
      const leaving = new AbortController();
      for await (const item of session.events({ signal: leaving.signal })) {
        if (item.kind === "event") types.push(item.event.type);
        if (item.kind === "connection" && item.state === "live") break;
      }
      leaving.abort();
      expect(types.filter((type) => type === "prompt_admitted")).toHaveLength(1);
      expect(types.filter((type) => type === "turn_complete")).toHaveLength(1);
      expect(types.filter((type) => type === "session_created")).toHaveLength(1);
    },
  );

  it("P3: a stream goes on where it was cut, however often and wherever", async () => {
    const way = await RoughWay.to(server().port);
    const fermata = new Fermata({ url: server().url });
    const made = await fermata.sessions.create();
    const words = Array.from({ length: 30 }, (_, n) => `say w${n}`).join("\n");
    await (await made.prompt(words)).verdict;
    const session = await new Fermata({ url: way.url }).sessions.open(made.id);
    const ids: number[] = [];
    const states = new Set<string>();
    for (let n = 1; n <= 6; n += 1) way.cuts.push(n * 613);
    for await (const item of session.events()) {
      if (item.kind === "event") ids.push(item.event.id);
      if (item.kind === "connection") states.add(item.state);
      if (item.kind === "connection" && item.state === "live") break;
    }
    expect(way.cuts).toEqual([]);
    expect(ids.length).toBeGreaterThan(30);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    const all = ["connecting", "live", "reconnecting", "replaying"];
    expect([...states].toSorted()).toEqual(all);
  });

  it("a call gives up after its patience, and says what was the matter", async () => {
    const way = await RoughWay.to(server().port);
    way.isClosed = true;
    const fermata = new Fermata({ url: way.url, patienceMs: 600 });
    const failed = fermata.agents.list();
    await expect(failed).rejects.toMatchObject({ code: "unreachable", status: null });
  });

  it("a server that says when to come back is asked then", async () => {
    const refusal = { error: "Starting", code: "server_starting" };
    const played = await playedServer((_, count) =>
      count === 1
        ? { status: 503, headers: { "retry-after": "1" }, text: JSON.stringify(refusal) }
        : { text: JSON.stringify({ agents: [] }) },
    );
    const startedMs = performance.now();
    expect(await new Fermata({ url: played.url }).agents.list()).toEqual([]);
    expect(performance.now() - startedMs).toBeGreaterThan(990);
  });
});

describe("a server that is none of ours, older or newer", { timeout: 60_000 }, () => {
  it.each([
    ["a page", { text: "<html>", headers: { "content-type": "text/html" } }],
    ["a list", { text: "[]" }],
    ["a refusal without a code", { status: 404, text: "{}" }],
  ])("is told from a refusal where it answers with %s", async (_, answer) => {
    const { url } = await playedServer(() => answer);
    const asked = new Fermata({ url }).agents.list();
    await expect(asked).rejects.toMatchObject({ code: "answer_unreadable" });
  });

  it("has a proxy before it that answers for it: the call is sent again", async () => {
    const { url } = await playedServer((_, count) =>
      count < 3
        ? { status: 502, text: "<html>Bad Gateway", headers: { "content-type": "text/html" } }
        : { text: JSON.stringify({ agents: [] }) },
    );
    expect(await new Fermata({ url }).agents.list()).toEqual([]);
  });

  it("may refuse with a code that this client does not know", async () => {
    const text = JSON.stringify({ error: "It is Sunday.", code: "sunday", day: 7 });
    const { url } = await playedServer(() => ({ status: 418, text }));
    const refused = new Fermata({ url }).agents.list();
    await expect(refused).rejects.toMatchObject({ code: "sunday", details: { day: 7 } });
  });

  it("may send events of new types: they are passed on, and the turn goes on", async () => {
    const { url } = await oneSession(() =>
      streamOf(
        said(1, "one"),
        event(2, "stage_entered", { stage: "review" }, "p"),
        { v: 1, type: "weather", data: {} },
        said(3, "two"),
        event(4, "turn_complete", COMPLETE, "p"),
      ),
    );
    const session = await new Fermata({ url }).sessions.open("s");
    const turn = await session.prompt("hi");
    const parts = [];
    for await (const part of turn) parts.push(part);
    expect(parts).toMatchObject([
      { type: "text", text: "one" },
      { type: "event", event: { type: "stage_entered" } },
      { type: "text", text: "two" },
    ]);
  });

  it("P3: leaves events out: the session is loaded, and nothing is told twice", async () => {
    const load = {
      compactedReplay: [said(1, "one two"), event(3, "turn_complete", COMPLETE, "p")],
      liveJournal: [],
      lastEventId: 3,
      eventEpoch: "e1",
    };
    const { url, asked } = await oneSession(
      (count) => (count === 1 ? streamOf(said(1, "one"), said(3, "three")) : streamOf()),
      load,
    );
    const session = await new Fermata({ url }).sessions.open("s");
    const turn = await session.prompt("hi");
    let text = "";
    for await (const part of turn) if (part.type === "text") text += part.text;
    expect(text).toBe("one two");
    expect(await turn.verdict).toMatchObject({ kind: "complete", text: "one two" });
    expect(asked).toContain("POST /session/s/load");
  });

  it("sends a frame that is none: the stream is given up, and what is wrong is told", async () => {
    const { url } = await oneSession(() => ({ ...streamOf(), text: "data: {nonsense\n\n" }));
    const session = await new Fermata({ url }).sessions.open("s");
    const turn = await session.prompt("hi");
    await expect(turn.verdict).rejects.toMatchObject({ code: "answer_unreadable" });
  });

  it("repeats a verdict without a number: it counts once", async () => {
    const verdict = event(2, "turn_complete", COMPLETE, "p");
    const { id: _, ...repeated } = verdict;
    const { url } = await oneSession(() => streamOf(said(1, "one"), repeated, verdict, repeated));
    const session = await new Fermata({ url }).sessions.open("s");
    const turn = await session.prompt("hi");
    expect(await turn.verdict).toMatchObject({ kind: "complete", text: "one", cost: null });
  });
});

describe("a server that comes back with another log", { timeout: 60_000 }, () => {
  it("has the client load the session anew and go on with it", async () => {
    const relaxed = await ServeProcess.start({ flags: ["--durability", "relaxed"] });
    try {
      const session = await new Fermata({ url: relaxed.url }).sessions.create();
      const items: FollowedItem[] = [];
      const leaving = new AbortController();
      const following = (async () => {
        for await (const item of session.events({ signal: leaving.signal })) items.push(item);
      })().catch(() => {});
      const view = session.view();
      const first = await session.prompt("say one");
      await first.verdict;
      await view.until(({ turns }) => turns[0]?.verdict != null);
      await relaxed.kill("SIGKILL");
      await relaxed.restart();
      await expect.poll(() => items.some(({ kind }) => kind === "resynced")).toBe(true);
      const next = await session.prompt("say two");
      expect(await next.verdict).toMatchObject({ text: "two" });
      const state = await view.until(({ turns }) => turns.at(-1)?.prompt === "say two");
      expect(state.turns.map(({ prompt }) => prompt)).toContain("say one");
      leaving.abort();
      await following;
      const epochs = new Set(
        items.flatMap((item) => (item.kind === "event" ? [item.cursor.epoch] : [])),
      );
      expect(epochs.size).toBe(2);
      view.dispose();
    } finally {
      await relaxed.end();
    }
  });

  it("does not know the session any more where it keeps none: that is said", async () => {
    const forgetful = await ServeProcess.start({ flags: ["--store", "memory"] });
    try {
      const session = await new Fermata({ url: forgetful.url }).sessions.create();
      const turn = await session.prompt("hang");
      const verdict = turn.verdict.catch((error) => error);
      await forgetful.kill("SIGKILL");
      await forgetful.restart();
      expect(await verdict).toMatchObject({ code: "session_not_found" });
    } finally {
      await forgetful.end();
    }
  });
});
