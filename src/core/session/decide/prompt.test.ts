import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { tooPoor } from "../../ledger.ts";
import { IDEMPOTENCY_AGE_MS_MAX, IDEMPOTENCY_KEYS_MAX } from "../../limits.ts";
import { steeredAs } from "../command.ts";
import {
  client,
  dataOf,
  Life,
  newPrompt,
  noCredit,
  promptId,
  shellId,
  steps,
  turnId,
  types,
  verdictOn,
} from "../life.fixture.ts";
import { waitingMessages } from "../state.ts";

describe("a prompt to an idle session", () => {
  it("starts at once: admission, turn, reservation, `running`, echo", () => {
    const life = new Life().ready().attached("c1");
    const prompt = { ...newPrompt("p1"), start: noCredit("t1") };
    const decision = life.give("prompt", prompt, client("c1"));
    expect(types(decision)).toEqual([
      "prompt_admitted",
      "session_lifecycle",
      "credits_reserved",
      "session_status",
      "session_update",
    ]);
    expect(decision.events.at(-1)).toMatchObject({
      promptId: "p1",
      originatorClientId: "c1",
      data: {
        update: {
          sessionUpdate: "user_message_chunk",
          content: { type: "text", text: "say p1" },
          _meta: { source: "bridge-echo" },
        },
      },
    });
    expect(life.now.running).toMatchObject({ promptId: "p1", turnId: "t1", waited: false });
  });

  it("echoes the first 256 blocks and sends them all", () => {
    const content = Array.from({ length: 300 }, () => ({ type: "text", text: "x" }));
    const life = new Life().ready();
    const prompt = { ...newPrompt("p1", { content }), start: noCredit("t1") };
    expect(dataOf(life.give("prompt", prompt).events, "session_update")).toHaveLength(256);
    expect(life.now.running?.content).toHaveLength(300);
  });
});

describe("P9: a prompt that nobody can pay for", () => {
  const unpaid = tooPoor(10, 3, { scope: "user" });

  it("is refused with what is missing, and nothing is left of it", () => {
    for (const life of [new Life().ready(), new Life().running(), new Life().created()]) {
      const before = life.now;
      const decision = life.give("prompt", { ...newPrompt("p9"), unpaid });
      expect(decision).toMatchObject({ kind: "refused", refusal: unpaid, events: [] });
      expect(life.now).toBe(before);
    }
  });

  it("is answered as before if it is a repeat, and refused first for what is wrong with it", () => {
    const life = new Life().ready();
    const idempotency = { key: "k", hash: "h" };
    life.give("prompt", { ...newPrompt("p1", { idempotency }), start: noCredit("t1") });
    const again = life.give("prompt", { ...newPrompt("p2", { idempotency }), unpaid });
    expect(again).toMatchObject({ kind: "accepted", answer: { promptId: "p1" } });
    const empty = life.give("prompt", { ...newPrompt("p3", { content: [] }), unpaid });
    expect(empty).toMatchObject({ refusal: { code: "invalid_prompt" } });
  });

  it("may be said to an agent at work all the same, for that is no prompt of its own", () => {
    const said = { messageId: "m1", prompt: newPrompt("p9"), unpaid };
    const life = new Life().running();
    expect(types(life.give("steer", { ...said, agentCanSteer: true }))).toEqual([
      "mid_turn_message_injected",
    ]);
    expect(life.give("steer", { ...said, messageId: "m2", agentCanSteer: false })).toMatchObject({
      kind: "refused",
      refusal: unpaid,
    });
  });
});

describe("what a turn begins with", () => {
  it.each(["large", null, undefined])("tells in the log that its model is %s", (model) => {
    const life = new Life().ready();
    const start = { ...noCredit("t1"), ...(model !== undefined && { model }) };
    const { events } = life.give("prompt", { ...newPrompt("p1"), start });
    expect(dataOf(events, "credits_reserved")[0]?.model).toBe(model);
    expect(life.turn.currentReservation?.model).toBe(model);
  });
});

describe("what goes with a prompt", () => {
  it("is kept for the agent, and a retry is not echoed again", () => {
    const life = new Life().ready();
    const params = { _meta: { trace: "1" }, retry: true };
    const prompt = { ...newPrompt("p1", { params, echo: false }), start: noCredit("t1") };
    const { events } = life.give("prompt", prompt);
    expect(dataOf(events, "session_update")).toEqual([]);
    expect(life.now.running?.params).toEqual(params);
  });
});

