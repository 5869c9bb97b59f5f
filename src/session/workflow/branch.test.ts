import { expect, it } from "vitest";
import type { SessionKey } from "../../store/index.ts";
import { forkSession } from "../side/fork.ts";
import { ANYBODY, type Hand, value } from "../stage.fixture.ts";
import { stageOf, start, storyOf, until, withWorkflow } from "./workflow.fixture.ts";

const PLAN = stageOf("plan", "say planned");

async function branched({ stage, live }: Hand): Promise<Hand> {
  const order = { actor: ANYBODY, turnId: null, name: null, agent: null };
  const made = value(await forkSession(stage.world, live, order)) ?? expect.fail("no turn");
  return stage.opened(made.key.sessionId);
}

/** What the store has of workflows in a session: its place in the manifest, and slots. */
async function keptOf({ stage: { world } }: Hand, key: SessionKey) {
  const { smState } = value(await world.store.readManifest(key));
  const { slots } = value(await world.store.readSlots(key));
  const owners = slots.map(({ owner }) => owner).filter((owner) => owner.includes("flow"));
  return { machine: smState?.smExtId ?? null, owners };
}

const NOTHING = { machine: null, owners: [] };
const FLOW = { machine: "workflow.flow", owners: ["workflow.flow"] };

it("a branch leaves out the workflow that is at work, which goes on where it is", async () => {
  const { hand } = await withWorkflow([PLAN, stageOf("build", "hang")]);
  await start(hand, "flow");
  await hand.stage.until(() => storyOf(hand.events).includes("build#1"));
  const branch = await branched(hand);
  expect(await keptOf(hand, hand.live.key)).toEqual(FLOW);
  expect(await keptOf(hand, branch.live.key)).toEqual(NOTHING);
  expect(branch.live.session.workflow).toBeUndefined();
  expect(branch.live.skipped).toEqual([]);
  await branch.turn("recall");
  expect(branch.text).toContain("planned");
  expect(await keptOf(hand, branch.live.key)).toEqual(NOTHING);
  expect(branch.events.map(({ type }) => type)).not.toContain("stage_started");
  expect(hand.live.session.workflow?.state).toBe("running");
  await hand.say("steer_workflow", { act: "stop" });
  await until(hand, "stopped");
});

it("a branch leaves out the slot of a workflow that has been stopped since", async () => {
  const { hand } = await withWorkflow([PLAN, stageOf("build", "say built")], {
    assert: async ({ stageId }) => ({ ok: true, value: stageId === "build" ? "fail" : "ok" }),
  });
  await start(hand, "flow");
  await until(hand, "paused");
  await hand.say("steer_workflow", { act: "stop" });
  expect(await keptOf(hand, hand.live.key)).toEqual(FLOW);
  const branch = await branched(hand);
  expect(await keptOf(hand, branch.live.key)).toEqual(NOTHING);
  expect(branch.live.skipped).toEqual([]);
});

it("a branch has a workflow of its own if a person starts one there", async () => {
  const { hand, workflows } = await withWorkflow([PLAN, stageOf("build", "hang")]);
  workflows.add("other", [stageOf("look", "say seen")]);
  await start(hand, "flow");
  await hand.stage.until(() => storyOf(hand.events).includes("build#1"));
  const branch = await branched(hand);
  await start(branch, "other");
  await until(branch, "ended");
  expect(storyOf(branch.events)).toEqual(["look#1", "look ok", "ended", "turn_complete"]);
  await hand.say("steer_workflow", { act: "stop" });
  await until(hand, "stopped");
});
