import { describe, expect, it } from "vitest";
import {
  AGENT_STATUSES,
  type AgentStatus,
  SESSION_STATES,
  type SessionState,
} from "../../status.ts";
import type { Actor, AgentStatusReport } from "../command.ts";
import {
  AGENT,
  askId,
  client,
  dataOf,
  Life,
  steps,
  turnId,
  types,
  verdictOn,
} from "../life.fixture.ts";

/** A session in each of the seven states, in turn `t1` where it has one. */
const IN: Readonly<Record<SessionState, () => Life>> = {
  inactive: () => new Life().created(),
  activating: () => new Life().activating(),
  ready: () => new Life().ready(),
  running: () => new Life().running(),
  waiting: () => new Life().waiting(),
  deactivating: () => new Life().deactivating(),
  error: () => new Life().error(),
};

const same = "same"; // Accepted, and nothing happens.
const out = "agent_out_of_turn";
const late = "turn_not_open";
const idle = "inactive";
const begin = "activating";
const ready = "ready";
const end = "deactivating";
const error = "error";

/** What the seed's function gives, and what a turn allows of it: the rulings of the design. */
// biome-ignore format: a table is read by its columns
const DECIDED: Readonly<Record<AgentStatus, readonly string[]>> = {
  //                   inactive activ. ready  runng. waitg. deact. error
  created:            [begin,   same,  out,   out,   out,   out,   begin],
  connected:          [out,     ready, same,  out,   out,   out,   out],
  turn_started:       [out,     out,   out,   same,  out,   out,   out],
  turn_complete:      [late,    late,  late,  ready, ready, late,  late],
  turn_error:         [out,     error, error, ready, ready, error, out],
  question_requested: [out,     out,   out,   out,   same,  out,   out],
  approval_resolved:  [out,     out,   out,   same,  out,   out,   out],
  terminating:        [out,     out,   end,   end,   end,   same,  out],
  terminated:         [same,    idle,  idle,  error, error, idle,  idle],
  error:              [same,    error, error, error, error, error, same],
};

describe("P4: an agent's status", () => {
  for (const status of AGENT_STATUSES) {
    for (const [index, state] of SESSION_STATES.entries()) {
      const expected = DECIDED[status][index];
      it(`\`${status}\` at \`${state}\` gives ${expected}`, () => {
        const life = IN[state]();
        const decision = life.give("agent_status", report(status), AGENT);
        const changed = life.state === state ? same : life.state;
        expect(decision.kind === "refused" ? decision.refusal.code : changed).toBe(expected);
        if (decision.kind === "refused") expect(decision.events).toEqual([]);
      });
    }
  }

  it("of a turn that has its verdict is late, and changes nothing", () => {
    const life = new Life().running();
    life.complete("t1");
    expect(verdictOn(life.complete("t1"))).toBe("turn_not_open");
    const failure = { code: "-1", message: "late", errorKind: null };
    const late = { status: "turn_error", turnId: turnId("t1"), failure } as const;
    expect(verdictOn(life.give("agent_status", late, AGENT))).toBe("turn_not_open");
    expect(life.state).toBe("ready");
  });

  it("`turn_complete` at `waiting` takes two legal steps in one commit", () => {
    const life = new Life().waiting();
    const { events } = life.complete("t1");
    expect(steps(events)).toEqual(["waiting > running", "running > ready"]);
    expect(dataOf(events, "permission_resolved")).toMatchObject([
      { requestId: "a1", outcome: { outcome: "cancelled" }, reason: "turn_ended" },
    ]);
  });
});

function report(status: AgentStatus): AgentStatusReport {
  const failure = { code: "-32603", message: "failed", errorKind: null };
  if (status === "connected") return { status, agentSessionId: "agent-1", context: "new" };
  if (status === "turn_complete") return { status, turnId: turnId("t1"), stopReason: "end_turn" };
  if (status === "turn_error") return { status, turnId: null, failure };
  if (status === "error") return { status, message: "broken" };
  return { status };
}

const EXIT = { exitCode: null, signalCode: "SIGKILL", message: "killed" };

