import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import type { ModelPart, ModelSetting } from "../../core/session/state.ts";
import { choiceOf, modelOption } from "./settings.ts";

const select = (change: JsonObject, ...values: readonly string[]): JsonObject => ({
  id: "x",
  name: "X",
  type: "select",
  currentValue: values[0] ?? "",
  options: values.map((value) => ({ value, name: value })),
  ...change,
});

const idOf = (setting: ModelSetting, ...options: readonly JsonObject[]) =>
  modelOption(options, setting)?.configId ?? null;

describe("the option for a setting of the model", () => {
  it("is the one of ACP's category, whatever it is called", () => {
    const model = select({ id: "m", category: "model" });
    const thought = select({ id: "t", category: "thought_level" });
    const decoy = select({ id: "model", category: "_mine" });
    expect(idOf("modelId", decoy, thought, model)).toBe("m");
    expect(idOf("reasoning", decoy, model, thought)).toBe("t");
  });

  it.each<[ModelSetting, string]>([
    ["modelId", "model"],
    ["temperature", "temperature"],
    ["reasoning", "reasoning"],
    ["reasoning", "reasoning-effort"],
    ["reasoning", "Reasoning Effort"],
    ["reasoning", "thinking"],
    ["reasoning", "thought_level"],
    ["verbosity", "verbosity"],
  ])("of %s is else the one with a usual id, or a usual name: %s", (setting, called) => {
    const other = select({ id: "other" });
    expect(idOf(setting, other, select({ id: called }))).toBe(called);
    expect(idOf(setting, other, select({ id: "x7", name: called }))).toBe("x7");
  });

  it("is none where an agent has none, or one without an id", () => {
    const options = [select({ id: "loud" }), select({ id: 7, category: "model" })];
    for (const setting of ["modelId", "temperature", "reasoning", "verbosity"] as const) {
      expect(idOf(setting, ...options)).toBeNull();
    }
  });
});

describe("what an option is set to", () => {
  const chosen = (part: ModelPart, option: JsonObject) => {
    const found = modelOption([option], part.setting);
    return found === null ? expect.fail("no option") : choiceOf(found, part);
  };
  const reasoning = (value: string): ModelPart => ({ setting: "reasoning", value });
  const temperature = (value: number): ModelPart => ({ setting: "temperature", value });

  it("is one of its values and nothing near it, or refused with the choices", () => {
    const option = select({ id: "reasoning" }, "low", "high");
    expect(chosen(reasoning("high"), option)).toEqual({ ok: true, value: "high" });
    for (const near of ["High", "hig", " high", ""]) {
      expect(chosen(reasoning(near), option)).toMatchObject({
        refusal: {
          code: "agent_choice_unknown",
          details: { setting: "reasoning", choices: "low, high" },
        },
      });
    }
  });

  it("is found in groups too", () => {
    const groups = [{ group: "g", name: "G", options: [{ value: "deep", name: "Deep" }] }];
    const option = select({ id: "reasoning", options: groups });
    expect(chosen(reasoning("deep"), option)).toEqual({ ok: true, value: "deep" });
  });

  it("is a number by its worth, as the agent writes it", () => {
    const option = select({ id: "temperature" }, "", "0.20", "1");
    expect(chosen(temperature(0.2), option)).toEqual({ ok: true, value: "0.20" });
    expect(chosen(temperature(1), option)).toEqual({ ok: true, value: "1" });
    expect(chosen(temperature(0), option)).toMatchObject({ ok: false });
  });

  it("is on or off where there is nothing else", () => {
    const option = { id: "thinking", name: "Thinking", type: "boolean", currentValue: false };
    expect(chosen(reasoning("on"), option)).toEqual({ ok: true, value: true });
    expect(chosen(reasoning("off"), option)).toEqual({ ok: true, value: false });
    expect(chosen(reasoning("high"), option)).toMatchObject({
      refusal: { details: { choices: "on, off" } },
    });
  });

  it("is for the agent to judge where it names no choices", () => {
    const option = select({ id: "temperature", options: "any" });
    expect(chosen(temperature(0.7), option)).toEqual({ ok: true, value: "0.7" });
  });
});
