import { describe, expect, it } from "vitest";
import type { SessionEvent } from "../event.ts";
import {
  AGENT,
  CREATION,
  client,
  dataOf,
  Life,
  sessionId,
  steps,
  types,
  verdictOn,
} from "../life.fixture.ts";
import type { Creation } from "../state.ts";

const phases = (events: readonly SessionEvent[]) =>
  dataOf(events, "session_lifecycle").map(({ event }) => event);

describe("creating a session", () => {
  it("reaches `Idle` and `inactive`, with all that was chosen", () => {
    const life = new Life();
    const decision = life.give("create", { sessionId: sessionId("s"), creation: CREATION });
    expect(types(decision)).toEqual(["session_created", "session_lifecycle"]);
    expect(phases(decision.events)).toEqual(["SessionStarted"]);
    expect(life.now).toMatchObject({ sessionId: "s", phase: "Idle", closed: false });
    expect(life.state).toBe("inactive");
    expect(life.now.fixed.createdAtMs).toBe(life.nowMs);
  });

  it("is refused where the id is taken", () => {
    const life = new Life().created();
    const again = life.give("create", { sessionId: sessionId("s"), creation: CREATION });
    expect(verdictOn(again)).toBe("session_id_conflict");
  });

  const bad: readonly (readonly [string, Partial<Creation>, string])[] = [
    ["an allowlist without its mode", { allowlist: ["*"] }, "invalid_allowlist"],
    ["an empty pattern", { securityMode: "allowlist", allowlist: [""] }, "invalid_allowlist"],
    ["yolo approval in mode ask", { approvalMode: "yolo" }, "trust_gate"],
    ["a name with control characters", { displayName: "a\u0007" }, "invalid_metadata"],
    ["a name of 257 characters", { displayName: "x".repeat(257) }, "invalid_metadata"],
  ];
  for (const [what, change, code] of bad) {
    it(`refuses ${what}, and nothing is there afterwards`, () => {
      const life = new Life();
      const creation = { ...CREATION, ...change };
      expect(verdictOn(life.give("create", { sessionId: sessionId("s"), creation }))).toBe(code);
      expect(life.session).toBeNull();
    });
  }

  it("P8: everything asked of a session that is not there answers alike", () => {
    const life = new Life();
    expect(verdictOn(life.prompt("p1"))).toBe("session_not_found");
    expect(verdictOn(life.give("close", {}))).toBe("session_not_found");
  });
});

describe("a client's close", () => {
  it("P2: gives each prompt its verdict, takes the agent down, and then tells everybody", () => {
    const life = new Life().running().attached("c1");
    life.prompt("p2");
    const closing = life.give("close", {}, client("c1"));
    expect(closing.events[0]).toMatchObject({
      type: "prompt_cancelled",
      promptId: "p1",
      originatorClientId: "c1",
    });
    expect(dataOf(closing.events, "prompt_cancelled")).toHaveLength(1);
    expect(dataOf(closing.events, "turn_error")).toMatchObject([
      { promptId: "p1", code: "session_closed" },
      { promptId: "p2", code: "session_closed" },
    ]);
    expect(steps(closing.events)).toEqual(["running > deactivating"]);
    expect(phases(closing.events)).toEqual([]);
    const gone = life.give("agent_status", { status: "terminated" }, AGENT);
    expect(steps(gone.events)).toEqual(["deactivating > inactive"]);
    expect(phases(gone.events)).toEqual(["SessionClosed"]);
    expect(dataOf(gone.events, "session_closed")).toMatchObject([
      { reason: "client_close", closedBy: "c1" },
    ]);
  });

  it("answers like an unknown session from then on, until it is loaded", () => {
    const life = new Life().created();
    life.give("close", {});
    expect(verdictOn(life.prompt("p1"))).toBe("session_not_found");
    expect(verdictOn(life.give("close", {}))).toBe("session_not_found");
    expect(verdictOn(life.give("activate", {}))).toBe("session_not_found");
    const loaded = life.give("resume", { skipped: [{ name: "git", reason: "not installed" }] });
    expect(dataOf(loaded.events, "session_lifecycle")).toMatchObject([
      { event: "SessionResumeStarted", skipped: [{ name: "git", reason: "not installed" }] },
    ]);
    expect(verdictOn(life.prompt("p1"))).toBe("accepted");
  });

  it("is `session_closing` to all others while the agent goes", () => {
    const life = new Life().ready();
    life.give("close", {});
    expect(verdictOn(life.prompt("p1"))).toBe("session_closing");
    expect(verdictOn(life.give("close", {}))).toBe("session_closing");
    expect(verdictOn(life.give("resume", { skipped: [] }))).toBe("session_closing");
  });

  it("survives a crash in the middle of it: the session stays closed", () => {
    const life = new Life().ready().attached("c1");
    life.give("close", {}, client("c1"));
    const { events } = life.give("recovery", {});
    expect(dataOf(events, "session_closed")).toMatchObject([{ closedBy: "c1" }]);
    expect(verdictOn(life.prompt("p1"))).toBe("session_not_found");
  });

  it("of an agent that will not go passes through `error`, and still ends", () => {
    const life = new Life().ready();
    life.give("close", {});
    const { events } = life.give("agent_status", { status: "error", message: "stuck" }, AGENT);
    expect(steps(events)).toEqual(["deactivating > error", "error > inactive"]);
    expect(phases(events)).toEqual(["SessionClosed"]);
  });

  it("of a session that is starting cancels the start", () => {
    const { events } = new Life().activating().give("close", {});
    expect(steps(events)).toEqual(["activating > inactive"]);
    expect(phases(events)).toEqual(["SessionClosed"]);
  });
});

