import { describe, expect, it } from "vitest";
import type { AgentOffer } from "../../agent/agent.ts";
import { ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import type { AgentContext } from "../../core/session/event.ts";
import { Life } from "../../core/session/life.fixture.ts";
import type { Session } from "../../core/session/state.ts";
import { agentModes, askingMode, modeOnArrival, usualMode } from "../agent/agent-modes.ts";

const OFFER: AgentOffer = {
  agentName: null,
  agentVersion: null,
  capabilities: {},
  modes: null,
  configOptions: [],
  takesSystemPrompt: false,
  canSteer: false,
  skipped: [],
};

const ids = ["default", "plan", "code"];

const modes = (currentModeId: string) => {
  return { currentModeId, availableModes: ids.map((id) => ({ id, name: id })) };
};

const option = (currentValue: string) => {
  const [first, ...more] = ids.map((value) => ({ value, name: value }));
  return {
    id: "m",
    category: "mode",
    currentValue,
    options: [first, { group: "g", options: more }],
  };
};

describe("the modes of an agent", () => {
  it("are those that it offers as modes, or as an option", () => {
    const asModes = { ...OFFER, modes: modes("code"), configOptions: [option("plan")] };
    expect(agentModes(asModes)).toEqual({ current: "code", ids });
    expect(agentModes({ ...OFFER, configOptions: [option("plan")] })).toEqual({
      current: "plan",
      ids,
    });
  });

  it.each([
    { ...OFFER },
    { ...OFFER, modes: {} },
    { ...OFFER, modes: { currentModeId: 3, availableModes: [null, {}, { id: 7 }] } },
    { ...OFFER, configOptions: [{ category: "mode", options: "many" }] },
  ])("are none where nothing can be made of what it says (%#)", (offer) => {
    expect(agentModes(offer)).toEqual({ current: null, ids: [] });
  });
});

describe("the usual mode of an agent", () => {
  const usual = (context: AgentContext, current: string, known: string | null) =>
    usualMode({ context, offer: { ...OFFER, modes: modes(current) } }, known);

  it.each(["new", "seeded"] as const)("is the one that it comes in, if it is %s", (context) => {
    for (const id of ids) expect(usual(context, id, "default")).toBe(id);
  });

  it.each(["resumed", "loaded"] as const)("is the one that was known, if it is %s", (context) => {
    for (const id of ids) expect(usual(context, id, "code")).toBe("code");
  });

  it.each([null, "gone"])("is one without a word of the wire, if %s was known", (known) => {
    expect(ids.map((id) => usual("resumed", id, known))).toEqual(["default", "default", "code"]);
    const offer = { ...OFFER, modes: { currentModeId: "plan", availableModes: [{ id: "plan" }] } };
    expect(usualMode({ context: "resumed", offer }, known)).toBe("plan");
  });
});

describe("P2: the mode in which an agent asks", () => {
  const asking = { ...ASKING_UNKNOWN, asks: "made_to", mode: "code" } as const;
  const { fixed } = new Life().created().now;
  const offer = { ...OFFER, modes: modes("default") };

  it("is the usual one, where the agent has it and the session wants to be asked", () => {
    const mode = askingMode({ offer }, asking, fixed);
    expect(mode).toBe("code");
    expect(usualMode({ context: "new", offer }, "default", mode)).toBe("code");
    expect(usualMode({ context: "resumed", offer }, "default", mode)).toBe("code");
  });

  it.each([
    ["the session wants to be asked nothing", { ...fixed, securityMode: "yolo" } as const, asking],
    ["the agent does not have it", fixed, { ...asking, mode: "gone" }],
    ["no mode makes it ask", fixed, ASKING_UNKNOWN],
  ])("is none if %s", (_, settings, way) => {
    expect(askingMode({ offer }, way, settings)).toBeNull();
  });
});

describe("an agent that comes", () => {
  const session = (agentMode: string | null, more: Partial<Session>): Session => {
    const { now } = new Life().created();
    return { ...now, connection: { ...now.connection, agentMode }, ...more };
  };
  const put = (agentMode: string | null, more: Partial<Session>) =>
    modeOnArrival(
      { offer: { ...OFFER, modes: modes("code") } },
      session(agentMode, more),
      "default",
    );

  it("is put into what was chosen, by whatever name", () => {
    expect(put("plan", {})).toBe("plan");
    expect(put(null, { agentModeChoices: 1, agentUsualMode: "default" })).toBe("default");
  });

  it("P7: is left in what it went into by itself, if nobody has chosen anything", () => {
    expect(put(null, { agentUsualMode: "default" })).toBeNull();
  });

  it("P2: is put back into the mode in which it asks, unless another was chosen", () => {
    const offer = { ...OFFER, modes: modes("default") };
    const known = { agentUsualMode: "code" };
    expect(modeOnArrival({ offer }, session(null, known), "code", "code")).toBe("code");
    expect(modeOnArrival({ offer }, session("plan", known), "code", "code")).toBe("plan");
    const there = { offer: { ...OFFER, modes: modes("code") } };
    expect(modeOnArrival(there, session(null, known), "code", "code")).toBeNull();
  });

  it("is put into its usual mode, if that was not known before", () => {
    expect(put(null, {})).toBe("default");
    const offer = { ...OFFER, modes: modes("default") };
    expect(modeOnArrival({ offer }, session(null, {}), "default")).toBeNull();
  });
});
