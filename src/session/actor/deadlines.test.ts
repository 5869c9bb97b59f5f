import { describe, expect, it } from "vitest";
import { SANDBOX_IDLE_MS_MAX, SANDBOX_PROVISIONING_MS_MAX } from "../../core/limits.ts";
import type { Command, Deadline } from "../../core/session/command.ts";
import { AGENT, Life } from "../../core/session/life.fixture.ts";
import type { Clock } from "../../platform/clock.ts";
import { DeadlineTimers, deadlinesOf } from "./deadlines.ts";

const SETTLE_MS = 1_000;

/** The timers that are set, and when each of them is due. */
function timers() {
  const set = new Set<{ readonly atMs: number; act(): void }>();
  const passed: Deadline[] = [];
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    after: (ms, act) => {
      const timer = { atMs: nowMs + ms, act };
      set.add(timer);
      return () => set.delete(timer);
    },
  };
  const submit = async (command: Command) => {
    if (command.type === "deadline_passed") passed.push(command.deadline);
    return null;
  };
  const all = new DeadlineTimers({ clock, settings: { settleMs: SETTLE_MS } }, { submit });
  const passTo = (atMs: number) => {
    nowMs = atMs;
    for (const timer of [...set].filter((one) => one.atMs <= atMs)) {
      set.delete(timer);
      timer.act();
    }
  };
  return { all, passed, passTo, due: () => [...set].map(({ atMs }) => atMs) };
}

describe("the deadline of a sandbox", () => {
  const dueAt = ({ now }: Life) => deadlinesOf(now, SETTLE_MS).get("sandbox")?.atMs ?? null;

  it("is a while after it began to be made, or was last used; else there is none", () => {
    const life = new Life().running();
    expect(dueAt(life)).toBeNull();
    life.give("sandbox", { state: "provisioning" });
    expect(dueAt(life)).toBe(life.nowMs + SANDBOX_PROVISIONING_MS_MAX);
    life.give("sandbox", { state: "ready" });
    expect(dueAt(life)).toBe(life.nowMs + SANDBOX_IDLE_MS_MAX);
    const called = (status: string) => {
      const update = { sessionUpdate: "tool_call_update", toolCallId: "c", status };
      life.give("agent_update", { update }, AGENT);
    };
    called("in_progress");
    expect(dueAt(life)).toBeNull();
    called("completed");
    expect(dueAt(life)).toBe(life.nowMs + SANDBOX_IDLE_MS_MAX);
    life.give("sandbox", { state: "timed_out" });
    expect(dueAt(life)).toBeNull();
  });

  it("P10: has one timer, which moves with its use and goes with the sandbox", () => {
    const { all, passed, passTo, due } = timers();
    const life = new Life().ready();
    const follow = () => all.follow(life.now);
    life.give("sandbox", { state: "provisioning" });
    follow();
    const first = due();
    life.give("sandbox", { state: "ready" });
    follow();
    expect([first.length, due().length]).toEqual([1, 1]);
    expect(due()).not.toEqual(first);
    passTo(life.nowMs + SANDBOX_IDLE_MS_MAX);
    expect(passed).toEqual([{ of: "sandbox" }]);
    life.give("sandbox", { state: "none" });
    follow();
    expect(due()).toEqual([]);
  });
});
