import { describe, expect, it } from "vitest";
import { ok } from "../../core/result.ts";
import type { StagePlan } from "../../extension/workflow/index.ts";
import { SessionHost } from "../host.ts";
import { NEVER } from "../runtime.fixture.ts";
import { ANYBODY, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";
import { foundWorkflow } from "./start.ts";
import {
  type Answers,
  stageOf,
  start,
  storyOf,
  TestWorkflows,
  until,
  withWorkflow,
} from "./workflow.fixture.ts";

const HANGS = [stageOf("plan", "hang"), stageOf("build", "say built")];
const ENDS = [stageOf("plan", "say planned"), stageOf("build", "say built")];

describe("a workflow whose turn is cancelled", () => {
  it("P5: leaves the session ready, and goes on to its end when a person says so", async () => {
    const { hand, workflows } = await withWorkflow(HANGS);
    await start(hand, "flow");
    await hand.stage.until(() => JSON.stringify(hand.events).includes("stage_prompted"));
    await hand.say("cancel", {});
    await until(hand, "paused");
    const { running, queue, connection } = hand.live.session;
    expect([running, queue, connection.sessionState]).toEqual([null, [], "ready"]);
    workflows.add("flow", ENDS);
    await hand.stage.registry.abandon(hand.live);
    const again = await hand.stage.opened(hand.sessionId);
    expect(again.live.session.workflow?.state).toBe("paused");
    await again.say("steer_workflow", { act: "resume" });
    await until(again, "ended");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan cancelled", "paused: cancelled", "turn_complete", "resumed"],
      ...["plan#2", "plan ok", "turn_complete", "build#1", "build ok", "ended", "turn_complete"],
    ]);
  });
});

/** A session with the workflow at work, as clients have it. */
async function atWork(stages: readonly StagePlan[], answers: Answers = {}) {
  const workflows = new TestWorkflows().add("flow", stages, answers);
  const stage = await Stage.open({ workflows });
  const runtime = new SessionHost(stage.world);
  const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
  const creation = { ...CREATION, workspaceCwd: stage.folder };
  const { live } = value(await runtime.create({ key, creation, actor: ANYBODY }));
  const place = { tenantId: TENANT, workspaceCwd: stage.folder };
  const workflow = value(await foundWorkflow(stage.world, place, { name: "flow", input: "" }));
  await live.submit({ ...BY, type: "attach_workflow", workflow });
  return { workflows, runtime, key, live };
}

const BY = { atMs: 1, actor: ANYBODY };

/** Closes it, and has the workflow go on to its end after a load. */
async function closedAndLoaded({ workflows, runtime, key, live }: AtWork, outcome: string) {
  value(await runtime.close(key, ANYBODY));
  const { running, queue, phase, connection, workflow } = live.session;
  expect([running, queue, phase]).toEqual([null, [], "Closed"]);
  expect(connection.sessionState).toBe("inactive");
  expect(workflow).toMatchObject({ state: "paused", past: [{ outcome }] });
  workflows.add("flow", ENDS);
  const { live: loaded } = value(await runtime.resume(key, ANYBODY));
  expect(loaded.skipped).toEqual([]);
  expect(loaded.session.workflow?.state).toBe("paused");
  await loaded.submit({ ...BY, type: "steer_workflow", act: "resume" });
  value(await loaded.until(({ workflow: at }) => at?.state === "ended"));
  await runtime.shutDown(NEVER);
  expect(workflows.ended).toBe(workflows.opened);
}

type AtWork = Awaited<ReturnType<typeof atWork>>;

describe("a session that is closed while a workflow is at work", () => {
  it("P5: has its turn end and its workflow wait, and goes on after it is loaded", async () => {
    const at = await atWork(HANGS);
    await at.live.until(({ running }) => running?.stage !== undefined && running.text === "hang");
    await closedAndLoaded(at, "cancelled");
  });

  it("P5: does the same between two attempts", async () => {
    const retry = { maxAttempts: 2, backoffMs: 600_000 };
    const at = await atWork([stageOf("plan", "say no", { retry })], {
      assert: async () => ok("retry"),
    });
    await at.live.until(({ running, workflow }) => running === null && workflow?.failures === 1);
    await closedAndLoaded(at, "retry");
  });
});
