import { describe, expect, it } from "vitest";
import { AGENT, Life, newPrompt, turnId, types } from "../life.fixture.ts";
import type { StageRuling } from "../workflow.ts";

const FIRST = { stages: ["plan"], maxAttempts: 2, backoffMs: 0 };

/** With the only stage of a workflow at work in turn `t1`. */
function inStage(): Life {
  const life = new Life().ready();
  life.give("attach_workflow", { workflow: { name: "flow", hash: "h", input: "", first: FIRST } });
  const { promptId, content, lastEventId } = newPrompt("p1");
  const prompt = { promptId, content, lastEventId, deadlineAtMs: null, stages: ["plan"] };
  life.give("begin_stage", prompt);
  life.begin("p1", "t1");
  return life;
}

const done = { status: "turn_complete", turnId: turnId("t1"), stopReason: "end_turn" } as const;

const ends = (life: Life, stage: StageRuling) =>
  life.give("agent_status", { ...done, stage }, AGENT);

describe("the end of the last stage", () => {
  it("ends a workflow that was paused meanwhile", () => {
    const life = inStage();
    life.give("steer_workflow", { act: "pause" });
    expect(types(ends(life, { outcome: "ok" }))).toContain("workflow_ended");
    expect(life.now.workflow).toMatchObject({ state: "ended", plan: [] });
  });

  it("leaves one paused that has more to do", () => {
    const life = inStage();
    life.give("steer_workflow", { act: "pause" });
    const next = { kind: "steps", steps: [FIRST] } as const;
    expect(types(ends(life, { outcome: "ok", next }))).not.toContain("workflow_ended");
    expect(life.now.workflow?.state).toBe("paused");
  });

  it("is also the end of one that is resumed with nothing left to do", () => {
    for (const act of ["resume", "retry"] as const) {
      const life = inStage();
      const { workflow } = life.now;
      if (workflow === undefined) expect.fail();
      life.session = { ...life.now, workflow: { ...workflow, state: "paused", plan: [] } };
      life.give("steer_workflow", { act });
      expect(life.now.workflow?.state).toBe("ended");
    }
  });
});

describe("what a stage keeps", () => {
  const keptIn = (life: Life) =>
    life.log.flatMap((event) => (event.type === "stage_ended" ? [event.data.kept ?? false] : []));

  it("P2: is known of a stage that failed and goes on, too", () => {
    const life = inStage();
    const next = { kind: "steps", steps: [FIRST] } as const;
    ends(life, { outcome: "failed", next, kept: true });
    expect(keptIn(life)).toEqual([true]);
    expect(life.now.workflow?.keeps).toBe(true);
  });

  it("is nothing where the workflow offers nothing", () => {
    const life = inStage();
    ends(life, { outcome: "failed" });
    expect(keptIn(life)).toEqual([false]);
    expect(life.now.workflow?.keeps).toBe(false);
  });

  it("is not taken from a stage that was cancelled just after its ruling", () => {
    const life = inStage();
    life.give("cancel", {});
    ends(life, { outcome: "ok", kept: true });
    expect(keptIn(life)).toEqual([false]);
    expect(life.now.workflow).toMatchObject({ keeps: false, plan: [FIRST] });
  });
});
