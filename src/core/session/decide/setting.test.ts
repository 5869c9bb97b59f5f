import { describe, expect, it } from "vitest";
import { SANDBOX_IDLE_MS_MAX, SANDBOX_PROVISIONING_MS_MAX } from "../../limits.ts";
import {
  AGENT,
  client,
  dataOf,
  Life,
  sessionName,
  steps,
  types,
  verdictOn,
} from "../life.fixture.ts";
import type { SessionName } from "../name.ts";

const named = (life: Life, displayName: string) =>
  life.give("metadata", { displayName }, client("c1"));

describe("a display name", () => {
  it("is set, is no news the second time, and is taken away by the empty name", () => {
    const life = new Life().ready().attached("c1");
    expect(named(life, "Ada").events[0]).toMatchObject({
      type: "session_metadata_updated",
      originatorClientId: "c1",
      data: { displayName: "Ada", titleSource: "manual" },
    });
    expect(named(life, "Ada").events).toEqual([]);
    const [cleared] = dataOf(named(life, "").events, "session_metadata_updated");
    expect(cleared).not.toHaveProperty("displayName");
    expect(life.now.chosen.displayName).toBeNull();
  });

  it("has at most 256 characters and no control characters", () => {
    const life = new Life().ready().attached("c1");
    expect(verdictOn(named(life, "x".repeat(256)))).toBe("accepted");
    expect(verdictOn(named(life, "x".repeat(257)))).toBe("invalid_metadata");
    expect(verdictOn(named(life, "half of a \ud83c"))).toBe("invalid_metadata");
    for (const character of ["\u0000", "\n", "\u001f", "\u007f"]) {
      expect(verdictOn(named(life, `a${character}b`))).toBe("invalid_metadata");
    }
    expect(verdictOn(named(life, "ü 🎵 \u0080"))).toBe("accepted");
  });

  it("comes from the agent only as long as no person has given one", () => {
    const life = new Life().running().attached("c1");
    const titled = (title: string) =>
      life.give("agent_update", { update: { sessionUpdate: "session_info_update", title } }, AGENT);
    expect(types(titled("By the agent"))).toEqual(["session_update", "session_metadata_updated"]);
    named(life, "By a person");
    expect(types(titled("By the agent again"))).toEqual(["session_update"]);
    expect(life.now.chosen.displayName).toBe("By a person");
  });
});

describe("a name", () => {
  const give = (life: Life, name: string, more: { displayName?: string } = {}) =>
    life.give("metadata", { name: sessionName(name), ...more }, client("c1"));

  it("P7: is given by an event of its own, which says what it was, and moves nothing else", () => {
    const life = new Life().ready().attached("c1");
    const given = give(life, "fix-login");
    expect(given.events).toMatchObject([
      { type: "session_named", originatorClientId: "c1", data: { source: "given", from: null } },
    ]);
    expect(give(life, "fix-login").events).toEqual([]);
    const [renamed] = dataOf(give(life, "docs").events, "session_named");
    expect(renamed).toMatchObject({ name: "docs", from: "fix-login" });
    expect(life.now.chosen).toMatchObject({ name: "docs", displayName: null });
  });

  it("comes with a display name, both or neither", () => {
    const life = new Life().ready().attached("c1");
    expect(types(give(life, "docs", { displayName: "The docs" }))).toEqual([
      "session_metadata_updated",
      "session_named",
    ]);
    expect(verdictOn(give(life, "other", { displayName: "\n" }))).toBe("invalid_metadata");
    expect(life.now.chosen).toMatchObject({ name: "docs", displayName: "The docs" });
  });

  it("P11: is refused where it was a secret, which has been taken out of it", () => {
    const life = new Life().ready().attached("c1");
    const name = "[redacted: KEY]" as SessionName;
    expect(verdictOn(life.give("metadata", { name }, client("c1")))).toBe("invalid_session_name");
    expect(life.now.chosen).not.toHaveProperty("name");
  });
});

