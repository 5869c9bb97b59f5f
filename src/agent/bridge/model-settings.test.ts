import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type ModelChange, settingsOfModel } from "../../core/session/state.ts";
import { Stage } from "./bridge.fixture.ts";
import { Settings } from "./settings.ts";

/** An agent that has these options, says no to some values, and tells what it was asked for. */
class Played {
  readonly asked: string[] = [];
  readonly refuses = new Map<string, ErrorCode>();
  readonly settings = new Settings(
    (_method, params, settled) => this.#answer(params, settled),
    (offer) => offer,
  );
  readonly #options: Map<string, string>;

  constructor(options: Readonly<Record<string, string>>, answer: JsonObject = {}) {
    this.#options = new Map(Object.entries(options));
    this.settings.adopt({ ...answer, configOptions: this.#offer() });
  }

  set(change: ModelChange) {
    return this.settings.setModelConfig(settingsOfModel(change));
  }

  #offer(): readonly JsonObject[] {
    return [...this.#options].map(([id, currentValue]) => ({ id, name: id, currentValue }));
  }

  async #answer(
    { configId = "set_model", value, modelId }: JsonObject,
    settled?: (answer: JsonObject) => void,
  ): Promise<Result<JsonObject>> {
    const one = `${configId}=${value ?? modelId}`;
    this.asked.push(one);
    const code = this.refuses.get(one);
    if (code !== undefined) return fail(code, { method: "m", reason: "no", limitMs: 1 });
    this.#options.set(String(configId), String(value));
    const answer = modelId === undefined ? { configOptions: this.#offer() } : {};
    settled?.(answer);
    return ok(answer);
  }
}

const OPTIONS = { model: "a", temperature: "1", reasoning: "low", verbosity: "low" };

describe("P7: a change of several settings of the model", () => {
  it("is asked for in order, the model first", async () => {
    const agent = new Played(OPTIONS);
    const change = { verbosity: "high", reasoning: "high", temperature: 0.5, modelId: "b" };
    expect(await agent.set(change)).toBeNull();
    const order = ["model=b", "temperature=0.5", "reasoning=high", "verbosity=high"];
    expect(agent.asked).toEqual(order);
  });

  it("is taken back whole if one of them is refused, and says which", async () => {
    const agent = new Played(OPTIONS);
    agent.refuses.set("reasoning=high", "agent_call_failed");
    const refused = await agent.set({ modelId: "b", temperature: 0.5, reasoning: "high" });
    expect(refused).toMatchObject({
      part: { setting: "reasoning", value: "high" },
      refusal: { code: "agent_call_failed" },
      unrestored: [],
    });
    expect(agent.asked.slice(3)).toEqual(["model=a", "temperature=1"]);
    expect(agent.settings.now.configOptions).toMatchObject([
      { currentValue: "a" },
      { currentValue: "1" },
      { currentValue: "low" },
      { currentValue: "low" },
    ]);
  });

  it("takes back what an agent has not answered in time, since it may do it yet", async () => {
    const agent = new Played(OPTIONS);
    agent.refuses.set("reasoning=high", "agent_call_timeout");
    await agent.set({ reasoning: "high" });
    expect(agent.asked).toEqual(["reasoning=high", "reasoning=low"]);
  });

  it("names what the agent does not give back, with what it was", async () => {
    const agent = new Played(OPTIONS);
    agent.refuses.set("reasoning=high", "agent_call_failed");
    agent.refuses.set("model=a", "agent_call_failed");
    expect(await agent.set({ modelId: "b", reasoning: "high" })).toMatchObject({
      unrestored: [{ setting: "modelId", value: "a", refusal: { code: "agent_call_failed" } }],
    });
  });

  it("leaves nothing to be given back by an agent that is gone", async () => {
    const agent = new Played(OPTIONS);
    agent.refuses.set("temperature=0.5", "agent_gone");
    agent.refuses.set("model=a", "agent_gone");
    expect(await agent.set({ modelId: "b", temperature: 0.5 })).toMatchObject({
      refusal: { code: "agent_gone" },
      unrestored: [],
    });
  });

  it("takes back a model that was set by the old call, if the agent said what it was", async () => {
    const { model: _, ...options } = OPTIONS;
    const agent = new Played(options, { models: { currentModelId: "a" } });
    agent.refuses.set("reasoning=high", "agent_call_failed");
    expect(await agent.set({ modelId: "b", reasoning: "high" })).toMatchObject({ unrestored: [] });
    expect(agent.asked).toEqual(["set_model=b", "reasoning=high", "set_model=a"]);

    const silent = new Played(options);
    silent.refuses.set("reasoning=high", "agent_call_failed");
    expect(await silent.set({ modelId: "b", reasoning: "high" })).toMatchObject({
      unrestored: [{ setting: "modelId", value: null }],
    });
  });
});

describe("P7: the settings of the model at a real agent", () => {
  const heldBy = async (hand: Awaited<ReturnType<Stage["connected"]>>) => {
    const { text } = await hand.turn("whoami");
    const line = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1];
    return ["model", "effort", "temperature", "verbosity"].map(line);
  };

  it("are set by its options, and none that it does not offer", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const change = { modelId: "echo-large", temperature: 0.2, reasoning: "high", verbosity: "low" };
    expect(await hand.setModel(change)).toBe("ok");
    expect(await heldBy(hand)).toEqual(["echo-large", "high", "0.2", "low"]);
    expect(await hand.setModel({ reasoning: "boundless" })).toBe("reasoning agent_choice_unknown");
    expect(await hand.setModel({ temperature: 0.3 })).toBe("temperature agent_choice_unknown");
    expect(await heldBy(hand)).toEqual(["echo-large", "high", "0.2", "low"]);
  });

  it("are all as before if one is refused, those too that went with the model", async () => {
    const stage = new Stage();
    const flags = ["--refuse-option", "verbosity", "--reset-with-model"];
    const hand = await stage.connected(stage.echo(flags));
    expect(await hand.setModel({ reasoning: "high" })).toBe("ok");
    const change = { modelId: "echo-large", temperature: 0.2, verbosity: "low" };
    expect(await hand.setModel(change)).toBe("verbosity agent_call_failed");
    expect(await heldBy(hand)).toEqual(["echo-small", "high", "1", "medium"]);
  });
});
