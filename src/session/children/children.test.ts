import { describe, expect, it } from "vitest";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { selected } from "../../core/policy/ask.ts";
import { SecretGuard, type SessionStore } from "../../store/index.ts";
import { altered } from "../altered-store.fixture.ts";
import { echo, echoNamed, promptOf, SERVER } from "../stage.fixture.ts";
import { Delegating, resultOf, storyOf } from "./delegating.fixture.ts";

/** Two agents, in processes of their own. */
const two = () => ({ profiles: new Map([echo(), echoNamed("other", "--no-fork")]) });

describe("an agent that delegates", () => {
  it("is answered with what the child says last, and the parent's log has it all", async () => {
    const parent = await Delegating.begin();
    const result = await parent.delegate("say looking", "tool look kind=read", "say found it");
    expect(result).toMatchObject({ state: "Closed", text: "found it" });
    const { events } = parent.hand;
    const started = events.find(({ type }) => type === "child_session_started");
    const own = events.filter(({ childId }) => childId === started?.childId);
    expect(own.map(({ type }) => type)).toEqual([
      "child_session_started",
      "session_update",
      "session_update",
      "session_update",
      "session_update",
      "child_session_ended",
    ]);
    await parent.cancel();
  });

  it("P2: has its turn end after its children, however many are at work", async () => {
    const parent = await Delegating.begin();
    const calls = [parent.delegate("hang"), parent.delegate("hang")];
    await parent.begun(2);
    await parent.cancel();
    const results = await Promise.all(calls);
    expect(results.map(({ state, error }) => `${state} ${error?.code}`)).toEqual([
      "Aborted parent_cancelled",
      "Aborted parent_cancelled",
    ]);
    await parent.stage.until(() => parent.story.includes("turn_complete"));
    expect(parent.story).toEqual([
      "child_session_started",
      "child_session_started",
      "Aborted parent_cancelled",
      "Aborted parent_cancelled",
      "prompt_cancelled",
      "turn_complete",
    ]);
  });

  it("has children whose asks people answer as any other of the session", async () => {
    const parent = await Delegating.begin();
    const call = parent.delegate("ask kind=edit path=/a.ts", "say after");
    const asked = await parent.hand.asked();
    const event = parent.hand.events.find(({ type }) => type === "permission_request");
    expect(event?.childId).toBeDefined();
    expect(asked.toolCall.toolCallId).toMatch(new RegExp(`^${event?.childId}/`));
    const outcome = selected(asked.options[0]?.optionId ?? "");
    await parent.hand.say("vote", { requestId: asked.requestId, outcome });
    expect(await call).toMatchObject({ state: "Closed" });
    await parent.cancel();
  });

  it("gets the same child for the same call, while it works and when it has ended", async () => {
    const parent = await Delegating.begin();
    const call = () => parent.call({ task: "say one" }, { callId: "again" });
    const [first, second] = await Promise.all([call(), call()]);
    expect(second).toEqual(first);
    expect(await call()).toEqual(first);
    expect(parent.story).toEqual(["child_session_started", "Closed -"]);
    await parent.cancel();
  });

  it("P10: is refused more than four at once, and told so", async () => {
    const parent = await Delegating.begin();
    const calls = Array.from({ length: 200 }, () => parent.call({ task: "hang" }));
    await parent.begun(4);
    const refused = await Promise.all(calls.slice(4));
    expect(refused.every(({ isError, text }) => isError && /At most 4/.test(text))).toBe(true);
    await parent.cancel();
    const results = await Promise.all(calls.slice(0, 4));
    expect(results.map((answer) => resultOf(answer).state)).toEqual(Array(4).fill("Aborted"));
  });

  it("is refused at the depth limit, for an unknown agent, and without a task", async () => {
    const parent = await Delegating.begin({ profiles: new Map([echo()]) });
    expect((await parent.call({ task: "hi", agent: "nobody" })).text).toMatch(
      /these are.*: echo\./,
    );
    expect((await parent.call({ task: " " })).isError).toBe(true);
    expect((await parent.call({ task: "hi", skills: ["none"] })).text).toMatch(/no skill "none"/);
    const call = parent.call({ task: "hang" });
    await parent.stage.until(() => parent.toolboxes.opened.length === 2);
    const use = { callId: "1", meta: {}, signal: new AbortController().signal, progress() {} };
    const deep = await parent.tool(1).call({ task: "deeper" }, use);
    expect(deep).toMatchObject({ isError: true });
    expect(deep.text).toMatch(/1 deep/);
    await parent.cancel();
    await call;
  });

  it("is refused when it has no turn", async () => {
    const parent = await Delegating.begin({}, {}, ["say done"]);
    await parent.stage.until(() => parent.story.includes("turn_complete"));
    expect((await parent.call({ task: "late" })).isError).toBe(true);
    expect(parent.story).toEqual(["turn_complete"]);
  });

  it("ends a child by taking its call back", async () => {
    const parent = await Delegating.begin();
    const taken = new AbortController();
    const call = parent.call({ task: "hang" }, { signal: taken.signal });
    await parent.begun(1);
    parent.stage.aheadMs += 60_000;
    taken.abort();
    expect(resultOf(await call)).toMatchObject({ error: { code: "call_withdrawn" } });
    const [begun = 0, ended = 0] = parent.hand.events
      .filter(({ childId }) => childId !== undefined)
      .map(({ _meta }) => _meta.serverTimestamp);
    expect(ended - begun).toBeGreaterThanOrEqual(60_000);
    await parent.cancel();
  });

  it("P2: begins no child of the next turn by a call that comes in late", async () => {
    const parent = await Delegating.begin();
    const late = Promise.withResolvers<void>();
    parent.toolboxes.settling = late.promise;
    await parent.cancel();
    await parent.stage.until(() => parent.story.includes("turn_complete"));
    const { live } = parent.hand;
    await live.until(({ connection }) => connection.sessionState === "ready");
    await parent.hand.prompt("say at work", "hang");
    await live.until(({ connection }) => connection.sessionState === "running");
    // The next turn has begun, and its agent has not been told: so this call is of the one before.
    expect(await parent.call({ task: "say late" })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/turn/),
    });
    const isAtWork = () => {
      const updates = parent.hand.events.filter(({ type }) => type === "session_update");
      return updates.some((event) => /agent_message_chunk.*"at work"/.test(JSON.stringify(event)));
    };
    expect([parent.story, isAtWork()]).toEqual([["prompt_cancelled", "turn_complete"], false]);
    late.resolve();
    await parent.stage.until(isAtWork);
    expect(await parent.delegate("say found it")).toMatchObject({ text: "found it" });
    await parent.cancel();
  });

  it("P2: begins no child of a decided turn while the last verdict is not durable", async () => {
    const gate = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    // From the verdict on nothing becomes durable before the gate opens.
    const wrap = (real: SessionStore) =>
      altered(real, {
        async commit(...args) {
          isHeld ||= args[2].events.some((text) => text.includes('"type":"turn_complete"'));
          if (isHeld) held.resolve();
          if (isHeld) await gate.promise;
          return real.commit(...args);
        },
      });
    const parent = await Delegating.begin({ wrap }, {}, ["say first"]);
    await held.promise;
    const { live } = parent.hand;
    const prompt = promptOf(live, "hang");
    const admitted = live.submit(prompt);
    const { turnId } = prompt.start ?? expect.fail();
    const stop = { type: "limit_passed", turnId, limit: "budget" } as const;
    // Then the next turn is decided, and its agent has not been told.
    await expect.poll(() => live.refusalOf({ ...stop, atMs: 0, actor: SERVER })).toBeNull();
    expect(await parent.call({ task: "say late" })).toMatchObject({ isError: true });
    gate.resolve();
    expect((await admitted).refusal).toBeNull();
    await parent.cancel();
    await parent.stage.until(() => parent.story.includes("prompt_cancelled"));
    expect(parent.story).not.toContain("child_session_started");
  });

  it("P11: is answered, and its log has, no secret that comes in pieces from a child", async () => {
    const guard = new SecretGuard();
    guard.know("supersecret123");
    const parent = await Delegating.begin({ guard });
    const result = await parent.delegate("say it is super", "say secret123", "say , you see");
    expect(result).toMatchObject({ state: "Closed", text: "it is [redacted], you see" });
    await parent.cancel();
    const own = parent.hand.events.filter(({ childId }) => childId !== undefined);
    const told = own.filter(({ type }) => type !== "child_session_started");
    expect(JSON.stringify(told)).not.toMatch(/super|secret123/);
    expect(parent.hand.events.some(({ type }) => type === "secret_redacted")).toBe(true);
  });

  it("P10: has no say in how much is kept of the names that it chooses", async () => {
    const parent = await Delegating.begin();
    const long = "n".repeat(100_000);
    const call = parent.call({ task: "say one", model: long }, { callId: long });
    expect(resultOf(await call)).toMatchObject({ error: { code: "agent_unavailable" } });
    const started = parent.hand.events.find((event) => event.type === "child_session_started");
    const { callId, model } = started?.data ?? expect.fail();
    expect([callId.length, model?.length]).toEqual([AGENT_NAME_CHARS_MAX, AGENT_NAME_CHARS_MAX]);
    await parent.cancel();
  });

  it("is told that a child's agent gave up, or stopped short", async () => {
    const parent = await Delegating.begin();
    expect(await parent.delegate("fail -32000 no")).toMatchObject({
      state: "Aborted",
      error: { code: "turn_failed" },
    });
    expect(await parent.delegate("say half", "stop max_tokens")).toMatchObject({
      state: "Halted",
      text: "half",
      error: { code: "stopped_short" },
    });
    await parent.cancel();
  });

  it("leaves no agent of a child behind", async () => {
    const parent = await Delegating.begin();
    await parent.delegate("say one");
    await parent.cancel();
    await parent.stage.until(() => parent.story.includes("turn_complete"));
    await parent.hand.live.until(({ connection }) => connection.sessionState === "ready");
    expect(parent.toolboxes.closed).toBe(1);
  });
});