describe("the queue", () => {
  it("is taken in any state that has no agent yet, and announced as waiting", () => {
    for (const life of [new Life().created(), new Life().activating(), new Life().error()]) {
      expect(types(life.prompt("p1"))).toEqual(["prompt_admitted", "pending_prompt_added"]);
    }
  });

  it("runs one at a time, in order of arrival", () => {
    const life = new Life().running();
    life.prompt("p2");
    life.prompt("p3");
    expect(verdictOn(life.begin("p2", "t2"))).toBe("session_busy");
    life.complete("t1");
    expect(verdictOn(life.begin("p3", "t2"))).toBe("prompt_not_next");
    const begun = life.begin("p2", "t2");
    expect(dataOf(begun.events, "pending_prompt_started")).toMatchObject([{ promptId: "p2" }]);
    const { events } = life.complete("t2");
    const order = events.map(({ type }) => type);
    expect(order.indexOf("pending_prompt_completed")).toBeGreaterThan(
      order.indexOf("turn_complete"),
    );
  });

  it("P10: holds five unsettled prompts, the running one included, and refuses the sixth", () => {
    const life = new Life().running();
    for (const id of ["p2", "p3", "p4", "p5"]) expect(verdictOn(life.prompt(id))).toBe("accepted");
    expect(life.prompt("p6")).toMatchObject({
      kind: "refused",
      refusal: { code: "prompt_queue_full", details: { limit: 5, pendingCount: 5 } },
    });
    life.complete("t1");
    expect(verdictOn(life.prompt("p6"))).toBe("accepted");
  });

  it("P10: takes what weighs 12 MiB in all, with the running one, and refuses the rest", () => {
    const weighing = (bytes: number) => {
      // Brackets, quotes and names around the text, and no parameters.
      const text = "\u4e2d".repeat((bytes - '[[{"type":"text","text":""}],null]'.length) / 3);
      return { content: [{ type: "text", text }] };
    };
    const life = new Life().ready();
    const first = { ...newPrompt("p1", weighing(6_291_457)), start: noCredit("t1") };
    expect(verdictOn(life.give("prompt", first))).toBe("accepted");
    expect(life.prompt("p2", weighing(6_291_457))).toMatchObject({
      kind: "refused",
      refusal: { code: "prompts_too_large", details: { limit: 12_582_912, bytes: 12_582_914 } },
    });
    expect(verdictOn(life.prompt("p2", weighing(6_291_454)))).toBe("accepted");
    life.complete("t1");
    expect(verdictOn(life.prompt("p3", weighing(6_291_457)))).toBe("accepted");
  });

  it("P10: refuses a prompt that is too large even alone, whatever makes it so", () => {
    const params = { _meta: { much: "x".repeat(12_582_912) } };
    const life = new Life().ready();
    expect(verdictOn(life.prompt("p1", { params }))).toBe("prompts_too_large");
    expect(verdictOn(life.prompt("p1"))).toBe("accepted");
  });

  it("does not overtake: a prompt with credits in hand waits behind those before it", () => {
    const life = new Life().ready();
    life.prompt("p1");
    const second = { ...newPrompt("p2"), start: noCredit("t2") };
    expect(types(life.give("prompt", second))).toContain("pending_prompt_added");
    expect(life.state).toBe("ready");
  });

  it("P2: a waiting prompt that is taken back is complete, as cancelled", () => {
    const life = new Life().running();
    life.prompt("p2");
    const removed = life.give("remove_prompt", { promptId: promptId("p2") });
    expect(types(removed)).toEqual(["pending_prompt_completed", "turn_complete"]);
    expect(removed.events.map(({ data }) => data)).toMatchObject([
      { promptId: "p2", state: "removed" },
      { promptId: "p2", stopReason: "cancelled" },
    ]);
    expect(life.state).toBe("running");
  });

  it("taking back the running prompt cancels it; an unknown one is refused", () => {
    const life = new Life().running();
    expect(types(life.give("remove_prompt", { promptId: promptId("p1") }))).toEqual([
      "prompt_cancelled",
    ]);
    const unknown = life.give("remove_prompt", { promptId: promptId("p9") });
    expect(verdictOn(unknown)).toBe("prompt_not_found");
  });
});

