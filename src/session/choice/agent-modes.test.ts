import { describe, expect, it } from "vitest";
import type { AgentOffer } from "../../agent/agent.ts";
import type { AgentContext } from "../../core/session/event.ts";
import { Life } from "../../core/session/life.fixture.ts";
import type { Session } from "../../core/session/state.ts";
import { agentModes, modeOnArrival, usualMode } from "./agent-modes.ts";

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

  it("is put into its usual mode, if that was not known before", () => {
    expect(put(null, {})).toBe("default");
    const offer = { ...OFFER, modes: modes("default") };
    expect(modeOnArrival({ offer }, session(null, {}), "default")).toBeNull();
  });
});
