import { describe, expect, it } from "vitest";
import {
  AGENT,
  askId,
  client,
  dataOf,
  Life,
  newAsk,
  promptId,
  steps,
  turnId,
  types,
  verdictOn,
} from "../life.fixture.ts";
import type { StopCause } from "../reason.ts";

describe("a cancel", () => {
  it("is told once, cancels the asks, and leaves the verdict to the agent", () => {
    const life = new Life().waiting().attached("c1", "c2");
    const decision = life.give("cancel", {}, client("c1"));
    expect(types(decision)).toEqual(["prompt_cancelled", "permission_resolved", "session_status"]);
    expect(decision.events[0]).toMatchObject({ promptId: "p1", originatorClientId: "c1" });
    expect(steps(decision.events)).toEqual(["waiting > running"]);
    expect(life.give("cancel", {}, client("c2")).events).toEqual([]);
    expect(life.view).toMatchObject({ stopRequested: true, turnStopped: false });
    const settled = life.complete("t1", "cancelled");
    expect(dataOf(settled.events, "turn_complete")).toMatchObject([{ stopReason: "cancelled" }]);
    expect(dataOf(settled.events, "session_lifecycle")).toMatchObject([
      { event: "SessionTurnEnd", outcome: "cancelled" },
      { event: "SessionPersisted" },
    ]);
  });

  it("that the agent answers with an error is a cancel all the same", () => {
    const life = new Life().running();
    life.give("cancel", {});
    const failure = { code: "-32800", message: "aborted", errorKind: null };
    const report = { status: "turn_error", turnId: turnId("t1"), failure } as const;
    const { events } = life.give("agent_status", report, AGENT);
    expect(dataOf(events, "turn_complete")).toMatchObject([{ stopReason: "cancelled" }]);
    expect(life.state).toBe("ready");
  });

  it.each(["end_turn", "refusal", "max_tokens"])(
    "that the agent settles with `%s` is a cancel all the same, and enters the conversation",
    (stopReason) => {
      const life = new Life().running();
      life.says("half of");
      life.give("cancel", {});
      const { events } = life.complete("t1", stopReason);
      expect(dataOf(events, "turn_complete")).toMatchObject([{ stopReason: "cancelled" }]);
      expect(dataOf(events, "session_lifecycle")).toMatchObject([
        { event: "SessionTurnEnd", outcome: "cancelled" },
        { event: "SessionPersisted" },
      ]);
    },
  );

  it("is told once, also if the agent dies of it", () => {
    const life = new Life().running();
    life.give("cancel", {});
    const exit = { exitCode: 1, signalCode: null, message: "" };
    expect(dataOf(life.give("agent_exit", exit, AGENT).events, "prompt_cancelled")).toEqual([]);
  });

  it("that the agent ignores ends the turn in `error`, with a verdict", () => {
    const life = new Life().running();
    const deadline = { of: "settling", turnId: turnId("t1") } as const;
    expect(life.give("deadline_passed", { deadline }).events).toEqual([]);
    life.give("cancel", {});
    const { events } = life.give("deadline_passed", { deadline });
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "cancel_ignored" }]);
    expect(steps(events)).toEqual(["running > error"]);
  });

  it("leaves the queue, and with nothing running is only told", () => {
    const life = new Life().running();
    life.prompt("p2");
    life.give("cancel", {});
    life.complete("t1", "cancelled");
    expect(life.now.queue).toHaveLength(1);
    const idle = life.give("cancel", {});
    expect(types(idle)).toEqual(["prompt_cancelled"]);
    expect(idle.events[0]).not.toHaveProperty("promptId");
  });

  it("refuses further asks of the turn it stops", () => {
    const life = new Life().running();
    life.give("cancel", {});
    expect(verdictOn(life.give("ask", newAsk("a1"), AGENT))).toBe("agent_out_of_turn");
  });
});

describe("a turn that may not go on", () => {
  type Ways = Readonly<
    Record<Exclude<StopCause, "client">, readonly [(life: Life) => void, string]>
  >;
  const t1 = turnId("t1");
  const deadline = { of: "prompt", promptId: promptId("p1") } as const;
  const ways: Ways = {
    deadline: [(life) => life.give("deadline_passed", { deadline }), "prompt_deadline_exceeded"],
    budget: [
      (life) => life.give("limit_passed", { turnId: t1, limit: "budget" }),
      "budget_exhausted",
    ],
    turn_too_large: [
      (life) => life.give("limit_passed", { turnId: t1, limit: "turn_too_large" }),
      "turn_too_large",
    ],
  };
  for (const [cause, [stop, code]] of Object.entries(ways)) {
    it(`by its ${cause} is told to stop, and fails with \`${code}\` once it has settled`, () => {
      const life = new Life().running();
      stop(life);
      expect(dataOf(life.log, "prompt_cancelled")).toMatchObject([{ reason: cause }]);
      expect(life.state).toBe("running");
      const { events } = life.complete("t1", "cancelled");
      expect(dataOf(events, "turn_error")).toMatchObject([{ code }]);
      expect(life.state).toBe("ready");
    });
  }

  it("because its snapshot is too large fails, is persisted, and leaves the session ready", () => {
    const life = new Life().waiting();
    const { events } = life.give("commit_refused", { turnId: t1 });
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "snapshot_too_large" }]);
    expect(dataOf(events, "session_lifecycle")).toMatchObject([
      { event: "SessionTurnEnd", outcome: "failed" },
      { event: "SessionPersisted" },
    ]);
    expect(life.state).toBe("ready");
  });

  it("is only the one that was meant", () => {
    const life = new Life().running();
    const other = turnId("t9");
    expect(verdictOn(life.give("commit_refused", { turnId: other }))).toBe("turn_not_open");
    const limit = { turnId: other, limit: "budget" } as const;
    expect(verdictOn(life.give("limit_passed", limit))).toBe("turn_not_open");
  });
});