describe("P7: each setting", () => {
  it("of the model is recorded as the agent took it, or refused and told", () => {
    const life = new Life().ready();
    const taken = life.give("model", { change: { modelId: "large" } });
    expect(types(taken)).toEqual(["model_switched", "model_config_changed"]);
    expect(life.now.chosen.modelConfig).toEqual({ modelId: "large" });
    const failure = { setting: "modelId", value: "huge", reason: "no such model" } as const;
    const failed = life.give("model", { failure });
    expect(verdictOn(failed)).toBe("model_switch_failed");
    expect(dataOf(failed.events, "model_switch_failed")).toMatchObject([
      { requestedModelId: "huge", error: "no such model" },
    ]);
    expect(life.now.chosen.modelConfig).toEqual({ modelId: "large" });
  });

  it("of how the model works changes what is named, and nothing else moves", () => {
    const life = new Life().ready({ modelConfig: { modelId: "large", verbosity: "low" } });
    const before = life.now;
    const taken = life.give("model", { change: { temperature: 0.5, reasoning: "high" } });
    const from = { modelId: "large", verbosity: "low" };
    const to = { ...from, temperature: 0.5, reasoning: "high" };
    expect(types(taken)).toEqual(["model_config_changed"]);
    expect(dataOf(taken.events, "model_config_changed")).toMatchObject([{ from, to }]);
    expect(life.now).toEqual({ ...before, chosen: { ...before.chosen, modelConfig: to } });
  });

  it("of the model that is the same again is told as the wire has it, and is no change", () => {
    const life = new Life().ready({ modelConfig: { modelId: "large", temperature: 1 } });
    const again = life.give("model", { change: { modelId: "large", temperature: 1 } });
    expect(types(again)).toEqual(["model_switched"]);
    expect(types(life.give("model", { change: { temperature: 1 } }))).toEqual([]);
  });

  it("of how the model works that the agent refuses stays, and everybody is told", () => {
    const life = new Life().ready().attached("c1");
    const before = life.now;
    const failure = { setting: "temperature", value: 2, reason: "too hot" } as const;
    const failed = life.give("model", { failure }, client("c1"));
    expect(verdictOn(failed)).toBe("agent_setting_refused");
    expect(failed.events).toMatchObject([
      { type: "agent_setting_refused", originatorClientId: "c1", data: failure },
    ]);
    expect(life.now).toEqual(before);
  });

  it("of approval means a profile and an agent mode, and nothing else moves", () => {
    const life = new Life().ready();
    const before = life.now;
    const meaning = (mode: "plan" | "default" | "auto-edit" | "auto") => {
      life.give("approval_mode", { mode, persisted: false });
      const { autonomyProfile, agentMode } = life.now.connection;
      return [autonomyProfile, agentMode];
    };
    expect(meaning("plan")).toEqual(["manual", "plan"]);
    expect(meaning("auto-edit")).toEqual(["balanced", null]);
    expect(meaning("auto")).toEqual(["autonomous", null]);
    expect(meaning("default")).toEqual(["manual", null]);
    expect(life.now).toEqual({ ...before, agentModeChoices: 4 });
  });

  it("yolo needs a session created so; the same mode again is a choice of the agent's", () => {
    const life = new Life().ready();
    expect(verdictOn(life.give("approval_mode", { mode: "yolo", persisted: false }))).toBe(
      "trust_gate",
    );
    const again = life.give("approval_mode", { mode: "default", persisted: false });
    expect(types(again)).toEqual(["agent_mode_changed"]);
    const free = new Life().ready({ securityMode: "yolo" });
    expect(verdictOn(free.give("approval_mode", { mode: "yolo", persisted: true }))).toBe(
      "accepted",
    );
  });

  it("that is reloaded changes that one field, and its version rises", () => {
    const life = new Life().ready();
    const { chosen } = life.now;
    life.give("reload_skills", { hash: "new", difference: "+ review" });
    expect(life.now.chosen).toEqual({ ...chosen, skills: { version: 2, hash: "new" } });
    life.give("reload_skills", { hash: "new", difference: "" });
    expect(life.now.chosen.skills).toEqual({ version: 3, hash: "new" });
    life.give("reload_persona", { hash: "p", difference: "" });
    expect(life.now.chosen.persona).toEqual({ version: 2, hash: "p" });
    const changed = life.give("change_agent", { to: "chat" });
    expect(steps(changed.events)).toEqual(["ready > deactivating"]);
    expect(life.now.chosen).toEqual({
      ...chosen,
      skills: { version: 3, hash: "new" },
      persona: { version: 2, hash: "p" },
      activeAgent: "chat",
    });
    expect(life.now.agentSessionId).toBeNull();
  });

  it("of the directory stays inside the workspace, and begins a new agent session there", () => {
    const life = new Life().ready();
    for (const to of ["/", "/workspacex", "/workspace/../etc", "relative"]) {
      expect(verdictOn(life.give("change_cwd", { to }))).toBe("workspace_mismatch");
    }
    const { events } = life.give("change_cwd", { to: "/workspace/src" });
    expect(dataOf(events, "session_cwd_changed")).toMatchObject([
      { from: "/workspace", to: "/workspace/src" },
    ]);
    expect(steps(events)).toEqual(["ready > deactivating"]);
  });

  it("of the budget is a whole amount, or none", () => {
    const life = new Life().ready();
    expect(verdictOn(life.give("set_budget", { budgetMicro: 0.5 }))).toBe("invalid_amount");
    const raised = life.give("set_budget", { budgetMicro: 5_000_000 });
    expect(dataOf(raised.events, "session_budget_changed")).toMatchObject([
      { from: null, to: 5_000_000 },
    ]);
    expect(life.give("set_budget", { budgetMicro: 5_000_000 }).events).toEqual([]);
  });

  it("cannot be reloaded during a turn", () => {
    const life = new Life().waiting();
    const reload = { hash: "h", difference: "" };
    expect(verdictOn(life.give("reload_skills", reload))).toBe("session_busy");
    expect(verdictOn(life.give("reload_persona", reload))).toBe("session_busy");
    expect(verdictOn(life.give("change_agent", { to: "chat" }))).toBe("session_busy");
  });

  it("of the agent's own making is recorded as observed, and moves nothing", () => {
    const life = new Life().running();
    const { chosen, connection } = life.now;
    const update = { sessionUpdate: "current_mode_update", currentModeId: "code" };
    expect(types(life.give("agent_update", { update }, AGENT))).toEqual(["session_update"]);
    expect(life.now.chosen).toBe(chosen);
    expect(life.now.connection.agentMode).toBe(connection.agentMode);
  });
});