describe("an agent that goes away", () => {
  it("P2: in mid-turn leaves a verdict, cancelled asks, `error` and `session_died`", () => {
    const life = new Life().waiting();
    const decision = life.give("agent_exit", EXIT, AGENT);
    expect(types(decision)).toEqual([
      "prompt_cancelled",
      "permission_resolved",
      "session_lifecycle",
      "turn_error",
      "credits_settled",
      "session_status",
      "session_lifecycle",
      "session_died",
    ]);
    expect(steps(decision.events)).toEqual(["waiting > error"]);
    expect(decision.events[0]).toMatchObject({
      promptId: "p1",
      data: { reason: "forward_failed" },
    });
    expect(dataOf(decision.events, "permission_resolved")).toMatchObject([
      { requestId: "a1", outcome: { outcome: "cancelled" }, reason: "agent_gone" },
    ]);
    expect(dataOf(decision.events, "turn_error")).toMatchObject([{ code: "channel_closed" }]);
    expect(dataOf(decision.events, "session_died")).toMatchObject([
      { reason: "channel_closed", exitCode: null, signalCode: "SIGKILL" },
    ]);
    expect(life.now.phase).toBe("Persisted");
  });

  it("says whether text of the turn is in the log", () => {
    const spoke = new Life().running();
    spoke.says("half a sen");
    const silent = new Life().running();
    const errorOf = (life: Life) =>
      dataOf(life.give("agent_exit", EXIT, AGENT).events, "turn_error")[0]?.partialOutput;
    expect(errorOf(spoke)).toBe(true);
    expect(errorOf(silent)).toBeUndefined();
  });

  it("leaves the queue, which has not run; the next activation starts from `error`", () => {
    const life = new Life().running();
    life.prompt("p2");
    life.give("agent_exit", EXIT, AGENT);
    expect(life.now.queue.map(({ promptId }) => promptId)).toEqual(["p2"]);
    expect(steps(life.give("activate", {}).events)).toEqual(["error > activating"]);
  });

  it("P2: for good gives every waiting prompt its verdict", () => {
    const life = new Life().created();
    life.prompt("p1");
    life.prompt("p2");
    const decision = life.give("agent_unavailable", { message: "not installed" });
    const errors = dataOf(decision.events, "turn_error");
    expect(errors).toMatchObject([
      { promptId: "p1", code: "agent_unavailable", message: "not installed" },
      { promptId: "p2", code: "agent_unavailable" },
    ]);
    expect(life.now.queue).toEqual([]);
  });

  it("while it starts leaves `error`; while it is taken down leaves `inactive`", () => {
    expect(steps(new Life().activating().give("agent_exit", EXIT, AGENT).events)).toEqual([
      "activating > error",
    ]);
    expect(steps(new Life().deactivating().give("agent_exit", EXIT, AGENT).events)).toEqual([
      "deactivating > inactive",
    ]);
  });
});

describe("an agent that was replaced", () => {
  it("P4: is not taken for the present one, whatever it still says", () => {
    const life = new Life().activating();
    life.give("stop", { reason: "daemon_shutdown" });
    life.give("activate", {});
    const earlier: Actor = { kind: "agent", activation: 1 };
    const report = { status: "connected", agentSessionId: "old", context: "new" } as const;
    expect(verdictOn(life.give("agent_status", report, earlier))).toBe("agent_out_of_turn");
    expect(verdictOn(life.give("agent_exit", EXIT, earlier))).toBe("agent_out_of_turn");
    expect(life.state).toBe("activating");
    expect(verdictOn(life.give("agent_status", report, AGENT))).toBe("accepted");
  });
});

describe("who may say what", () => {
  it("an agent does not vote, and a client does not speak for the agent", () => {
    const life = new Life().waiting();
    const vote = { requestId: askId("a1"), outcome: { outcome: "cancelled" } } as const;
    expect(verdictOn(life.give("vote", vote, AGENT))).toBe("actor_not_allowed");
    const exit = life.give("agent_exit", EXIT, client(null));
    expect(verdictOn(exit)).toBe("actor_not_allowed");
    expect(verdictOn(life.give("recovery", {}, client(null)))).toBe("actor_not_allowed");
  });
});

describe("activation", () => {
  it("brings a session at rest back through `Resumed`", () => {
    const life = new Life().created();
    life.give("stop", { reason: "idle_timeout" });
    expect(life.now.phase).toBe("Closed");
    const { events } = life.give("activate", {});
    expect(dataOf(events, "session_lifecycle")).toMatchObject([{ event: "SessionResumeStarted" }]);
    expect(life.now.phase).toBe("Resumed");
  });

  it("keeps the agent's own name for the conversation, and says how it got its context", () => {
    const life = new Life().activating();
    const report = { status: "connected", agentSessionId: "abc", context: "loaded" } as const;
    const { events } = life.give("agent_status", report, AGENT);
    expect(dataOf(events, "agent_connected")).toMatchObject([{ context: "loaded" }]);
    expect(life.now.agentSessionId).toBe("abc");
  });
});
