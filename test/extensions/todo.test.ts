// The bundled extension `todo`, in a real thread.

import { describe, expect, it, onTestFinished } from "vitest";
import { type PlayedSession, playSession } from "../../src/extension/testing.ts";

const FOLDER = new URL("../../extensions/todo", import.meta.url);

async function played(options: Parameters<typeof playSession>[1] = {}): Promise<PlayedSession> {
  const session = await playSession(FOLDER, options);
  onTestFinished(() => session.end());
  return session;
}

const step = (content: string, status = "pending") => ({ content, status, priority: "medium" });

/** A turn in which the agent tells this plan. */
const planned = (session: PlayedSession, ...entries: readonly object[]) =>
  session.turn("go on", () => session.update({ sessionUpdate: "plan", entries }));

describe("todo", () => {
  it("keeps the last plan, and tells it once after a resume", async () => {
    const session = await playSession(FOLDER);
    await planned(session, step("read"), step("write"));
    await planned(session, step("read", "completed"), step("write", "in_progress"), step("test"));
    expect(session.slot).toEqual({
      version: "1.0.0",
      value: {
        steps: [
          { content: "read", status: "completed" },
          { content: "write", status: "in_progress" },
          { content: "test", status: "pending" },
        ],
      },
    });
    const again = await session.resume();
    onTestFinished(() => again.end());
    expect((await again.turn("hello")).context).toContain("[x] read\n[~] write\n[ ] test\n");
    expect(await again.turn("and now")).toEqual({ verdict: "pass" });
  });

  it("says nothing in a new session, of a plan that is done or is old news", async () => {
    const session = await played();
    expect(await session.turn("hello")).toEqual({ verdict: "pass" });
    const slot = (status: string) => {
      return { version: "1.0.0", value: { steps: [{ content: "read", status }] } };
    };
    const done = await played({ slot: slot("completed") });
    expect(await done.turn("hello")).toEqual({ verdict: "pass" });
    const planning = await played({ slot: slot("pending") });
    await planning.update({ sessionUpdate: "plan", entries: [step("other")] });
    expect(await planning.turn("hello")).toEqual({ verdict: "pass" });
  });

  it("forgets a plan that is taken back, and one of a turn that comes to nothing", async () => {
    const session = await played();
    const crash = session.turn("go on", async () => {
      await session.update({ sessionUpdate: "plan", entries: [step("read")] });
      throw new Error("the agent is gone");
    });
    await expect(crash).rejects.toThrow("the agent is gone");
    expect(session.slot).toBeNull();
    await planned(session, step("read"));
    await planned(session);
    expect(session.slot).toBeNull();
  });

  it("P6: takes whatever an agent calls a plan, and keeps no more than it may", async () => {
    const session = await played();
    for (const entries of [null, {}, [null, 1, { content: 1 }], "plan"]) {
      await session.update({ sessionUpdate: "plan", entries });
    }
    const large = Array.from({ length: 300 }, () => step("\u{1f600}".repeat(600), "soon"));
    await planned(session, ...large);
    const { steps } = Object(session.slot?.value);
    expect(steps).toHaveLength(200);
    expect(steps[0]).toEqual({ content: "\u{1f600}".repeat(500), status: "pending" });
    const again = await played({ slot: session.slot, isResumed: true });
    const { context = "" } = await again.turn("hello");
    expect(context.length).toBeLessThan(16_384);
    expect(context).toContain("\nand 185 more\n");
  });
});
