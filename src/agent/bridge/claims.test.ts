import { describe, expect, it } from "vitest";
import { parseSessionId } from "../../core/id.ts";
import { AGENT_QUEUE_CHARS_MAX, AGENT_SESSIONS_HELD_MAX } from "../../core/limits.ts";
import { codeOf, pastOf, Stage } from "./bridge.fixture.ts";
import { Claims } from "./claims.ts";

describe("an agent's name for a session", () => {
  it.each([
    ["resumed", []],
    ["loaded", ["--no-resume"]],
  ])("P8: is not given to a second one that wants it %s", async (_, flags) => {
    const stage = new Stage();
    const profile = stage.echo(flags);
    const owner = await stage.connected(profile);
    const { agentSessionId } = owner.session;
    const other = await stage.connected(profile, { past: pastOf(agentSessionId, "Hello.") });
    expect(other.session.context).toBe("seeded");
    expect(other.session.agentSessionId).not.toBe(agentSessionId);
    expect((await owner.turn("say mine")).text).toBe("mine");
    expect(other.ears.text).toBe("");
    await other.session.close();
    expect((await owner.turn("say still mine")).text).toBe("still mine");
  });

  it("P8: stays that of its session, also after that has left", async () => {
    const stage = new Stage();
    const profile = stage.echo([]);
    const [ada, bob] = [parseSessionId("ada"), parseSessionId("bob")];
    if (ada === null || bob === null) expect.fail();
    const first = await stage.connected(profile, { owner: ada });
    const { agentSessionId } = first.session;
    await first.turn("say mine");
    await first.session.close();
    const past = pastOf(agentSessionId, "Hello.");
    const other = await stage.connected(profile, { owner: bob, past });
    expect(other.session.context).toBe("seeded");
    const again = await stage.connected(profile, { owner: ada, past });
    expect(again.session).toMatchObject({ context: "resumed", agentSessionId });
  });

  it("P8: is not believed if another session has it", async () => {
    const stage = new Stage();
    const profile = stage.odd("same-name-for-all");
    const owner = await stage.connected(profile);
    const second = await stage.connect(profile);
    expect(second).toMatchObject({
      refusal: { code: "agent_call_failed", details: { reason: expect.stringMatching(/another/) } },
    });
    expect(await owner.verdict(owner.begin("hi"))).toMatchObject({ status: "turn_complete" });
    expect(codeOf(await owner.session.fork())).toBe("agent_unsupported");
  });
});

describe("a method that nobody here knows", () => {
  it("is a fault, unless its name is one that ACP leaves to agents", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn("notify _auth/status_update {}", "call _x.ai/ask {}");
    await hand.turn('notify auth/status_update {"state":"authenticated"}');
    expect(stage.faults).toEqual([]);
    await hand.turn("notify auth/unheard_of {}");
    expect(stage.faults).toEqual([{ kind: "unknown_method", count: 1 }]);
  });

  it("is refused with the reason, if it is one of ACP that is not served", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { text } = await hand.turn('call mcp/message {"serverId":"s"}');
    expect(text).toContain("-32601");
    expect(text).toContain("the server runs no MCP servers");
  });
});

describe("what an agent says of a session that is being made", () => {
  it("is heard, before and after its name is known, in order and after `connected`", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("speaks-at-once"));
    await hand.ears.until(() => hand.ears.updates.length === 100);
    expect(hand.ears.updates.map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(stage.faults).toEqual([]);
  });

  it("of one that is loaded: drops the past, tells the latest state and the news", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("loads"), { past: pastOf("S", "Hello.") });
    await hand.ears.until(() => hand.ears.updates.length === 2);
    expect(hand.session.context).toBe("loaded");
    expect(hand.ears.updates).toEqual([
      { sessionUpdate: "usage_update", used: 40, size: 1_000 },
      { sessionUpdate: "custom", news: true },
    ]);
  });

  const update = { sessionUpdate: "custom" };

  it("P10: is kept up to a limit, in characters and in sessions", () => {
    const claims = new Claims();
    expect(claims.keepEarly("a", update, AGENT_QUEUE_CHARS_MAX)).toBe(true);
    expect(claims.keepEarly("a", update, 1)).toBe(false);
    expect(claims.takeEarly("a")).toHaveLength(1);
    for (let n = 0; n < AGENT_SESSIONS_HELD_MAX; n += 1) {
      expect(claims.keepEarly(`s${n}`, update, 1)).toBe(true);
    }
    expect(claims.keepEarly("one more", update, 1)).toBe(false);
    expect(claims.keepEarly("s0", update, 1)).toBe(true);
    claims.forgetEarly();
    expect(claims.keepEarly("one more", update, AGENT_QUEUE_CHARS_MAX)).toBe(true);
  });
});
