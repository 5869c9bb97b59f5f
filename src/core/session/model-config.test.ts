import { describe, expect, it } from "vitest";
import { isSameConfig, MODEL_SETTINGS, settingsOfModel } from "./state.ts";

describe("a model's configuration", () => {
  it("has parts, the model first, and none for what is not set", () => {
    expect(settingsOfModel({ modelId: null })).toEqual([]);
    expect(settingsOfModel({ verbosity: "low", temperature: 0, modelId: "large" })).toEqual([
      { setting: "modelId", value: "large" },
      { setting: "temperature", value: 0 },
      { setting: "verbosity", value: "low" },
    ]);
  });

  it("is the same only if every part of it is", () => {
    const config = { modelId: "large", temperature: 0.5, reasoning: "high", verbosity: "low" };
    expect(isSameConfig(config, { ...config })).toBe(true);
    for (const setting of MODEL_SETTINGS) {
      const { [setting]: _, ...rest } = config;
      expect(isSameConfig(config, { modelId: null, ...rest })).toBe(false);
    }
  });
});