describe("a prompt sent twice", () => {
  const idempotency = { key: "k", hash: "h" };

  it("P2: with the same key and body runs once, and both get the same answer", () => {
    const life = new Life().ready();
    const answer = { promptId: "p1", lastEventId: 7 };
    expect(life.prompt("p1", { idempotency, lastEventId: 7 })).toMatchObject({ answer });
    const again = life.prompt("p2", { idempotency, lastEventId: 99 });
    expect(again).toMatchObject({ kind: "accepted", answer, events: [] });
  });

  it("with the same key and another body is a conflict, also after the verdict", () => {
    const life = new Life().ready();
    life.prompt("p1", { idempotency });
    life.begin("p1", "t1");
    life.complete("t1");
    const other = life.prompt("p2", { idempotency: { key: "k", hash: "other" } });
    expect(verdictOn(other)).toBe("idempotency_conflict");
  });

  it("is its caller's own: another client with the same key is not answered with it", () => {
    const life = new Life().ready().attached("c1", "c2");
    life.give("prompt", newPrompt("p1", { idempotency }), client("c1"));
    const other = life.give("prompt", newPrompt("p2", { idempotency }), client("c2"));
    expect(other).toMatchObject({ answer: { promptId: "p2" } });
  });

  it("is recognised for a day, and among the last 256 keys", () => {
    const life = new Life().ready();
    const settle = (id: string, key: string) => {
      life.prompt(id, { idempotency: { key, hash: "h" } });
      life.give("remove_prompt", { promptId: promptId(id) });
    };
    settle("first", "k");
    for (let n = 1; n < IDEMPOTENCY_KEYS_MAX; n += 1) settle(`p${n}`, `k${n}`);
    expect(life.prompt("x", { idempotency })).toMatchObject({ answer: { promptId: "first" } });
    settle("last", "one more");
    expect(life.prompt("y", { idempotency })).toMatchObject({ answer: { promptId: "y" } });
    life.nowMs += IDEMPOTENCY_AGE_MS_MAX;
    expect(life.prompt("z", { idempotency })).toMatchObject({ answer: { promptId: "z" } });
  });
});

describe("a prompt that cannot be taken", () => {
  it("because its id is pending already is refused", () => {
    const life = new Life().running();
    expect(verdictOn(life.prompt("p1"))).toBe("prompt_id_conflict");
  });

  const bad = [
    ["without content", { content: [] }, "invalid_prompt"],
    ["whose deadline has passed", { deadlineAtMs: 0 }, "invalid_deadline_ms"],
    ["whose deadline is not a number", { deadlineAtMs: Number.NaN }, "invalid_deadline_ms"],
    [
      "whose deadline never comes",
      { deadlineAtMs: Number.POSITIVE_INFINITY },
      "invalid_deadline_ms",
    ],
    ["with an empty key", { idempotency: { key: "", hash: "h" } }, "invalid_idempotency_key"],
  ] as const;
  for (const [what, change, code] of bad) {
    it(`${what} is refused and leaves nothing`, () => {
      const life = new Life().ready();
      const before = life.session;
      expect(verdictOn(life.prompt("p1", change))).toBe(code);
      expect(life.session).toBe(before);
    });
  }

  it("from a client that was never registered is refused; an anonymous one is not", () => {
    const life = new Life().ready();
    expect(verdictOn(life.give("prompt", newPrompt("p1"), client("nobody")))).toBe(
      "invalid_client_id",
    );
    expect(verdictOn(life.give("prompt", newPrompt("p1"), client(null)))).toBe("accepted");
  });

  it("P9: with a fraction of a credit in hand is refused", () => {
    const life = new Life().ready();
    const start = { turnId: turnId("t1"), reservedMicro: 0.5, price: null };
    expect(verdictOn(life.give("prompt", { ...newPrompt("p1"), start }))).toBe("invalid_amount");
  });
});

