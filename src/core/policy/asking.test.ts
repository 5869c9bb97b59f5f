import { describe, expect, it } from "vitest";
import {
  type AgentAsking,
  ASKING_UNKNOWN,
  ASKS_BY_DEFAULT,
  askingView,
  wantsAsks,
} from "./asking.ts";

type Known = Parameters<typeof askingView>[2];

const NOTHING: Known = { chosen: null, observed: null, offered: null, options: null };
const MADE: AgentAsking = { ...ASKING_UNKNOWN, asks: "made_to" };
const BY_MODE: AgentAsking = { ...MADE, mode: "approve" };
const BOTH = ["approve", "auto"];

const how = (asking: AgentAsking, known: Partial<Known> = {}) =>
  askingView(asking, "ask", { ...NOTHING, ...known }).how;

describe("P2: whether an agent asks before it acts", () => {
  it("is promised only of one that is known to", () => {
    expect([ASKING_UNKNOWN, ASKS_BY_DEFAULT, MADE].map((one) => how(one))).toEqual([
      "unknown",
      "by_default",
      "made_to",
    ]);
    expect(askingView(ASKING_UNKNOWN, "ask", NOTHING).sentence).toContain("not known");
  });

  it("is up to the mode that was chosen, or that it went into by itself", () => {
    const chosen = { chosen: "auto", observed: "approve", offered: BOTH };
    expect(how(BY_MODE, chosen)).toBe("up_to_mode");
    expect(how(BY_MODE, { observed: "auto", offered: BOTH })).toBe("up_to_mode");
    expect(how(ASKS_BY_DEFAULT, { chosen: "auto" })).toBe("up_to_mode");
  });

  it("is as its profile says in the mode in which it asks, and where modes do not matter", () => {
    const same = { chosen: "approve", observed: "approve", offered: BOTH };
    expect(how(BY_MODE, same)).toBe("made_to");
    expect(how(MADE, { chosen: "auto", observed: "auto", offered: BOTH })).toBe("made_to");
  });

  it("is not known of one that is there and has no modes, or does not say in which it is", () => {
    expect(how(BY_MODE)).toBe("made_to");
    expect(how(BY_MODE, { offered: [] })).toBe("unknown");
    expect(how(BY_MODE, { offered: BOTH })).toBe("unknown");
    expect(how(MADE, { offered: [], options: new Map() })).toBe("made_to");
  });

  it("is not known of one that is not set to the options by which it asks", () => {
    const byOptions: AgentAsking = { ...MADE, options: { confirm: true, rules: "strict" } };
    const set = (...options: readonly [string, unknown][]) =>
      how(byOptions, { options: new Map(options) });
    expect(how(byOptions)).toBe("made_to");
    expect(set(["confirm", true], ["rules", "strict"])).toBe("made_to");
    expect(set(["confirm", true], ["rules", "lax"])).toBe("unknown");
    expect(set(["confirm", true])).toBe("unknown");
    const options = new Map([["confirm", true]]);
    const { sentence } = askingView(byOptions, "ask", { ...NOTHING, options });
    expect(sentence).toContain('"rules"');
  });

  it("is not known of one that does not have that mode any more", () => {
    const { how: word, sentence } = askingView(BY_MODE, "ask", { ...NOTHING, offered: ["auto"] });
    expect(word).toBe("unknown");
    expect(sentence).toContain('"approve"');
  });

  it("does not matter where everything may happen, and there it is not made to", () => {
    expect(askingView(BY_MODE, "yolo", NOTHING).how).toBe("not_wanted");
    expect((["ask", "allowlist", "yolo"] as const).map((mode) => wantsAsks(mode))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("is made to in every mode where users share a session, whom a policy binds", () => {
    expect(wantsAsks("yolo", true)).toBe(true);
    expect(askingView(BY_MODE, "yolo", NOTHING, true).how).toBe("made_to");
  });

  it("tells what it does unasked all the same", () => {
    const { sentence } = askingView({ ...MADE, unasked: "reading" }, "ask", NOTHING);
    expect(sentence).toBe(
      "The agent is made to ask before it acts; unasked it does this: reading.",
    );
  });
});