describe("stopping an instance", () => {
  it("ends with `SessionClosed` and its reason, no terminal frame, and the queue kept", () => {
    const life = new Life().ready();
    life.prompt("p1");
    life.give("stop", { reason: "daemon_shutdown" });
    const { events } = life.give("agent_status", { status: "terminated" }, AGENT);
    expect(dataOf(events, "session_lifecycle")).toMatchObject([{ reason: "daemon_shutdown" }]);
    expect(dataOf(events, "session_closed")).toEqual([]);
    expect(life.now).toMatchObject({ phase: "Closed", closed: false });
    expect(life.now.queue).toHaveLength(1);
    expect(verdictOn(life.prompt("p2"))).toBe("accepted");
  });

  it("an idle rule never ends work; a shutdown does, with its code", () => {
    const life = new Life().waiting();
    expect(verdictOn(life.give("stop", { reason: "idle_timeout" }))).toBe("session_busy");
    expect(verdictOn(life.give("stop", { reason: "last_client_detached" }))).toBe("session_busy");
    const waiting = new Life().activating();
    waiting.prompt("p1");
    expect(verdictOn(waiting.give("stop", { reason: "evicted" }))).toBe("session_busy");
    const { events } = life.give("stop", { reason: "daemon_shutdown" });
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "daemon_shutdown" }]);
    expect(steps(events)).toEqual(["waiting > deactivating"]);
  });

  it("finishes at once where the agent is on its way out already", () => {
    const life = new Life().deactivating();
    const { events } = life.give("stop", { reason: "daemon_shutdown" });
    expect(steps(events)).toEqual(["deactivating > inactive"]);
    expect(phases(events)).toEqual(["SessionClosed"]);
  });
});

describe("recovery", () => {
  it("P5: closes what a crash left open, in one commit and by legal steps", () => {
    const life = new Life().waiting();
    life.says("partial");
    life.prompt("p2");
    const { events } = life.give("recovery", {});
    expect(dataOf(events, "permission_resolved")).toMatchObject([{ reason: "SERVER_RESTART" }]);
    expect(dataOf(events, "turn_error")).toMatchObject([
      { promptId: "p1", code: "SERVER_RESTART", partialOutput: true },
    ]);
    expect(dataOf(events, "credits_settled")).toHaveLength(1);
    expect(steps(events)).toEqual(["waiting > error", "error > inactive"]);
    expect(dataOf(events, "session_lifecycle")).toMatchObject([
      { event: "SessionClosed", from: "Active", to: "Closed", reason: "crash" },
    ]);
    expect(life.now.queue.map(({ promptId }) => promptId)).toEqual(["p2"]);
  });

  it("goes directly to `inactive` from every state without a turn", () => {
    const direct = (life: Life) => steps(life.give("recovery", {}).events);
    expect(direct(new Life().activating())).toEqual(["activating > inactive"]);
    expect(direct(new Life().ready())).toEqual(["ready > inactive"]);
    expect(direct(new Life().deactivating())).toEqual(["deactivating > inactive"]);
    expect(direct(new Life().error())).toEqual(["error > inactive"]);
    expect(direct(new Life().created())).toEqual([]);
  });

  it("after a store failure says so by its own code, and gives the agent's side up", () => {
    const life = new Life().running();
    const { events } = life.give("store_failure", {});
    expect(life.now.agentSessionId).toBeNull();
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "STORE_FAILURE" }]);
    expect(dataOf(events, "session_lifecycle")).toMatchObject([{ reason: "store_failure" }]);
  });

  it("P6: the next turn says first that the session was resumed", () => {
    const life = new Life().running();
    life.give("recovery", {});
    life.give("activate", {});
    const report = { status: "connected", agentSessionId: "a", context: "resumed" } as const;
    life.give("agent_status", report, AGENT);
    life.prompt("p2");
    const { events } = life.begin("p2", "t2");
    expect(phases(events)).toEqual(["SessionResumed", "SessionTurnStart"]);
    life.complete("t2");
    expect(life.now.phase).toBe("Persisted");
  });
});
