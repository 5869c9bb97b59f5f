import { describe, expect, it } from "vitest";
import { CANCELLED } from "../../core/policy/ask.ts";
import { pastOf, Stage } from "./bridge.fixture.ts";

describe("a turn", () => {
  it("is heard in the order in which the agent spoke, and ends in one verdict", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { verdict, text } = await hand.turn("say Hello", "think Hm", "say , world");
    expect(text).toBe("Hello, world");
    expect(verdict).toMatchObject({ status: "turn_complete", stopReason: "end_turn" });
    expect(hand.kinds).toEqual(["created", "connected", "turn_started", "turn_complete"]);
  });

  it("keeps what nobody knows exactly as it came", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const odd = { sessionUpdate: "brand_new", deep: [{ a: null }], n: 1.5 };
    await hand.turn(`update ${JSON.stringify(odd)}`);
    expect(hand.ears.updates).toContainEqual(odd);
  });

  it("ends in the agent's own words where the agent refuses it", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { verdict } = await hand.turn("fail -32603 terminated");
    expect(verdict).toMatchObject({
      status: "turn_error",
      failure: { code: "-32603", errorKind: "model_stream_interrupted" },
    });
    expect((await hand.turn("stop max_tokens")).verdict).toMatchObject({
      stopReason: "max_tokens",
    });
  });

  it("P2: has one verdict, however often the agent answers", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn("twice", "say once");
    await hand.turn("say next");
    expect(hand.kinds.filter((kind) => kind === "turn_complete")).toHaveLength(2);
    expect(stage.faults).toContainEqual({ kind: "unsolicited_answer", count: 1 });
  });

  it("is cancelled by the agent when it is told to", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const turnId = hand.begin("say at work", "hang");
    await hand.ears.until(() => hand.ears.text === "at work");
    hand.session.cancel();
    expect(await hand.verdict(turnId)).toMatchObject({ stopReason: "cancelled" });
  });

  const COST = { sessionUpdate: "usage_update", used: 1, size: 2 };
  const dollars = `update ${JSON.stringify({ ...COST, cost: { amount: 2, currency: "USD" } })}`;
  it.each([
    ["fails", "fail -32603 no model"],
    ["ends with its agent", "crash"],
    ["goes on in silence", "hang"],
  ])("P9: reports a cost that no tokens came with, where the turn %s", async (_how, then) => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    hand.begin(dollars, then);
    await hand.ears.until(() => hand.ears.usages.some(({ costMicro }) => costMicro === 2_000_000));
  });

  it("P9: reports its usage before its verdict", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn("usage 5000 200000 input=20 output=10 cached=3 thought=2");
    const tokens = { input: 20, output: 10, cachedRead: 3, cachedWrite: 0, thought: 2 };
    const usage = hand.ears.usages.at(-1);
    expect(usage).toMatchObject({ used: 5_000, size: 200_000, tokens });
    expect(usage?.model).toEqual(expect.any(String));
  });

  it("P9: knows the model of an agent that tells it in the way of before", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("has-legacy-models"));
    await hand.turn("go");
    expect(hand.ears.usages.at(-1)).toMatchObject({ model: "old-1", tokens: { input: 1 } });
    expect(await hand.setModel({ modelId: "old-2" })).toBe("ok");
    await hand.turn("go");
    expect(hand.ears.usages.at(-1)).toMatchObject({ model: "old-2" });
  });

  it("P9: reports what it took, of an agent that counts its whole session", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo([], { usage: "session" }));
    await hand.turn("usage 1 2 input=20");
    await hand.turn("usage 1 2 input=50");
    const inputs = new Set(hand.ears.usages.map(({ tokens }) => tokens.input));
    expect([...inputs]).toEqual(expect.arrayContaining([20, 30]));
    expect(hand.ears.usages.at(-1)?.tokens.input).toBe(30);
  });

  it("P10: is read no faster than its listener takes it", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    let open = 0;
    let most = 0;
    hand.ears.slowly = async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise(setImmediate);
      open -= 1;
    };
    const before = hand.ears.updates.length;
    await hand.turn("chunks 500 100");
    expect(most).toBe(1);
    expect(hand.ears.updates.length).toBe(before + 500);
  });
});

