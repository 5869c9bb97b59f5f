import { describe, expect, it } from "vitest";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { KIND, Shelf, steadyFields, taught, twoAgents } from "./taught.fixture.ts";
import { heard } from "./work.fixture.ts";

function full(): Shelf {
  return Object.assign(new Shelf(), { skills: SNAPSHOT, persona: KIND });
}

describe("POST /session/:id/agent", () => {
  it("changes the agent and no other field, and tells everybody", async () => {
    const work = await taught(full(), twoAgents(), "ada");
    await work.turn("say hello");
    const before = await steadyFields(work);
    const stream = await work.stream();
    const call = { body: { agent: "other" }, clientId: "ada" };
    const { status, body } = await work.call("POST", "/agent", call);
    expect([status, body]).toEqual([200, { from: "echo", to: "other" }]);
    const told = await heard(stream, "active_agent_changed");
    expect(told.data).toMatchObject({ originatorClientId: "ada", data: body });
    expect(await steadyFields(work)).toEqual({ ...before, active_agent: "other" });
  });

  it("lets the other agent go on with the conversation", async () => {
    const work = await taught(full(), twoAgents());
    await work.turn("say hello");
    await work.call("POST", "/agent", { body: { agent: "other" } });
    await work.turn("say and on");
    const { conversation_state } = await steadyFields(work);
    expect(Object(conversation_state).messageCount).toBe(4);
  });

  it("is content where the session has that agent already", async () => {
    const work = await taught(full(), twoAgents());
    const { status, body } = await work.call("POST", "/agent", { body: { agent: "echo" } });
    expect([status, body]).toEqual([200, { from: "echo", to: "echo" }]);
  });

  it.each(["nobody", "Echo", "ech"])(
    "knows no agent %s, and names those it knows",
    async (agent) => {
      const work = await taught(full(), twoAgents());
      const before = await steadyFields(work);
      const { status, body } = await work.call("POST", "/agent", { body: { agent } });
      expect([status, body.code]).toEqual([400, "agent_unknown"]);
      expect(body.error).toMatch(/echo.*other/);
      expect(await steadyFields(work)).toEqual(before);
    },
  );

  it("is refused in a turn, and changes nothing", async () => {
    const work = await taught(full(), twoAgents());
    await work.admitted("hang");
    await work.live.until(({ running }) => running !== null);
    const { status, body } = await work.call("POST", "/agent", { body: { agent: "other" } });
    expect([status, body.code]).toEqual([409, "session_busy"]);
    expect(work.live.session.chosen.activeAgent).toBe("echo");
  });

  it("refuses what names no agent, strangers, and clients that nobody knows", async () => {
    const work = await taught(full(), twoAgents());
    for (const body of [{}, { agent: "" }, { agent: 7 }, { agent: "x".repeat(300) }]) {
      const answer = await work.call("POST", "/agent", { body });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    }
    const body = { agent: "other" };
    const eve = await work.call("POST", "/agent", { body, clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const foreign = await work.call("POST", "/agent", { body, as: STRANGER });
    expect([foreign.status, foreign.body.code]).toEqual([404, "session_not_found"]);
  });
});
