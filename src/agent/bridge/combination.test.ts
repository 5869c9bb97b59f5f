import { describe, expect, it } from "vitest";
import { codeOf, pastOf, Stage } from "./bridge.fixture.ts";

const FLAGS = ["load", "resume", "close", "list", "fork", "modes", "config"] as const;

type Ability = (typeof FLAGS)[number];

/** Every set of abilities that an agent can have, as the flags that take the others away. */
const COMBINATIONS = Array.from({ length: 2 ** FLAGS.length }, (_, bits) => {
  return FLAGS.filter((_flag, index) => (bits >> index) & 1);
});

describe("an agent with any of its abilities", () => {
  it.each(COMBINATIONS.map((without) => [without.join(", ") || "nothing", without]))(
    "P6: does all that can be done without %s, and the rest is said plainly",
    async (_, without) => {
      const stage = new Stage();
      const has = (ability: Ability) => !without.includes(ability);
      const state = ["--state", `${stage.folder}/state`];
      const profile = stage.echo([...without.map((flag) => `--no-${flag}`), ...state]);
      const hand = await stage.connected(profile);
      expect((await hand.turn("say hello")).text).toBe("hello");

      const offered = (ability: Ability) => (has(ability) ? "ok" : "agent_unsupported");
      const model = await hand.setModel({ modelId: "echo-large" });
      expect(model).toBe(has("config") ? "ok" : "modelId agent_unsupported");
      const mode = Object(hand.session.offer.modes).availableModes?.[0]?.id ?? "plan";
      expect(codeOf(await hand.session.setMode(mode))).toBe(offered("modes"));
      expect(codeOf(await stage.pool.calls.list(stage.order(profile), true))).toBe(offered("list"));
      expect(codeOf(await hand.session.fork())).toBe(offered("fork"));
      const { agentSessionId } = hand.session;
      await hand.session.close();
      expect(hand.kinds.at(-1)).toBe("terminated");

      const past = pastOf(agentSessionId, "say hello", "hello");
      const again = await stage.connected(profile, { past });
      const best = has("resume") ? "resumed" : has("load") ? "loaded" : "seeded";
      expect(again.session.context).toBe(best);
      expect((await again.turn("recall")).text).toContain("hello");
    },
  );
});
