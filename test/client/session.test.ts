import { describe, expect, it } from "vitest";
import { Fermata, FermataError, type TurnPart } from "../../src/client/index.ts";
import { sharedServer } from "../server/serve.fixture.ts";

const server = sharedServer();
const client = () => new Fermata({ url: server().url });

/** All that a turn tells, with texts joined. */
async function partsOf(turn: AsyncIterable<TurnPart>): Promise<readonly TurnPart[]> {
  const parts: TurnPart[] = [];
  for await (const part of turn) parts.push(part);
  return parts;
}

describe("a session of the client", { timeout: 60_000 }, () => {
  it("tells a turn in parts, and how it ended as a value", async () => {
    const session = await client().sessions.create({ agent: "echo" });
    const turn = await session.prompt("say one\ntool\nsay two\nsay three");
    const parts = await partsOf(turn);
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    expect(text).toBe("onetwothree");
    const calls = parts.flatMap((part) => (part.type === "tool" ? [part.call] : []));
    expect(new Set(calls).size).toBe(1);
    expect(calls.at(-1)).toMatchObject({ status: "completed" });
    expect(await turn.verdict).toEqual({
      kind: "complete",
      stopReason: "end_turn",
      text: "twothree",
      cost: { chargedMicro: 0 },
    });
    expect(await partsOf(turn)).toHaveLength(3);
  });

  it("can be iterated late, and only for its verdict", async () => {
    const session = await client().sessions.create();
    const turn = await session.prompt("say hello");
    const next = await session.prompt("say again");
    expect(await next.verdict).toMatchObject({ text: "again" });
    expect(await partsOf(turn)).toEqual([{ type: "text", text: "hello" }]);
  });

  it("is left in the middle without a stream that stays open, and read on later", async () => {
    const fermata = client();
    const session = await fermata.sessions.create();
    const turn = await session.prompt("say one\nask\nsay two");
    const streams = async () => {
      const health = await fetch(`${server().url}/health?deep=1`);
      const { connectedClients } = (await health.json()) as { connectedClients: number };
      return connectedClients;
    };
    for await (const part of turn) {
      expect(part).toEqual({ type: "text", text: "one" });
      break;
    }
    await expect.poll(streams).toBe(0);
    for await (const ask of fermata.asks.list()) {
      if (ask.sessionId === session.id) await ask.allow();
    }
    const rest = await partsOf(turn);
    expect(rest.some((part) => part.type === "text" && part.text.endsWith("two"))).toBe(true);
    await expect.poll(streams).toBe(0);
  });

  it("has errors of turns as verdicts, and refusals as errors with a code", async () => {
    const session = await client().sessions.create();
    const failed = await session.prompt("say so far\nfail -32001 no luck");
    expect(await failed.verdict).toEqual({
      kind: "error",
      code: "-32001",
      message: "no luck",
      text: "so far",
      cost: { chargedMicro: 0 },
    });
    const refused = await client()
      .sessions.create({ agent: "nobody" })
      .catch((error) => error);
    expect(refused).toBeInstanceOf(FermataError);
    expect(refused).toMatchObject({ code: "agent_unknown", status: 400 });
    const missing = client().sessions.open("00000000-0000-4000-8000-000000000000");
    await expect(missing).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("has asks that can be answered, from the turn and from the list of all", async () => {
    const fermata = client();
    const session = await fermata.sessions.create();
    const turn = await session.prompt("ask kind=execute title=Run command=ls\nask kind=edit");
    let count = 0;
    for await (const part of turn) {
      if (part.type !== "ask" || part.ask.outcome !== null) continue;
      count += 1;
      if (count === 1) await part.ask.allow();
      else {
        const listed = [];
        for await (const ask of fermata.asks.list()) {
          if (ask.sessionId === session.id) listed.push(ask);
        }
        expect(listed.map(({ requestId }) => requestId)).toEqual([part.ask.requestId]);
        await listed[0]?.deny();
      }
    }
    expect(count).toBe(2);
    const asks = turn.parts.flatMap((part) => (part.type === "ask" ? [part.ask] : []));
    expect(asks.map(({ outcome }) => outcome)).toEqual([
      { outcome: "selected", optionId: "allow_once" },
      { outcome: "selected", optionId: "reject_once" },
    ]);
  });

  it("is opened by another client, which registers with its first prompt", async () => {
    const session = await client().sessions.create();
    const other = await client().sessions.open(session.id);
    const turn = await other.prompt("say hi");
    expect(await turn.verdict).toMatchObject({ text: "hi" });
  });

  it("cancels a turn that runs, and one that waits", async () => {
    const session = await client().sessions.create();
    const running = await session.prompt("hang");
    const waiting = await session.prompt("say later");
    await waiting.cancel();
    expect(await waiting.verdict).toMatchObject({ kind: "complete", stopReason: "cancelled" });
    await running.cancel();
    expect(await running.verdict).toMatchObject({ kind: "complete", stopReason: "cancelled" });
  });

  it("is one prompt for one key, also from another client object", async () => {
    const session = await client().sessions.create();
    const one = await session.prompt("say once", { key: "the key" });
    const again = await session.prompt("say once", { key: "the key" });
    expect(again.promptId).toBe(one.promptId);
    const other = session.prompt("say other", { key: "the key" });
    await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
  });

  it("is named, forked, closed and deleted", async () => {
    const fermata = client();
    const session = await fermata.sessions.create();
    const turn = await session.prompt("say one");
    await turn.verdict;
    await session.rename("My session");
    expect(await session.status()).toMatchObject({ displayName: "My session", status: "ready" });
    const fork = await session.fork({ name: "Another" });
    expect(fork.id).not.toBe(session.id);
    await session.close();
    await expect(session.status()).rejects.toMatchObject({ code: "session_not_found" });
    await fork.delete();
    const ids = [];
    for await (const one of fermata.sessions.list({ text: "another" })) ids.push(one.sessionId);
    expect(ids).not.toContain(fork.id);
  });

  it("is opened by its name, listed by it and its agent, and keeps its id", async () => {
    const fermata = client();
    const session = await fermata.sessions.create({ name: "docs-of-today", agent: "echo" });
    const same = await fermata.sessions.open("docs-of-today");
    expect(same.id).toBe(session.id);
    const taken = fermata.sessions.create({ name: "docs-of-today" });
    await expect(taken).rejects.toMatchObject({
      code: "session_name_taken",
      details: { suggestion: "docs-of-today-2" },
    });
    await same.setName("docs-of-old");
    expect(await same.status()).toMatchObject({ name: "docs-of-old", agent: "echo" });
    const ids = [];
    const query = { name: "docs-of-old", agent: "echo" } as const;
    for await (const { sessionId } of fermata.sessions.list(query)) ids.push(sessionId);
    expect(ids).toEqual([session.id]);
    const unknown = fermata.sessions.open("docs-of-today");
    await expect(unknown).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("ends every call with its signal", async () => {
    const session = await client().sessions.create();
    const reason = new Error("enough");
    const gone = AbortSignal.abort(reason);
    await expect(session.prompt("say no", { signal: gone })).rejects.toBe(reason);
    await expect(client().agents.list({ signal: gone })).rejects.toBe(reason);
    const leaving = new AbortController();
    const following = (async () => {
      for await (const item of session.events({ signal: leaving.signal })) {
        if (item.kind === "connection" && item.state === "live") leaving.abort(reason);
      }
    })();
    await expect(following).rejects.toBe(reason);
  });
});

describe("the client of a server", { timeout: 60_000 }, () => {
  it("lists agents and sessions, and says which server it is", async () => {
    const fermata = client();
    const made = await fermata.sessions.create({ sourceType: "test" });
    const agents = await fermata.agents.list();
    expect(agents).toContainEqual(expect.objectContaining({ name: "echo", installed: true }));
    const ids = [];
    for await (const one of fermata.sessions.list({ size: 1, status: ["ready", "inactive"] })) {
      ids.push(one.sessionId);
    }
    expect(ids).toContain(made.id);
    expect(await fermata.capabilities()).toMatchObject({ fermataVersion: expect.any(String) });
  });

  it("finds what was said, page by page, with the words that were found marked", async () => {
    const fermata = client();
    const session = await fermata.sessions.create();
    for (const n of [1, 2, 3]) await (await session.prompt(`say Zeppelin ${n}`)).verdict;
    const found: string[] = [];
    for await (const hit of fermata.search("zepp 2", { size: 1 })) {
      expect(hit.session.sessionId).toBe(session.id);
      const marked = hit.marks.map(([start, end]) => hit.snippet.slice(start, end));
      found.push(`${hit.role}: ${marked.join(" ")}`);
    }
    expect(found).toEqual(["assistant: Zeppelin 2", "user: Zeppelin 2"]);
    const none = fermata.search("zeppelin 4 AND NOT").next();
    expect(await none).toEqual({ done: true, value: undefined });
    await expect(fermata.search("*").next()).rejects.toMatchObject({ code: "invalid_search" });
  });

  it("watches all sessions", async () => {
    const fermata = client();
    const made = await fermata.sessions.create();
    const leaving = new AbortController();
    const statuses: string[] = [];
    for await (const change of fermata.watch({ signal: leaving.signal })) {
      if (change.kind === "complete") void made.prompt("say hi");
      if (change.kind !== "session" || change.session.sessionId !== made.id) continue;
      statuses.push(change.session.status);
      if (statuses.includes("running") && change.session.status === "ready") break;
    }
    leaving.abort();
    expect(statuses[0]).toBe("ready");
    expect(statuses).toContain("running");
  });
});

describe("a view of a session", { timeout: 60_000 }, () => {
  it("has the past and what happens, whole, for user interfaces", async () => {
    const session = await client().sessions.create();
    const first = await session.prompt("say one");
    await first.verdict;
    const view = session.view();
    const loaded = await view.until(({ connection }) => connection === "live");
    expect(loaded.turns).toMatchObject([
      { prompt: "say one", parts: [{ type: "text", text: "one" }], verdict: { kind: "complete" } },
    ]);
    const turn = await session.prompt("say two\nask kind=execute");
    const asking = await view.until(({ asks, status }) => {
      return asks.length === 1 && status === "waiting";
    });
    expect(asking.turns[0]).toBe(loaded.turns[0]);
    await asking.asks[0]?.allow();
    await turn.verdict;
    const done = await view.until(({ turns }) => turns.every(({ verdict }) => verdict !== null));
    expect(done.asks).toEqual([]);
    expect(done.turns.map(({ prompt }) => prompt)).toEqual([
      "say one",
      "say two\nask kind=execute",
    ]);
    view.dispose();
    expect(view.get().connection).toBe("closed");
  });
});
