import { describe, expect, it } from "vitest";
import { codeOf, type Hand, Stage } from "./bridge.fixture.ts";

/** Begins a turn that is held up by an ask, until it is let go. */
async function holdUp(hand: Hand, ...script: readonly string[]) {
  const asked = Promise.withResolvers<void>();
  hand.ears.answer = async ({ options }) => {
    await asked.promise;
    return { outcome: { outcome: "selected", optionId: options[0]?.optionId ?? "" } };
  };
  const turnId = hand.begin("ask", ...script);
  await hand.ears.until(() => hand.ears.asks.length === 1);
  return { turnId, letGo: asked.resolve };
}

const words = (text: string) => [{ type: "text", text }];

describe("steering", () => {
  it.each([
    ["takes it into what it does", "--steer"],
    ["does it afterwards", "--queue"],
  ])(
    "P2: adds to the turn of an agent that %s, which has one verdict, at its end",
    async (_, flag) => {
      const stage = new Stage();
      const hand = await stage.connected(stage.echo([flag]));
      expect(hand.session.offer.canSteer).toBe(true);
      const { turnId, letGo } = await holdUp(hand, "say one");
      expect(codeOf(hand.session.steer(words("say two\nstop max_tokens")))).toBe("ok");
      letGo();
      expect(await hand.verdict(turnId)).toMatchObject({ stopReason: "max_tokens" });
      expect(hand.ears.text).toMatch(/onetwo$/);
      expect((await hand.turn("say next")).text).toBe("next");
      expect(hand.kinds.filter((kind) => kind === "turn_complete")).toHaveLength(2);
    },
  );

  it.each([
    ["says the sum with each answer", "--steer"],
    ["says of each prompt what it took", "--queue"],
  ])("P9: is counted once, by an agent that %s", async (_, flag) => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo([flag]));
    const { turnId, letGo } = await holdUp(hand, "usage 1 2 input=10");
    hand.session.steer(words("usage 1 2 input=30"));
    letGo();
    await hand.verdict(turnId);
    expect(hand.ears.usages.at(-1)?.tokens.input).toBe(40);
  });

  it.each(["--steer", "--queue"])("is cancelled with its turn: %s", async (flag) => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo([flag]));
    const turnId = hand.begin("say at work", "hang");
    await hand.ears.until(() => hand.ears.text === "at work");
    hand.session.steer(words("say more"));
    hand.session.cancel();
    expect(await hand.verdict(turnId)).toMatchObject({ stopReason: "cancelled" });
  });

  it("is refused without a turn, and by an agent that cannot", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(["--queue"]));
    expect(codeOf(hand.session.steer(words("say x")))).toBe("no_turn_running");
    await hand.turn("say y");
    expect(codeOf(hand.session.steer(words("say x")))).toBe("no_turn_running");
    const other = await stage.connected(stage.echo([], {}, "other-echo"));
    expect(codeOf(other.session.steer(words("say x")))).toBe("agent_unsupported");
  });
});

describe("a second prompt", () => {
  it("P2: is refused while a turn is at work, which is not disturbed", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(["--queue"]));
    const { turnId, letGo } = await holdUp(hand, "say one");
    const turn = { turnId: hand.turnId(), content: words("say two"), params: null };
    expect(codeOf(hand.session.prompt(turn))).toBe("session_busy");
    letGo();
    expect(await hand.verdict(turnId)).toMatchObject({ status: "turn_complete" });
    expect(hand.ears.text).toMatch(/one$/);
    expect(hand.kinds.filter((kind) => kind === "turn_started")).toHaveLength(1);
  });
});