describe("a sandbox", () => {
  it("is kept and shown with its times, and used by tools", () => {
    const life = new Life().running();
    life.give("sandbox", { state: "provisioning" });
    life.give("sandbox", { state: "ready" });
    const provisioned = life.nowMs;
    expect(life.now.connection).toMatchObject({
      sandboxState: "ready",
      sandboxProvisionedAt: provisioned,
      lastSandboxActivity: provisioned,
    });
    const update = { sessionUpdate: "tool_call", toolCallId: "c", title: "ls" };
    life.give("agent_update", { update }, AGENT);
    expect(life.now.connection.lastSandboxActivity).toBe(life.nowMs);
    expect(life.give("sandbox", { state: "ready" }).events).toEqual([]);
    life.give("sandbox", { state: "none" });
    expect(life.now.connection).toMatchObject({ sandboxProvisionedAt: null });
  });

  const passed = (life: Life, afterMs: number) => {
    life.nowMs += afterMs - 1;
    return dataOf(
      life.give("deadline_passed", { deadline: { of: "sandbox" } }).events,
      "sandbox_changed",
    );
  };

  it("that is on its way for too long has timed out, and not a moment before", () => {
    const life = new Life().ready();
    life.give("sandbox", { state: "provisioning" });
    expect(passed(life, SANDBOX_PROVISIONING_MS_MAX - 1)).toEqual([]);
    expect(passed(life, 1)).toMatchObject([{ state: "timed_out" }]);
    expect(passed(life, SANDBOX_PROVISIONING_MS_MAX)).toEqual([]);
  });

  it("that nobody uses for too long has timed out; an open tool call is use", () => {
    const life = new Life().running();
    life.give("sandbox", { state: "ready" });
    const called = (status: string) => {
      const update = { sessionUpdate: "tool_call_update", toolCallId: "c", status };
      life.give("agent_update", { update }, AGENT);
    };
    called("in_progress");
    expect(passed(life, SANDBOX_IDLE_MS_MAX)).toEqual([]);
    called("completed");
    expect(passed(life, SANDBOX_IDLE_MS_MAX - 1)).toEqual([]);
    expect(passed(life, 1)).toMatchObject([{ state: "timed_out" }]);
    expect(life.now.connection.sandboxProvisionedAt).not.toBeNull();
  });

  it("is reported by clients, in their name, and goes with the instance", () => {
    const life = new Life().ready().attached("c1");
    const [event] = life.give("sandbox", { state: "ready" }, client("c1")).events;
    expect(event).toMatchObject({ type: "sandbox_changed", originatorClientId: "c1" });
    expect(verdictOn(life.give("sandbox", { state: "none" }, AGENT))).toBe("actor_not_allowed");
    life.give("recovery", {});
    expect(life.now.connection).toMatchObject({
      sandboxState: "none",
      sandboxProvisionedAt: null,
      lastSandboxActivity: null,
    });
  });
});
