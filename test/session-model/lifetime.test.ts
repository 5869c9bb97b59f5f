import { describe, expect, it } from "vitest";
import { objectAt } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { judged, SessionCaller } from "./caller.fixture.ts";
import { dataOf, ofType, typesOf, verdictOf } from "./ear.fixture.ts";
import { echoAgent, Files, skill } from "./files.fixture.ts";

const server = sharedServer({
  agents: {
    second: echoAgent(),
    modelless: echoAgent("--no-config"),
    dead: { command: "nowhere" },
  },
});

describe("/save-and-close", { timeout: 60_000 }, () => {
  it("answers where the session is and closes it; it is not found until it is loaded", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say hello");
    const before = await session.steadyFields();
    const ear = await session.listen();
    const { promptId } = await session.send("/save-and-close");
    const said = await judged(ear, String(promptId));
    const location = `sqlite:${session.sessionId}`;
    expect(said.result).toMatchObject({
      status: "ok",
      code: "session_saved",
      data: { persisted: true, turnsDrained: 0, location },
    });
    expect(dataOf(await ear.first(ofType("session_closed")))).toMatchObject({
      reason: "client_close",
    });
    for (const path of ["/fields", "/context", "/pending-prompts"]) {
      expect([path, (await session.ask("GET", path)).status]).toEqual([path, 404]);
    }
    const prompt = [{ type: "text", text: "say nobody hears this" }];
    expect((await session.ask("POST", "/prompt", { prompt })).status).toBe(404);
    const back = await SessionCaller.load(server(), session.sessionId);
    expect(await back.steadyFields()).toEqual(before);
    expect((await back.say("say again")).text).toBe("again");
  });

  it("lets finish what was said before, counts it, and ends what was said after", async () => {
    const session = await SessionCaller.create(server());
    const ear = await session.listen();
    await session.send("ask command=ls", "say first");
    const ask = await ear.first(ofType("permission_request"));
    const second = await session.send("say second");
    const status = await session.send("/status");
    const close = await session.send("/save-and-close");
    const late = await session.send("say late");
    await session.vote(ask, "allow_once");
    const closed = await judged(ear, String(close.promptId));
    expect(closed.result).toMatchObject({ data: { persisted: true, turnsDrained: 2 } });
    expect((await judged(ear, String(second.promptId))).text).toBe("second");
    expect((await judged(ear, String(status.promptId))).result).toMatchObject({ status: "ok" });
    const ended = await ear.first(verdictOf(late.promptId));
    expect([ended.type, dataOf(ended).code]).toEqual(["turn_error", "session_closed"]);
    await ear.first(ofType("session_closed"));
    const back = await SessionCaller.load(server(), session.sessionId);
    expect(await back.messages()).toHaveLength(4);
  });

  it("closes a session at rest without waking an agent", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say hello");
    await server().kill("SIGKILL");
    await server().restart();
    const ear = await session.listen();
    const { promptId } = await session.send("/save-and-close");
    await judged(ear, String(promptId));
    await ear.first(ofType("session_closed"));
    expect(ear.events.filter(ofType("agent_connected"))).toHaveLength(1);
    expect((await session.ask("GET", "/fields")).status).toBe(404);
  });
});

describe("/new", { timeout: 60_000 }, () => {
  it("makes a session like this one, from the files of now, and touches no other", async () => {
    const files = new Files(server());
    files.skill("old", skill("Old.", "Old."));
    const session = await SessionCaller.create(server(), { agent: "second", mode: "yolo" });
    await session.say("/model echo-large");
    await session.say("say hello");
    const before = await session.steadyFields();
    files.skill("fresh", skill("Fresh.", "Fresh."));
    const { result } = await session.say("/new");
    const sessionId = String(objectAt(result, "data")?.sessionId);
    expect(sessionId).not.toBe(session.sessionId);
    expect(await session.steadyFields()).toEqual(before);
    const made = await SessionCaller.load(server(), sessionId);
    const { active_agent, model_config } = before;
    const empty = { messageCount: 0, messages: [] };
    expect(await made.fields()).toMatchObject({
      session_id: sessionId,
      active_agent,
      model_config,
      conversation_state: empty,
      reload_count: 0,
    });
    expect((await made.say("/skills")).text).toContain("Fresh.");
    expect((await session.say("/skills")).text).not.toContain("Fresh.");
    expect((await made.say("whoami")).text).toContain("model: echo-large");
    const unasked = await made.say("ask command=ls");
    expect(typesOf(unasked.events)).not.toContain("permission_request");
  });

  it("makes another one each time", async () => {
    const session = await SessionCaller.create(server());
    const made = [await session.say("/new"), await session.say("/new")];
    const ids = made.map(({ result }) => objectAt(result, "data")?.sessionId);
    expect(new Set([...ids, session.sessionId]).size).toBe(3);
  });
});

