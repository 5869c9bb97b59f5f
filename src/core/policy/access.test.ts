import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { judgeAccess, outcomeForAgent } from "./access.ts";
import { pathKey } from "./approval-key.ts";
import { CANCELLED, selected } from "./ask.ts";

const once = { optionId: "once", kind: "allow_once" };
const always = { optionId: "always", kind: "allow_always" };
const never = { optionId: "never", kind: "reject_always" };

const told = (options: readonly (typeof once)[], chosen: string, more: object = {}) =>
  outcomeForAgent(
    { kind: "permission", options, toolCall: {}, known: {}, ...more },
    selected(chosen),
  );

describe("what an agent is told of an answer", () => {
  it("is that it may this once, where a person has said always", () => {
    expect(told([always, once], "always")).toEqual(selected("once"));
  });

  it.each<[string, readonly (typeof once)[], string, object]>([
    ["once", [once, always], "once", {}],
    ["never", [once, never], "never", {}],
    ["always, where it has no other way of allowing", [always], "always", {}],
    [
      "one of several ways of allowing once",
      [once, { ...once, optionId: "x" }, always],
      "always",
      {},
    ],
    ["the answer to a question", [once, always], "always", { kind: "user_question" }],
    ["the mode to go on in", [once, always], "always", { toolCall: { kind: "switch_mode" } }],
    [
      "the mode, where an earlier word says so",
      [once, always],
      "always",
      { known: { kind: "switch_mode" } },
    ],
  ])("is as it was chosen: %s", (_what, options, chosen, more) => {
    expect(told(options, chosen, more)).toEqual(selected(chosen));
  });

  it("is that it was called off, where it was", () => {
    const ask = { kind: "permission", options: [once], toolCall: {}, known: {} } as const;
    expect(outcomeForAgent(ask, CANCELLED)).toEqual(CANCELLED);
  });
});

describe("a pattern of an allowlist without the path of the workspace", () => {
  it.each(["/", "/work"])("names files of the workspace %s", (workspaceCwd) => {
    const access = { action: "read", path: join(workspaceCwd, "src/a.ts") } as const;
    const gates = {
      grants: new Map(),
      autonomyProfile: "manual",
      approvalMode: "default",
    } as const;
    const places = { workspaceCwd, currentCwd: workspaceCwd, permits: [] };
    const allowlist = [pathKey("read", "src/a.ts")];
    const facts = { access, securityMode: "allowlist", allowlist, ...gates, ...places } as const;
    expect(judgeAccess(facts)).toMatchObject({ by: "security_mode", allowed: true });
  });
});