describe("what an agent asks", () => {
  it("reaches the listener, and the answer the agent", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { text } = await hand.turn("ask kind=execute command=ls options=allow_once,reject_once");
    expect(hand.ears.asks[0]?.toolCall).toMatchObject({ kind: "execute" });
    expect(text).toMatch(/allow_once/);
    hand.ears.answer = async () => ({ outcome: CANCELLED });
    expect((await hand.turn("ask")).text).toMatch(/cancelled/);
  });

  it("brings what was said of its call before", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn('tool t1 kind=delete title="Remove all" status=open', "ask tool=t1");
    expect(hand.ears.asks[0]?.known).toMatchObject({ kind: "delete", title: "Remove all" });
  });

  it("may be a question with a form", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    hand.ears.answer = async ({ options }) => ({
      outcome: { outcome: "selected", optionId: options[0]?.optionId ?? "" },
      answers: { colour: "blue" },
    });
    const { text } = await hand.turn("question field=colour Which colour?");
    expect(hand.ears.asks[0]).toMatchObject({ kind: "user_question" });
    expect(text).toContain("blue");
  });
});

describe("a session's workspace", () => {
  it("is read and written through us, each act recorded before it happens", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { text } = await hand.turn(
      "write ./notes.txt hello",
      "read ./notes.txt",
      "run echo done",
    );
    expect(text).toContain("hello");
    expect(text).toContain("done");
    expect(hand.ears.audits.map(({ act }) => act)).toEqual([
      "fs.write",
      "fs.read",
      expect.stringMatching(/terminal/),
    ]);
  });

  it("P8: ends at its border", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { text } = await hand.turn("read ./../../etc/passwd", "read /etc/passwd");
    expect(text).not.toContain("root:");
    expect(text).toMatch(/not inside the workspace/);
  });

  it("P11: its commands do not get the agent's own secrets", async () => {
    const stage = new Stage();
    stage.env.AGENT_API_KEY = "sk-very-secret-value";
    const profile = stage.echo([], { env: { API_KEY: { from: "AGENT_API_KEY" } } });
    const hand = await stage.connected(profile);
    expect((await hand.turn("env API_KEY")).text).toContain("sk-very-secret-value");
    expect((await hand.turn("run env")).text).not.toContain("sk-very-secret-value");
    expect(stage.secrets).toEqual(["sk-very-secret-value"]);
  });
});

describe("the past of a session", () => {
  const talk = ["My name is Ada.", "Hello, Ada."];

  it.each([
    ["resumed", []],
    ["loaded", ["--no-resume"]],
  ])("P6: is %s by the agent, and nothing of it is heard again", async (context, flags) => {
    const stage = new Stage();
    const state = ["--state", `${stage.folder}/state`];
    const first = await stage.connected(stage.echo(state, {}, "first"));
    await first.turn("My name is Ada.");
    const { agentSessionId } = first.session;
    await first.session.kill();
    const again = await stage.connected(stage.echo([...state, ...flags]), {
      past: pastOf(agentSessionId, ...talk),
    });
    expect([again.session.context, again.session.agentSessionId]).toEqual([
      context,
      agentSessionId,
    ]);
    expect(again.ears.text).toBe("");
    expect((await again.turn("recall")).text).toContain("My name is Ada.");
  });

  it.each([
    ["can do neither", ["--no-resume", "--no-load"]],
    ["does not know the session", []],
  ])("P6: is told in front of the first prompt to an agent that %s", async (_, flags) => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(flags), { past: pastOf("sess-99", ...talk) });
    expect(hand.session.context).toBe("seeded");
    const { text } = await hand.turn("recall");
    expect(text).toContain("My name is Ada.");
    expect((await hand.turn("say again")).text).toBe("again");
  });

  it.each(["refuse", "fail -32603 overloaded"])(
    "P6: is told again, if the agent did not take in the first prompt: %s",
    async (first) => {
      const stage = new Stage();
      const hand = await stage.connected(stage.echo(["--no-resume", "--no-load"]), {
        past: pastOf(null, ...talk),
      });
      await hand.turn(first);
      expect((await hand.turn("recall")).text).toContain("My name is Ada.");
      expect((await hand.turn("whoami")).text).not.toContain("Ada");
    },
  );
});
