import { describe, expect, it } from "vitest";
import { AGENT_OFFER_BYTES_MAX, AGENT_OFFERS_SHARED_MAX } from "../../core/limits.ts";
import { optionOf, readAbilities, readSettings, SharedOffers } from "./capability.ts";

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
      authMethods: [{ id: "api-key", name: "API key" }],
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

describe("what a process offers its sessions", () => {
  const offerOf = (mode: string) => readSettings({ modes: { currentModeId: mode } });

  it("is one value for all that are offered the same", () => {
    const offers = new SharedOffers();
    const first = offers.shared(offerOf("ask"));
    expect(offers.shared(offerOf("ask"))).toBe(first);
    expect(offers.shared(offerOf("plan"))).toEqual(offerOf("plan"));
    expect(offers.shared(offerOf("ask"))).toBe(first);
  });

  it("P10: is kept for so many different ones, and not if it is huge", () => {
    const offers = new SharedOffers();
    const first = offers.shared(offerOf("0"));
    for (let n = 1; n <= AGENT_OFFERS_SHARED_MAX; n += 1) offers.shared(offerOf(`${n}`));
    expect(offers.shared(offerOf("0"))).not.toBe(first);
    const huge = () => offerOf("x".repeat(AGENT_OFFER_BYTES_MAX));
    expect(offers.shared(huge())).not.toBe(offers.shared(huge()));
  });
});