describe("a deadline", () => {
  it("P2: of a waiting prompt ends it without its ever running", () => {
    const life = new Life().running();
    life.says("text of another prompt");
    life.prompt("p2");
    const deadline = { of: "prompt", promptId: promptId("p2") } as const;
    const { events } = life.give("deadline_passed", { deadline });
    expect(events.map(({ type }) => type)).toEqual(["turn_error", "pending_prompt_completed"]);
    const [error] = dataOf(events, "turn_error");
    expect(error).toMatchObject({ promptId: "p2", code: "prompt_deadline_exceeded" });
    expect(error).not.toHaveProperty("partialOutput");
    expect(life.state).toBe("running");
  });

  it("of an ask is a refusal, and says that it was the time", () => {
    const life = new Life().waiting();
    const deadline = { of: "ask", requestId: askId("a1") } as const;
    const { events } = life.give("deadline_passed", { deadline });
    expect(dataOf(events, "permission_resolved")).toMatchObject([
      { outcome: { outcome: "selected", optionId: "no" }, reason: "timeout" },
    ]);
    expect(steps(events)).toEqual(["waiting > running"]);
  });

  it("that fires late finds nothing to do", () => {
    const life = new Life().waiting();
    life.give("vote", { requestId: askId("a1"), outcome: { outcome: "cancelled" } }, client(null));
    life.complete("t1");
    for (const deadline of [
      { of: "ask", requestId: askId("a1") },
      { of: "prompt", promptId: promptId("p1") },
      { of: "settling", turnId: turnId("t1") },
    ] as const) {
      expect(life.give("deadline_passed", { deadline })).toMatchObject({
        kind: "accepted",
        events: [],
      });
    }
  });
});

describe("an ask that its agent does not wait for any more", () => {
  const withdrawn = (life: Life, reason: "withdrawn" | "agent_gone") =>
    life.give("ask_withdrawn", { requestId: askId("a1"), reason }, AGENT);

  it.each(["withdrawn", "agent_gone"] as const)(
    "is cancelled for its true reason, and the turn goes on: %s",
    (reason) => {
      const life = new Life().waiting();
      const { events } = withdrawn(life, reason);
      expect(dataOf(events, "permission_resolved")).toMatchObject([
        { requestId: "a1", outcome: { outcome: "cancelled" }, reason },
      ]);
      expect(steps(events)).toEqual(["waiting > running"]);
    },
  );

  it("is left as it ended, if it has ended before", () => {
    const life = new Life().waiting();
    life.give("vote", { requestId: askId("a1"), outcome: { outcome: "cancelled" } }, client(null));
    expect(withdrawn(life, "agent_gone")).toMatchObject({ kind: "accepted", events: [] });
    life.complete("t1");
    expect(withdrawn(life, "agent_gone")).toMatchObject({ kind: "accepted", events: [] });
  });

  it("leaves the session waiting for the others", () => {
    const life = new Life().waiting();
    life.give("ask", newAsk("a2"), AGENT);
    expect(steps(withdrawn(life, "withdrawn").events)).toEqual([]);
    expect(life.state).toBe("waiting");
  });

  it("P4: is withdrawn by nobody else", () => {
    const life = new Life().waiting();
    const command = { requestId: askId("a1"), reason: "withdrawn" } as const;
    expect(verdictOn(life.give("ask_withdrawn", command, client("c1")))).toBe("actor_not_allowed");
  });
});

describe("a failed call to the agent", () => {
  const failed = (life: Life, errorKind: string | null) => {
    const failure = { code: "-32603", message: "overloaded", errorKind };
    const report = { status: "turn_error", turnId: turnId("t1"), failure } as const;
    return life.give("agent_status", report, AGENT);
  };

  it("is told as the wire tells it, and the session can go on", () => {
    const life = new Life().running();
    const { events } = failed(life, null);
    expect(dataOf(events, "prompt_cancelled")).toMatchObject([{ reason: "forward_failed" }]);
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "-32603", message: "overloaded" }]);
    expect(life.state).toBe("ready");
    expect(life.now.lastTurnError).toEqual({ code: "-32603", message: "overloaded" });
    life.prompt("p2");
    life.begin("p2", "t2");
    expect(life.now.lastTurnError).toBeNull();
  });

  it("with a kind of error of its own needs no such notice", () => {
    const { events } = failed(new Life().running(), "model_stream_interrupted");
    expect(dataOf(events, "prompt_cancelled")).toEqual([]);
    expect(dataOf(events, "turn_error")).toMatchObject([{ errorKind: "model_stream_interrupted" }]);
  });
});
