import { setImmediate as aMoment } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { parseSessionId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { AWAY } from "../../session/altered-store.fixture.ts";
import { turn } from "../../session/runtime.fixture.ts";
import { echo, value } from "../../session/stage.fixture.ts";
import { given } from "../../session/world.fixture.ts";
import { LOCAL } from "../daemon.fixture.ts";
import type { ServerRequest } from "../http/route.ts";
import { SessionBeside } from "./beside.fixture.ts";
import { branchRoute } from "./restore.ts";

/** The verdicts of a session's turns, in order. */
async function verdictsOf(beside: SessionBeside): Promise<readonly JsonObject[]> {
  const { body } = await beside.get("/transcript");
  const events: readonly { type: string; data: JsonObject }[] = Object(body.events);
  return events.filter(({ type }) => type.startsWith("turn_")).map(({ data }) => data);
}

function keyOf(body: JsonObject) {
  const { tenantId } = LOCAL;
  return { tenantId, sessionId: given(parseSessionId(String(body.sessionId))) };
}

/** What the branch's agent knows of the conversation. */
async function recalled(beside: SessionBeside, branch: JsonObject): Promise<string> {
  const { host } = beside.world.daemon;
  await turn(value(await host.find(keyOf(branch))), "recall");
  return value(await host.replay(keyOf(branch), "full")).compactedTexts.join("");
}

/** A request as a route gets it. */
function requestTo(id: string): ServerRequest {
  return {
    params: { id },
    query: new URLSearchParams(),
    body: {},
    bytes: new Uint8Array(),
    clientId: null,
    header: () => null,
    signal: new AbortController().signal,
    isLoopbackPeer: true,
    caller: LOCAL,
  };
}

describe("POST /session/:id/branch", () => {
  it("makes a session that goes on from the last turn, and joins it", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("My name is Ada.");
    const { status, body } = await beside.post("/branch", { name: "Another way" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      workspaceCwd: beside.world.stage.folder,
      attached: false,
      clientId: expect.stringMatching(/^client_/),
      createdAt: expect.stringMatching(/Z$/),
      hasActivePrompt: false,
      state: { modes: expect.anything(), configOptions: expect.anything() },
      compactedReplay: expect.any(Array),
      liveJournal: expect.any(Array),
      lastEventId: expect.any(Number),
      eventEpoch: expect.any(String),
      displayName: "Another way",
      forkedFrom: { sessionId: beside.sessionId, displayName: "My name is Ada." },
    });
    expect(body.sessionId).not.toBe(beside.sessionId);
    expect(JSON.stringify(body.compactedReplay)).toContain("My name is Ada.");
    const live = value(await beside.world.daemon.host.find(keyOf(body)));
    expect([...live.session.clients.keys()]).toEqual([body.clientId]);
    expect(await recalled(beside, body)).toContain("I remember 1 turn");
  });

  it("keeps the client's own name, and gives the branch one of its own", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("hello");
    const first = await beside.post("/branch", {}, { clientId: "bob" });
    expect(first.body).toMatchObject({ clientId: "bob", displayName: "hello (Branch)" });
    const second = await beside.post("/branch", { name: "  " }, { clientId: "bob" });
    expect(second.body).toMatchObject({ displayName: "hello (Branch 2)" });
  });

  it("goes on from the branch point that a verdict names, as the SDK takes it", async () => {
    const beside = await SessionBeside.open();
    for (const text of ["one", "two", "fail -32603 no", "/help"]) await beside.turn(text);
    const [first, second, failed, command] = await verdictsOf(beside);
    const { turnId } = first ?? {};
    expect(turnId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    const names = { assistantRecordUuid: turnId, checkpointUuid: turnId };
    expect(first?.branchPoint).toEqual(names);
    expect(second?.branchPoint).not.toEqual(names);
    // What is not in the conversation is no place to go on from.
    expect([failed, command].map((verdict) => verdict?.branchPoint)).toEqual([
      undefined,
      undefined,
    ]);
    const { status, body } = await beside.post("/branch", { atRecordId: names.checkpointUuid });
    expect(status).toBe(201);
    expect(JSON.stringify(body.compactedReplay)).toContain('"one"');
    expect(JSON.stringify(body.compactedReplay)).not.toContain('"two"');
  });

  it("goes on from the turn that is named, by its own id or by its prompt's", async () => {
    const beside = await SessionBeside.open();
    for (const text of ["one", "two", "three"]) await beside.turn(text);
    const [, second] = await verdictsOf(beside);
    for (const atRecordId of [second?.turnId, second?.promptId]) {
      const { status, body } = await beside.post("/branch", { atRecordId });
      expect(status).toBe(201);
      const replay = JSON.stringify(body.compactedReplay);
      expect(["one", "two", "three"].filter((text) => replay.includes(`"${text}"`))).toEqual([
        "one",
        "two",
      ]);
    }
  });

  it("P2: is refused while a prompt has no verdict", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("hello");
    const live = await beside.live();
    const running = beside.turn("hang");
    await live.until(({ running: prompt }) => prompt !== null);
    const { status, body } = await beside.post("/branch");
    const { sessionId } = beside;
    const code = "branch_while_prompt_active";
    expect([status, body]).toEqual([409, { error: expect.any(String), code, sessionId }]);
    await live.submit({ type: "cancel", atMs: Date.now(), actor: { kind: "server" } });
    await running;
  });

  it("is refused where there is no completed turn to go on from", async () => {
    const beside = await SessionBeside.open();
    const { sessionId } = beside;
    const code = "branch_point_invalid";
    const error = expect.any(String);
    const none = await beside.post("/branch");
    expect([none.status, none.body]).toEqual([409, { error, code, sessionId }]);
    await beside.turn("hello");
    await beside.turn("fail -32603 no");
    const failed = (await verdictsOf(beside)).at(-1)?.promptId;
    for (const atRecordId of [failed, "nobody-knows-it", "no id"]) {
      const { status, body } = await beside.post("/branch", { atRecordId });
      expect([status, body]).toEqual([409, { error, code, sessionId, atRecordId }]);
    }
  });

  it("is refused with a name that no session can have", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("hello");
    for (const name of ["x".repeat(257), "a\u0007b"]) {
      const { status, body } = await beside.post("/branch", { name });
      expect([status, body]).toMatchObject([400, { code: "invalid_metadata", limit: 256 }]);
    }
    const odd = await beside.post("/branch", { atRecordId: 7 });
    expect([odd.status, odd.body.code]).toEqual([400, "invalid_request"]);
  });

  it("P6: is there also when its agent cannot be had", async () => {
    const profiles = new Map([echo("--single-session", "--no-fork")]);
    const beside = await SessionBeside.open({ stage: { profiles } });
    await beside.turn("hello");
    const [name, broken] = echo("--exit-at-start", "3");
    profiles.set(name, broken);
    const { status, body } = await beside.post("/branch");
    expect(status).toBe(201);
    expect(body.status).toMatch(/^(activating|error)$/);
    expect(JSON.stringify(body.compactedReplay)).toContain("hello");
  });

  it("P5: is left to rest if whoever wanted it never hears of it", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("hello");
    const { daemon } = beside.world;
    const answer = await branchRoute(daemon).handle(requestTo(beside.sessionId));
    expect(daemon.host.liveOf(beside.key.tenantId)).toHaveLength(2);
    answer.afterwards?.("lost");
    while (daemon.host.liveOf(beside.key.tenantId).length > 1) await aMoment();
    expect((await beside.live()).session.sessionId).toBe(beside.sessionId);
  });

  it("P5: registers nobody whom it cannot tell under which name", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("hello");
    const { host } = beside.world.daemon;
    vi.spyOn(host, "replay").mockResolvedValueOnce(AWAY);
    const { status, body } = await beside.post("/branch");
    expect(status).toBe(201);
    expect(body).not.toHaveProperty("clientId");
    expect(value(await host.find(keyOf(body))).session.clients.size).toBe(0);
  });

  it("P5: is made and rests when there is no room for another live session", async () => {
    const settings = { sessionsLiveMax: 1 };
    const beside = await SessionBeside.open({ stage: { settings } });
    await beside.turn("hello");
    const { host } = beside.world.daemon;
    const stream = value(await host.subscribe(beside.key, { after: null, epoch: null }));
    const { status, body } = await beside.post("/branch");
    stream.cancel();
    const { sessionId } = body;
    expect([status, body]).toEqual([
      201,
      {
        sessionId,
        displayName: "hello (Branch)",
        forkedFrom: { sessionId: beside.sessionId, displayName: "hello" },
      },
    ]);
    const replay = value(await host.replay(keyOf(body), "full"));
    expect(replay.compactedTexts.join("")).toContain("hello");
  });
});