describe("an agent that delegates to another one", () => {
  it("has it do the task, and its own kind another at the same time", async () => {
    const parent = await Delegating.begin(two());
    const [other, same] = await Promise.all([
      parent.delegateTo("other", "whoami"),
      parent.delegate("whoami"),
    ]);
    expect(other).toMatchObject({ state: "Closed", text: expect.stringContaining("--no-fork") });
    expect(same).toMatchObject({ state: "Closed", text: expect.not.stringContaining("--no-fork") });
    const { pastChildren = [] } = parent.hand.live.session;
    expect(pastChildren.map(({ agent }) => agent).toSorted()).toEqual(["echo", "other"]);
    await parent.cancel();
  });

  it("goes on when that one dies, and its child is Aborted", async () => {
    const parent = await Delegating.begin(two());
    expect(await parent.delegateTo("other", "say half", "crash")).toMatchObject({
      state: "Aborted",
      text: "half",
      error: { code: "channel_closed" },
    });
    expect(await parent.delegateTo("other", "say again")).toMatchObject({ state: "Closed" });
    await parent.cancel();
    await parent.stage.until(() => parent.story.includes("turn_complete"));
  });

  it("P2, P5: dies while that one is asked: the ask ends, then the child, then it", async () => {
    const parent = await Delegating.begin(two(), {}, ["ask", "crash"]);
    const [own] = await parent.asked(1);
    const result = parent.delegateTo("other", "ask kind=edit path=/a.ts");
    const [, childs] = await parent.asked(2);
    const { requestId, options } = own?.data ?? expect.fail();
    const outcome = selected(options[0]?.optionId ?? "");
    await parent.hand.say("vote", { requestId, outcome });
    expect(await result).toMatchObject({ state: "Aborted", error: { code: "parent_ended" } });
    await parent.stage.until(() => parent.story.includes("turn_error"));
    const { events } = parent.hand;
    const resolved = events.find((event) => {
      return event.type === "permission_resolved" && event.data.requestId !== requestId;
    });
    expect(resolved).toMatchObject({
      childId: childs?.childId,
      data: { reason: "child_ended", outcome: { outcome: "cancelled" } },
    });
    const order = events.flatMap((event) => (event === resolved ? ["ask"] : storyOf(event)));
    expect(order).toEqual([
      "child_session_started",
      "ask",
      "Aborted parent_ended",
      "prompt_cancelled",
      "turn_error",
    ]);
  });
});