describe("/agent", { timeout: 60_000 }, () => {
  it("lists the agents and marks the active one", async () => {
    const session = await SessionCaller.create(server(), { agent: "second" });
    const { result, text } = await session.say("/agent");
    expect(objectAt(result, "data")).toMatchObject({ active: "second" });
    expect(text).toContain("* second (active)");
    expect(text).toContain("  echo");
  });

  it("gives the session to another agent, which is told the conversation", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say the word is melon");
    const changed = await session.say("/agent second");
    expect(changed.result).toMatchObject({
      code: "agent_set",
      data: { from: "echo", to: "second" },
    });
    const told = await session.say("recall");
    expect(told.text).toContain("I remember 0 turns");
    expect(told.text).toContain("You: the word is melon");
    expect((await session.say("recall")).text).not.toContain("<conversation_so_far>");
    const ear = await session.listen();
    await ear.first(verdictOf(told.promptId));
    expect(ear.events.some(ofType("session_drift"))).toBe(false);
    expect(ear.events.filter(ofType("agent_connected")).map(dataOf)).toMatchObject([
      { context: "new" },
      { context: "seeded" },
    ]);
  });

  it("to the same agent changes nothing, and the agent stays", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say hello");
    const same = await session.say("/agent echo");
    expect(same.result).toMatchObject({ status: "ok", code: "agent_set" });
    expect(typesOf(same.events)).not.toContain("active_agent_changed");
    expect((await session.say("recall")).text).toContain("I remember 1 turn");
  });

  it("P6: to one that cannot be had leaves a session that can be given back", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say the word is melon");
    expect((await session.say("/agent dead")).result).toMatchObject({ code: "agent_set" });
    const failed = await session.say("recall");
    expect(failed.verdict).toMatchObject({ code: "agent_unavailable" });
    expect((await session.say("/status")).result).toMatchObject({ status: "ok" });
    await session.say("/agent echo");
    expect((await session.say("recall")).text).toContain("You: the word is melon");
  });
});

describe("/model", { timeout: 60_000 }, () => {
  it("shows what is set and offered, and sets it at the agent first", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say hello");
    const shown = await session.say("/model");
    const choices = ["echo-small", "echo-large", "echo-cave"];
    expect(objectAt(shown.result, "data")).toEqual({ model: { name: null }, choices });
    const set = await session.say("/model echo-cave");
    expect(objectAt(set.result, "data")).toEqual({ model: { name: "echo-cave" } });
    expect((await session.say("whoami")).text).toContain("model: echo-cave");
    await server().kill("SIGKILL");
    await server().restart();
    expect((await session.say("whoami")).text).toContain("model: echo-cave");
  });

  it("that the agent does not have stays as it was, and says so", async () => {
    const session = await SessionCaller.create(server());
    await session.say("/model echo-large");
    const before = await session.steadyFields();
    const failed = await session.say("/model melon");
    expect(failed.result).toMatchObject({ status: "error", code: "model_failed" });
    expect(failed.text).toContain("It is still echo-large.");
    expect(typesOf(failed.events)).toContain("model_switch_failed");
    expect(await session.steadyFields()).toEqual(before);
    expect((await session.say("whoami")).text).toContain("model: echo-large");
  });

  it("P7: stays with the session when its next agent has no models, and is told", async () => {
    const session = await SessionCaller.create(server());
    await session.say("/model echo-large");
    await session.say("/agent modelless");
    const said = await session.say("say hello");
    expect(typesOf(said.events)).toContain("model_switch_failed");
    expect(await session.fields()).toMatchObject({ model_config: { name: "echo-large" } });
  });
});

describe("/status", { timeout: 60_000 }, () => {
  it("shows what the session is set to, as the fields have it", async () => {
    const session = await SessionCaller.create(server());
    await session.say("say hello");
    await session.say("fail 7 broken");
    await session.say("/reload_persona");
    const { result } = await session.say("/status");
    const { skill_snapshot, persona } = await session.fields();
    expect(objectAt(result, "data")).toEqual({
      sessionId: session.sessionId,
      agent: "echo",
      asking: { how: "by_default", sentence: "The agent asks by itself before it acts." },
      status: "ready",
      phase: expect.any(String),
      model: { name: null },
      skills: { version: 1, hash: Object(skill_snapshot).hash },
      persona: { version: 2, hash: Object(persona).hash },
      cwd: server().workspace,
      turns: { completed: 1, failed: 1 },
    });
  });
});
