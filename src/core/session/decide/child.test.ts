import { describe, expect, it } from "vitest";
import { CHILDREN_PER_TURN_MAX } from "../../limits.ts";
import { CHILD_LIMITS } from "../../policy/child-limits.ts";
import { NO_TOKENS } from "../../price.ts";
import { asksOf, begins, EDIT, K1 } from "../child.fixture.ts";
import type { CommandData } from "../command.ts";
import {
  AGENT,
  askId,
  childId,
  client,
  dataOf,
  Life,
  newAsk,
  types,
  verdictOn,
} from "../life.fixture.ts";
import type { Creation } from "../state.ts";

/** A session whose turn has these children at work. */
function withChildren(ids: readonly string[] = ["k1"], more: Partial<Creation> = {}): Life {
  const life = new Life().running(more);
  for (const id of ids)
    expect(verdictOn(life.give("start_child", begins(id), AGENT))).toBe("accepted");
  return life;
}

const ends = (life: Life) =>
  dataOf(life.log, "child_session_ended").map(({ childId: id, state, error }) => {
    return [id, state, error?.code ?? null].join(" ");
  });

describe("a child session ends before its parent's turn", () => {
  it.each([
    ["completed", (life: Life) => life.complete("t1"), "turn_complete", "parent_ended", "Aborted"],
    [
      "failed",
      (life: Life) =>
        life.give(
          "agent_status",
          {
            status: "turn_error",
            turnId: null,
            failure: { code: "x", message: "", errorKind: null },
          },
          AGENT,
        ),
      "turn_error",
      "parent_ended",
      "Aborted",
    ],
    [
      "lost with its agent",
      (life: Life) =>
        life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT),
      "turn_error",
      "parent_ended",
      "Aborted",
    ],
    [
      "recovered",
      (life: Life) => life.give("recovery", {}),
      "turn_error",
      "SERVER_RESTART",
      "Aborted",
    ],
    [
      "lost with its store",
      (life: Life) => life.give("store_failure", {}),
      "turn_error",
      "STORE_FAILURE",
      "Aborted",
    ],
    [
      "closed",
      (life: Life) => life.give("close", {}, client(null)),
      "turn_error",
      "parent_cancelled",
      "Aborted",
    ],
    [
      "stopped with the server",
      (life: Life) => life.give("stop", { reason: "daemon_shutdown" }),
      "turn_error",
      "parent_ended",
      "Aborted",
    ],
  ] as const)(
    "P2: in one commit with the verdict of a turn that is %s",
    (_how, act, verdict, code, state) => {
      const life = withChildren(["k1", "k2"]);
      const told = types(act(life));
      expect(told.filter((type) => type === "child_session_ended" || type === verdict)).toEqual([
        "child_session_ended",
        "child_session_ended",
        verdict,
      ]);
      expect(ends(life)).toEqual([`k1 ${state} ${code}`, `k2 ${state} ${code}`]);
    },
  );

  it.each([
    ["a cancel", (life: Life) => life.give("cancel", {}, client(null)), "Aborted parent_cancelled"],
    [
      "a budget",
      (life: Life) =>
        life.give("limit_passed", {
          turnId: life.now.running?.turnId ?? expect.fail(),
          limit: "budget",
        }),
      "Halted budget_exhausted",
    ],
  ] as const)("before the turn is told to stop, by %s", (_what, act, end) => {
    const life = withChildren(["k1", "k2"]);
    const told = types(act(life));
    expect(told).toEqual(["child_session_ended", "child_session_ended", "prompt_cancelled"]);
    expect(ends(life)).toEqual([`k1 ${end}`, `k2 ${end}`]);
    expect(verdictOn(life.give("start_child", begins("k3"), AGENT))).toBe("turn_not_open");
  });

  it("with its asks and calls closed first, and the session is not left waiting", () => {
    const life = withChildren();
    life.give(
      "child_update",
      { childId: K1, update: { sessionUpdate: "tool_call", ...EDIT } },
      AGENT,
    );
    life.give("ask", asksOf("a1", { toolCall: EDIT }), AGENT);
    expect(life.state).toBe("waiting");
    const outcome = { state: "Closed", text: "done" } as const;
    const ended = life.give("child_ended", { childId: K1, outcome }, AGENT);
    expect(types(ended)).toEqual([
      "permission_resolved",
      "session_update",
      "child_session_ended",
      "session_status",
    ]);
    expect(ended.events[0]).toMatchObject({ childId: "k1", data: { reason: "child_ended" } });
    expect(ended.events[1]).toMatchObject({
      data: { update: { toolCallId: "k1/c1", status: "failed" } },
    });
    expect(life.state).toBe("running");
  });
});

