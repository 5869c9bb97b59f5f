import { describe, expect, it } from "vitest";
import { optionOf, readAbilities, readSettings } from "./capability.ts";

describe("what an agent says of itself", () => {
  it("is nothing where it says nothing", () => {
    expect(readAbilities({ protocolVersion: 1 })).toEqual({
      name: null,
      version: null,
      capabilities: {},
      load: false,
      resume: false,
      close: false,
      list: false,
      fork: false,
      delete: false,
      additionalDirectories: false,
      logout: false,
      systemPrompt: false,
      steer: false,
      authMethods: [],
    });
  });

  it("is read from the shapes that real agents send", () => {
    const abilities = readAbilities({
      agentInfo: { name: "claude", title: "Claude", version: "0.99.0" },
      authMethods: [{ id: "api-key", name: "API key" }, { name: "no id" }, null],
      agentCapabilities: {
        _meta: { claudeCode: { promptQueueing: true } },
        loadSession: true,
        sessionCapabilities: { close: {}, fork: null, list: {}, resume: true, systemPrompt: {} },
      },
    });
    expect(abilities).toMatchObject({
      name: "Claude",
      version: "0.99.0",
      load: true,
      resume: true,
      close: true,
      list: true,
      fork: false,
      delete: false,
      additionalDirectories: false,
      logout: false,
      systemPrompt: true,
      steer: true,
      authMethods: ["api-key"],
    });
  });

  it.each([null, [], "yes", 1])("is not believed where it is no object: %j", (odd) => {
    const abilities = readAbilities({ agentCapabilities: odd, agentInfo: odd, authMethods: odd });
    expect(abilities).toMatchObject({ load: false, name: null, authMethods: [] });
  });
});

describe("a session's options", () => {
  const model = { id: "m", name: "Model", category: "model", currentValue: "large" };

  it("are found by category, or by id where an agent gives none", () => {
    expect(optionOf(readSettings({ configOptions: [{ id: "x" }, model] }), "model")).toBe(model);
    const bare = { id: "model", name: "Model" };
    expect(optionOf(readSettings({ configOptions: [bare] }), "model")).toBe(bare);
    expect(optionOf(readSettings({}), "model")).toBeNull();
  });

  it("are none where they are no list", () => {
    expect(readSettings({ configOptions: "many", modes: 3 })).toEqual({
      modes: null,
      models: null,
      configOptions: [],
    });
  });
});
