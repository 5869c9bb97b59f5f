import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { judged, SessionCaller } from "./caller.fixture.ts";
import { dataOf, type Ear, ofType, verdictOf } from "./ear.fixture.ts";
import { echoAgent, Files, skill } from "./files.fixture.ts";

const server = sharedServer({ agents: { second: echoAgent() } });

/** A session in which a turn runs until a client answers its ask. */
async function busy() {
  new Files(server()).skill("deploy", skill("Ships it.", "Deploy from main."));
  const session = await SessionCaller.create(server());
  const ear = await session.listen();
  const running = await session.send("ask command=ls", "say done");
  const ask = await ear.first(ofType("permission_request"));
  return { session, ear, running, ask };
}

function isThere(ear: Ear, { promptId }: JsonObject): boolean {
  return ear.events.some(verdictOf(promptId));
}

/** The prompts that have a verdict, in the order of the verdicts. */
async function order(ear: Ear, admitted: readonly JsonObject[]): Promise<readonly number[]> {
  const verdicts: JsonObject[] = [];
  for (const { promptId } of admitted) verdicts.push(await ear.first(verdictOf(promptId)));
  const at = verdicts.map((verdict) => ear.events.indexOf(verdict));
  return at.toSorted((a, b) => a - b).map((index) => at.indexOf(index));
}

describe("a command that is sent during a turn", { timeout: 60_000 }, () => {
  it("waits and is answered after it, and several in their order", async () => {
    const { session, ear, running, ask } = await busy();
    const lines = ["/status", "/reload_skills", "say between", "/status"];
    const waiting: JsonObject[] = [];
    for (const line of lines) waiting.push(await session.send(line));
    const { body } = await session.ask("GET", "/pending-prompts");
    expect(body.pendingPrompts).toMatchObject([
      { state: "running" },
      ...lines.map((text) => ({ state: "queued", text })),
    ]);
    expect(ear.events.some(ofType("command_result"))).toBe(false);
    await session.vote(ask, "allow_once");
    const all = [running, ...waiting];
    expect(await order(ear, all)).toEqual([0, 1, 2, 3, 4]);
    const answers = ear.events.filter(ofType("command_result")).map(dataOf);
    expect(answers.map(({ promptId }) => promptId)).toEqual(
      [waiting[0], waiting[1], waiting[3]].map((one) => one?.promptId),
    );
    const turns = answers.flatMap(({ data }) => Object(data).turns ?? []);
    expect(turns).toEqual([
      { completed: 1, failed: 0 },
      { completed: 2, failed: 0 },
    ]);
  });

  it("can be taken back, and then it has done nothing", async () => {
    const { session, ear, running, ask } = await busy();
    const { conversation_state: _, ...before } = await session.steadyFields();
    const waiting = await session.send("/reload_skills");
    const path = `/pending-prompts/${waiting.promptId}`;
    expect((await session.ask("DELETE", path)).body).toEqual({ removed: true });
    expect((await judged(ear, String(waiting.promptId))).verdict).toMatchObject({
      stopReason: "cancelled",
    });
    expect(isThere(ear, running)).toBe(false);
    await session.vote(ask, "allow_once");
    await ear.first(verdictOf(running.promptId));
    expect(ear.events.some(ofType("command_result"))).toBe(false);
    const { conversation_state: __, ...after } = await session.steadyFields();
    expect(after).toEqual(before);
  });

  it("is answered when the turn is cancelled, like any prompt that waits", async () => {
    const { session, ear, running } = await busy();
    const waiting = await session.send("/skills");
    await session.ask("POST", "/cancel", {});
    expect(await order(ear, [running, waiting])).toEqual([0, 1]);
    const said = await judged(ear, String(waiting.promptId));
    expect(said.result).toMatchObject({ status: "ok", code: "skills_listed" });
    expect(said.verdict).toMatchObject({ stopReason: "end_turn" });
  });

  it("changes only what comes after it", async () => {
    const { session, ear, ask } = await busy();
    new Files(server()).skill("deploy", skill("Ships it.", "Deploy from anywhere."));
    const lines = ["/skill deploy say one", "/reload_skills", "/skill deploy say two"];
    const sent: JsonObject[] = [];
    for (const line of lines) sent.push(await session.send(line));
    await session.vote(ask, "allow_once");
    await ear.first(verdictOf(sent[2]?.promptId));
    const used = ear.events.filter(ofType("skill_invoked")).map((event) => dataOf(event).text);
    expect(used).toEqual([
      expect.stringContaining("Deploy from main."),
      expect.stringContaining("Deploy from anywhere."),
    ]);
  });

  it("gives the session to another agent only when the turn has ended", async () => {
    const { session, ear, running, ask } = await busy();
    const change = await session.send("/agent second");
    const next = await session.send("recall");
    await session.vote(ask, "allow_once");
    expect(await order(ear, [running, change, next])).toEqual([0, 1, 2]);
    expect((await judged(ear, String(running.promptId))).text).toContain("done");
    const seeded = (await judged(ear, String(next.promptId))).text;
    expect(seeded).toContain("I remember 0 turns");
    expect(seeded).toContain("<conversation_so_far>");
    expect(seeded).toContain("done");
  });

  it("waits also when it comes as a word to the agent in between", async () => {
    const { session, ear, running, ask } = await busy();
    const sent = await session.ask("POST", "/mid-turn-message", { message: "/skills" });
    expect(sent.status).toBeLessThan(300);
    await session.vote(ask, "allow_once");
    const answer = await ear.first(ofType("command_result"));
    expect(dataOf(answer)).toMatchObject({ code: "skills_listed" });
    expect(isThere(ear, running)).toBe(true);
    expect(ear.events.some(ofType("mid_turn_message_injected"))).toBe(false);
  });

  it("P2: has its verdict when somebody closes the session before it", async () => {
    const { session, ear, running } = await busy();
    const waiting = await session.send("/status");
    expect((await session.ask("DELETE", "")).status).toBe(204);
    const verdicts = [running, waiting].map(({ promptId }) => ear.first(verdictOf(promptId)));
    expect((await Promise.all(verdicts)).map(dataOf)).toMatchObject([
      { code: "session_closed" },
      { code: "session_closed" },
    ]);
    expect(ear.events.some(ofType("command_result"))).toBe(false);
  });
});

describe("a command that is sent again with its key", { timeout: 60_000 }, () => {
  it("is answered as it was the first time, and done once", async () => {
    const session = await SessionCaller.create(server());
    const first = await session.sendOnce("key-1", "/reload_skills");
    expect(await session.sendOnce("key-1", "/reload_skills")).toEqual(first);
    await session.heard(first);
    expect(await session.sendOnce("key-1", "/reload_skills")).toEqual(first);
    expect(await session.fields()).toMatchObject({ reload_count: 1 });
  });
});