describe("a command of ours, sent as a prompt", () => {
  const result = { status: "ok", code: "skills_listed", message: "none" } as const;

  it("is answered and judged without a turn, a reservation or a change of status", () => {
    const life = new Life().created();
    life.prompt("p1");
    const decision = life.give("command_result", { promptId: promptId("p1"), result });
    expect(types(decision)).toEqual([
      "session_update",
      "command_result",
      "session_update",
      "turn_complete",
      "pending_prompt_completed",
    ]);
    expect(steps(life.log)).toEqual([]);
    expect(life.now.phase).toBe("Idle");
  });

  it("on an idle session does not even wait", () => {
    const life = new Life().ready();
    expect(types(life.prompt("p1"))).toEqual(["prompt_admitted"]);
    const decision = life.give("command_result", { promptId: promptId("p1"), result });
    const answer = ["command_result", "session_update", "turn_complete"];
    expect(types(decision)).toEqual(["session_update", ...answer]);
  });

  it("that does not exist ends in an error", () => {
    const life = new Life().created();
    life.prompt("p1");
    const unknown = { status: "error", code: "unknown_command", message: "No /frob." } as const;
    const { events } = life.give("command_result", { promptId: promptId("p1"), result: unknown });
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "unknown_command" }]);
  });
});

describe("steering", () => {
  const message = (id: string, agentCanSteer: boolean) => ({
    messageId: id,
    prompt: newPrompt(`p-${id}`),
    agentCanSteer,
  });

  it("reaches the turn at work where the agent can listen, once for each message", () => {
    const life = new Life().running();
    const said = life.give("steer", message("m1", true));
    expect(dataOf(said.events, "mid_turn_message_injected")).toMatchObject([
      { messageIds: ["m1"], messages: ["say p-m1"] },
    ]);
    expect(life.give("steer", message("m1", true)).events).toEqual([]);
  });

  it("says who it is from, once tokens are in use", () => {
    const userId = parseUserId("ada");
    const ada = { kind: "client", clientId: null, userId, loopback: true } as const;
    const said = new Life().running().give("steer", message("m1", true), ada);
    expect(said.events).toMatchObject([{ originatorUserId: "ada" }]);
  });

  it("waits its turn where the agent cannot, or is stopping", () => {
    const life = new Life().running();
    expect(types(life.give("steer", message("m1", false)))).toContain("pending_prompt_added");
    expect(life.give("steer", message("m1", false)).events).toEqual([]);
    life.give("cancel", {});
    expect(types(life.give("steer", message("m2", true)))).toContain("pending_prompt_added");
  });

  it("is refused where nothing runs, and after twenty messages", () => {
    expect(verdictOn(new Life().ready().give("steer", message("m", true)))).toBe("no_turn_running");
    const life = new Life().running();
    for (let n = 0; n < 20; n += 1) life.give("steer", message(`m${n}`, true));
    expect(verdictOn(life.give("steer", message("m20", true)))).toBe("steer_limit_exceeded");
  });

  it("waits also for a turn that has not begun", () => {
    const life = new Life().activating();
    life.prompt("p1");
    expect(types(life.give("steer", message("m1", true)))).toContain("pending_prompt_added");
    expect(waitingMessages(life.now)).toMatchObject([{ messageId: "m1" }]);
  });

  it("P2: is not lost for a full queue if the agent cannot take it any more", () => {
    const life = new Life().running();
    for (let n = 2; n <= 5; n += 1) life.prompt(`p${n}`);
    expect(verdictOn(life.prompt("p6"))).toBe("prompt_queue_full");
    expect(types(life.prompt("p-m1", { idempotency: steeredAs("m1") }))).toContain(
      "pending_prompt_added",
    );
  });
});

describe("what a shell said since the last turn", () => {
  it("goes to the agent with the next prompt, and only with that one", () => {
    const life = new Life().ready();
    const started = { shellId: shellId("sh"), command: "ls", cwd: "/", idempotency: null };
    life.give("shell_started", started);
    const result = { exitCode: 0, signal: null, aborted: false, output: "a.ts" };
    life.give("shell_result", { shellId: shellId("sh"), command: "ls", ...result });
    life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") });
    expect(life.now.running?.shellContext).toEqual(["$ ls\na.ts\n(exit code 0)"]);
    life.complete("t1");
    life.give("prompt", { ...newPrompt("p2"), start: noCredit("t2") });
    expect(life.now.running?.shellContext).toEqual([]);
  });
});