describe("a child session", () => {
  it("P2: ends once: what comes after its end changes nothing", () => {
    const life = withChildren();
    const closed = { state: "Closed", text: "done" } as const;
    life.give("child_ended", { childId: K1, outcome: closed }, AGENT);
    expect(verdictOn(life.give("child_ended", { childId: K1, outcome: closed }, AGENT))).toBe(
      "child_not_open",
    );
    const word = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "late" } };
    expect(types(life.give("child_update", { childId: K1, update: word }, AGENT))).toEqual([]);
    expect(verdictOn(life.give("ask", asksOf("a1"), AGENT))).toBe("child_not_open");
    expect(ends(life)).toEqual(["k1 Closed "]);
  });

  it("is the same for the same call, also when it has ended", () => {
    const life = withChildren();
    const again = () => life.give("start_child", begins("k2", { callId: "call of k1" }), AGENT);
    expect(types(again())).toEqual([]);
    life.give("child_ended", { childId: K1, outcome: { state: "Closed", text: "" } }, AGENT);
    expect(types(again())).toEqual([]);
  });

  it("P10: is one of few at a time, and of not many in a turn", () => {
    const life = withChildren(["k1", "k2", "k3", "k4"]);
    expect(verdictOn(life.give("start_child", begins("k5"), AGENT))).toBe("child_limit_exceeded");
    life.give("child_ended", { childId: K1, outcome: { state: "Closed", text: "" } }, AGENT);
    for (let n = 5; n <= CHILDREN_PER_TURN_MAX; n += 1) {
      const id = `k${n}`;
      expect(verdictOn(life.give("start_child", begins(id), AGENT))).toBe("accepted");
      const outcome = { state: "Closed", text: "" } as const;
      life.give("child_ended", { childId: childId(id), outcome }, AGENT);
    }
    expect(verdictOn(life.give("start_child", begins("k0"), AGENT))).toBe("child_limit_exceeded");
  });

  it("P10: is one of fewer where its policy says so, and not of more", () => {
    const life = new Life().running();
    const begin = (id: string, limits: { openMax?: number; perTurnMax?: number }) =>
      verdictOn(life.give("start_child", { ...begins(id), ...limits }, AGENT));
    expect(begin("k1", { openMax: 0 })).toBe("child_limit_exceeded");
    expect(begin("k1", { perTurnMax: 1 })).toBe("accepted");
    expect(begin("k2", { openMax: 1 })).toBe("child_limit_exceeded");
    expect(begin("k2", { perTurnMax: 1 })).toBe("child_limit_exceeded");
    for (const id of ["k2", "k3", "k4"]) expect(begin(id, {})).toBe("accepted");
    expect(begin("k5", { openMax: 99, perTurnMax: 99 })).toBe("child_limit_exceeded");
  });

  it("P10: halts when it takes too long, or too many tokens", () => {
    const life = withChildren(["k1", "k2"]);
    life.give("deadline_passed", { deadline: { of: "child", childId: K1 } });
    const tokens = { ...NO_TOKENS, input: 11 };
    const usage = { model: null, used: null, size: null, tokens };
    life.give("child_usage", { childId: childId("k2"), usage, tokensMax: 10 }, AGENT);
    expect(ends(life)).toEqual(["k1 Halted time_exceeded", "k2 Halted tokens_exceeded"]);
  });

  it("changes nothing of its parent's own words, calls and title", () => {
    const life = withChildren();
    const { persistedToolCallIds, hasOutput } = life.turn;
    const say = (update: CommandData["child_update"]["update"]) =>
      life.give("child_update", { childId: K1, update }, AGENT);
    say({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } });
    say({ sessionUpdate: "tool_call", toolCallId: "call-1", title: "Edit" });
    expect(types(say({ sessionUpdate: "session_info_update", title: "mine" }))).toEqual([]);
    expect(life.turn).toMatchObject({ persistedToolCallIds, hasOutput });
    expect(life.view.fullContent).toBe("");
    expect(life.now.totals.toolCalls).toBe(0);
    expect(dataOf(life.log, "session_update").slice(-2)).toMatchObject([
      { update: { _meta: { parentToolCallId: "k1" } } },
      { update: { toolCallId: "k1/call-1", _meta: { parentToolCallId: "k1" } } },
    ]);
  });
});

describe("the asks of a child", () => {
  it("are asks of its parent, put to the same people", () => {
    const life = withChildren();
    const { events } = life.give("ask", asksOf("a1", { toolCall: EDIT }), AGENT);
    expect(events[0]).toMatchObject({
      type: "permission_request",
      promptId: "p1",
      childId: "k1",
      data: { toolCall: { toolCallId: "k1/c1" } },
    });
    const outcome = { outcome: "selected", optionId: "yes" } as const;
    const voted = life.give("vote", { requestId: askId("a1"), outcome }, client(null));
    expect(voted.events[0]).toMatchObject({ type: "permission_resolved", childId: "k1" });
  });

  it("pass the gates as they stood when it began: a higher profile widens nothing", () => {
    const life = withChildren();
    life.give("autonomy", { profile: "autonomous" }, client(null));
    expect(types(life.give("ask", asksOf("a1"), AGENT))[0]).toBe("permission_request");
    expect(types(life.give("ask", newAsk("a2"), AGENT))[0]).toBe("permission_decided");
  });

  it("pass no gate that has become narrower meanwhile", () => {
    const life = withChildren(["k1"], { autonomyProfile: "autonomous" });
    life.give("autonomy", { profile: "manual" }, client(null));
    expect(types(life.give("ask", asksOf("a1"), AGENT))[0]).toBe("permission_request");
  });

  it("have no part in what its parent is granted meanwhile, and keep their own", () => {
    const life = withChildren();
    const always = { outcome: "selected", optionId: "always" } as const;
    life.give("ask", newAsk("a1"), AGENT);
    life.give("vote", { requestId: askId("a1"), outcome: always }, client(null));
    expect(types(life.give("ask", asksOf("a2"), AGENT))[0]).toBe("permission_request");
    life.give("vote", { requestId: askId("a2"), outcome: always }, client(null));
    expect(types(life.give("ask", asksOf("a3"), AGENT))[0]).toBe("permission_decided");
  });

  it("cover nothing that its parent has done, nor the other way round", () => {
    const life = withChildren(["k1"], { securityMode: "ask" });
    const run = { toolCallId: "c9", kind: "execute", rawInput: { command: "ls" } };
    life.give("ask", newAsk("a1", { toolCall: run }), AGENT);
    const yes = { outcome: "selected", optionId: "yes" } as const;
    life.give("vote", { requestId: askId("a1"), outcome: yes }, client(null));
    const access = { action: "terminal", command: "ls", cwd: "/workspace" } as const;
    const rules = {
      policy: "first-responder",
      quorum: null,
      present: [],
      deadlineAtMs: null,
    } as const;
    const ofChild = { ...rules, requestId: askId("x1"), access, childId: K1 };
    expect(types(life.give("access", ofChild, AGENT))[0]).toBe("permission_request");
    const own = { ...rules, requestId: askId("x2"), access };
    expect(types(life.give("access", own, AGENT))[0]).toBe("agent_access");
  });

  it("may only read if its parent plans, whatever the parent's mode", () => {
    const life = withChildren(["k1"], { approvalMode: "plan", securityMode: "yolo" });
    expect(dataOf(life.log, "child_session_started")).toMatchObject([{ readOnly: true }]);
  });

  it("are refused in any mode if it was begun to read only and would do more", () => {
    const life = new Life().running({ securityMode: "yolo" });
    life.give("start_child", begins("k1", { readOnly: true }), AGENT);
    for (const [n, kind] of ["edit", "execute", "delete", "of my own"].entries()) {
      life.give("ask", asksOf(`a${n}`, { toolCall: { ...EDIT, kind } }), AGENT);
    }
    const decided = dataOf(life.log, "permission_decided");
    expect(decided.map(({ gate, allowed }) => `${gate} ${allowed}`)).toEqual(
      Array.from({ length: 4 }, () => "read_only false"),
    );
    life.give("ask", asksOf("a9", { toolCall: { ...EDIT, kind: "read" } }), AGENT);
    expect(dataOf(life.log, "permission_decided").at(-1)).toMatchObject({ allowed: true });
  });

  it("halt it where there is nobody who could decide", () => {
    const life = withChildren();
    const nobody = { voters: false, owners: false };
    const bound = {
      ceiling: {
        role: "member",
        mode: "ask",
        autonomy: "manual",
        agents: "any",
        models: "any",
        skills: "any",
        selfApproval: true,
        children: CHILD_LIMITS,
        agentModes: "any",
      },
      authority: { role: "member", isMember: true },
      anyone: nobody,
      others: nobody,
    } as const;
    const activation = life.now.activation;
    const actor = { kind: "agent", activation } as const;
    life.submit({ type: "ask", atMs: 2_000, actor, ...asksOf("a1"), bound });
    expect(ends(life)).toEqual(["k1 Halted no_voter"]);
    expect(life.state).toBe("running");
  });
});
