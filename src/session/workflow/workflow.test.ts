// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of stages have places
import { describe, expect, it } from "vitest";
import { fail, ok } from "../../core/result.ts";
import { Stage } from "../stage.fixture.ts";
import { stageOf, start, storyOf, TestWorkflows, until, withWorkflow } from "./workflow.fixture.ts";

describe("a workflow", () => {
  it("runs its stages one after the other, each in a turn of its own", async () => {
    const stages = [stageOf("plan", "say planned"), stageOf("build", "say built ${results.plan}")];
    const { hand } = await withWorkflow(stages);
    await start(hand, "flow");
    await until(hand, "ended");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan ok", "turn_complete"],
      ...["build#1", "build ok", "ended", "turn_complete"],
    ]);
    expect(hand.live.session.workflow).toMatchObject({ state: "ended", plan: [], executions: 2 });
    const words = JSON.stringify(hand.events.filter(({ type }) => type === "session_update"));
    expect(words).toContain("say built planned");
  });

  it("keeps the text that the agent was told in the conversation", async () => {
    const { hand, stage } = await withWorkflow([stageOf("plan", "say planned")]);
    await start(hand, "flow");
    await until(hand, "ended");
    const page = await stage.world.store.readMessages(hand.live.key, { after: 0, limit: 10 });
    expect(JSON.stringify(page)).toContain("say planned");
  });

  it("has its slot and its place in the manifest while it is at work, and not after", async () => {
    const stages = [stageOf("plan", "say planned"), stageOf("build", "say built")];
    const { hand, stage } = await withWorkflow(stages, {
      setup: async ({ stageId }) => ok({ [stageId]: "seen" }),
      next: async ({ stageId }) => {
        if (stageId === "build") return ok({ kind: "sequential", stages: [] });
        return ok({ kind: "pause", reason: "look" });
      },
    });
    const stored = async () => {
      const { store } = stage.world;
      const manifest = await store.readManifest(hand.live.key);
      return JSON.stringify(manifest);
    };
    await start(hand, "flow");
    await until(hand, "paused");
    expect(await stored()).toContain('"smState":{"smExtId":"workflow.flow"');
    await hand.say("steer_workflow", { act: "stop" });
    await hand.turn("say hello");
    expect(await stored()).not.toContain("smState");
  });

  it("lets a person's prompt in between two stages", async () => {
    const stages = [stageOf("plan", "say planned"), stageOf("build", "say built")];
    const { hand } = await withWorkflow(stages, {
      exit: async () => {
        await hand.prompt("say from a person");
        return ok(null);
      },
    });
    await start(hand, "flow");
    await until(hand, "ended");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan ok", "turn_complete", "turn_complete"],
      ...["build#1", "build ok", "ended", "turn_complete"],
    ]);
  });

  it("takes a second one only after the first, and the same one again as nothing", async () => {
    const { hand, workflows } = await withWorkflow([stageOf("plan", "hang")]);
    workflows.add("other", [stageOf("a", "say a")]);
    await start(hand, "flow");
    await hand.stage.until(() => storyOf(hand.events).includes("plan#1"));
    expect((await start(hand, "flow")).refusal).toBeNull();
    expect((await start(hand, "other")).refusal?.code).toBe("workflow_attached");
    await hand.say("steer_workflow", { act: "stop" });
    await hand.stage.until(() => storyOf(hand.events).includes("turn_complete"));
    expect((await start(hand, "other")).refusal).toBeNull();
    await until(hand, "ended");
  });
});

describe("a stage", () => {
  it("is skipped by its gate without a word to the agent", async () => {
    const stages = [stageOf("plan", "say planned"), stageOf("build", "say built")];
    const { hand } = await withWorkflow(stages, {
      checkGate: async ({ stageId }) => ok(stageId === "plan" ? "skip" : "proceed"),
    });
    await start(hand, "flow");
    await until(hand, "ended");
    expect(storyOf(hand.events)).toContain("plan skipped");
    expect(JSON.stringify(hand.events)).not.toContain("planned");
  });

  it("is tried again as often as it may be, and then a person decides", async () => {
    const retry = { maxAttempts: 2, backoffMs: 0 };
    const { hand } = await withWorkflow([stageOf("plan", "say ${attempt}", { retry })], {
      assert: async () => ok("retry"),
    });
    await start(hand, "flow");
    await until(hand, "paused");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan retry", "turn_complete"],
      ...["plan#2", "plan failed", "paused: stage_paused", "turn_complete"],
    ]);
    await hand.say("steer_workflow", { act: "stop" });
  });

  it("fails if its text names something of which nothing is known", async () => {
    const { hand } = await withWorkflow([stageOf("plan", "say ${results.nothing}")]);
    await start(hand, "flow");
    await until(hand, "paused");
    expect(hand.live.session.workflow?.reason).toContain("${results.nothing}");
  });

  it("is over its cap when it has made more calls, and is told to stop", async () => {
    const calls = ["tool a kind=read", "tool b kind=read", "hang"].join("\n");
    const seen: boolean[] = [];
    const { hand } = await withWorkflow([stageOf("plan", calls, { turnCap: 1 })], {
      assert: async (_, { isCapHit }) => {
        seen.push(isCapHit);
        return ok("fail");
      },
    });
    await start(hand, "flow");
    await until(hand, "paused");
    expect(seen).toEqual([true]);
    expect(storyOf(hand.events)).toContain("turn_complete");
  });

  it("P10: has a phase that throws or fails count as an attempt", async () => {
    const { hand } = await withWorkflow([stageOf("plan", "say planned")], {
      setup: async () => {
        throw new Error("no luck");
      },
    });
    await start(hand, "flow");
    await until(hand, "paused");
    expect(hand.live.session.workflow?.reason).toContain("no luck");
  });

  it("P5: has its verdict when something is thrown in it, and the server goes on", async () => {
    const { hand } = await withWorkflow([stageOf("plan", "say planned")], {
      next: async () => ok({ kind: "sequential" } as never),
    });
    await start(hand, "flow");
    await until(hand, "paused");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan retry", "paused: stage_failed", "turn_error"],
    ]);
    expect(hand.live.session.workflow?.reason).toMatch(/^The stage "plan" failed in execution: /);
    expect(await hand.turn("say hello")).toMatchObject({ type: "turn_complete" });
  });

  it("P10: is not begun with a text that places make too long", async () => {
    const { hand } = await withWorkflow([stageOf("plan", "say ${input}".repeat(100))]);
    await start(hand, "flow", "x".repeat(65_536));
    await until(hand, "paused");
    expect(hand.live.session.workflow?.reason).toContain("longer than 262144 characters");
    expect(JSON.stringify(hand.events)).not.toContain("stage_prompted");
  });

  it("P10: is not followed for ever", { timeout: 120_000 }, async () => {
    const { hand } = await withWorkflow([stageOf("plan", "say again")], {
      checkGate: async () => ok("skip"),
      next: async () => ok({ kind: "sequential", stages: ["plan"] }),
    });
    await start(hand, "flow");
    await until(hand, "paused");
    expect(storyOf(hand.events)).toContain("paused: workflow_too_long");
  });

  it("pauses its workflow when its turn is cancelled, and goes on when told to", async () => {
    const { hand } = await withWorkflow([stageOf("plan", "hang"), stageOf("build", "say built")]);
    await start(hand, "flow");
    await hand.stage.until(() => JSON.stringify(hand.events).includes("stage_prompted"));
    await hand.say("cancel", {});
    await until(hand, "paused");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan cancelled", "paused: cancelled", "turn_complete"],
    ]);
    await hand.turn("say in between");
    await hand.say("steer_workflow", { act: "resume" });
    await hand.stage.until(() => storyOf(hand.events).includes("plan#2"));
    await hand.say("steer_workflow", { act: "stop" });
    await until(hand, "stopped");
  });
});

describe("a workflow that cannot go on", () => {
  it("P6: leaves plain chat, with the reason among what was skipped", async () => {
    const { hand, workflows } = await withWorkflow([stageOf("plan", "say planned")], {
      attach: async () => fail("workflow_slot_lost", { workflow: "flow" }),
    });
    await start(hand, "flow");
    await until(hand, "aborted");
    expect(await hand.turn("say hello")).toMatchObject({ type: "turn_complete" });
    expect(hand.live.skipped).toContainEqual({
      name: "workflow.flow",
      reason: 'What the workflow "flow" has kept cannot be read.',
    });
    workflows.add("flow", [stageOf("plan", "say planned")]);
    await hand.say("steer_workflow", { act: "resume" });
    await until(hand, "ended");
  });
});

describe("a server that ends", () => {
  it("P2: has another one run the interrupted stage again, with what was kept", async () => {
    const stages = [stageOf("plan", "say planned"), stageOf("build", "hang")];
    const { hand, stage, workflows } = await withWorkflow(stages);
    await start(hand, "flow");
    await stage.until(() => storyOf(hand.events).includes("build#1"));
    await stage.registry.abandon(hand.live);
    workflows.add("flow", [
      stageOf("plan", "say planned"),
      stageOf("build", "say ${results.plan}"),
    ]);
    const again = await stage.opened(hand.sessionId);
    again.live.start();
    await until(again, "ended");
    expect(storyOf(hand.events)).toEqual([
      ...["plan#1", "plan ok", "turn_complete", "build#1"],
      ...["build interrupted", "turn_error"],
      ...["build#2", "build ok", "ended", "turn_complete"],
    ]);
  });
});

it("P2: what a stage that failed has kept is there for another server", async () => {
  const stages = [stageOf("plan", "say planned"), stageOf("build", "hang")];
  const answers: Parameters<typeof withWorkflow>[1] = {
    assert: async ({ stageId }) => ok(stageId === "plan" ? "fail" : "ok"),
    next: async ({ stageId }) =>
      ok({ kind: "sequential", stages: stageId === "plan" ? ["build"] : [] }),
  };
  const { hand, stage, workflows } = await withWorkflow(stages, answers);
  await start(hand, "flow");
  await stage.until(() => storyOf(hand.events).includes("build#1"));
  await stage.registry.abandon(hand.live);
  workflows.add(
    "flow",
    [stageOf("plan", "say planned"), stageOf("build", "say ${results.plan}")],
    answers,
  );
  const again = await stage.opened(hand.sessionId);
  again.live.start();
  await until(again, "ended");
  expect(storyOf(hand.events)).toContain("build ok");
});

it("a server without workflows has none to list or to start", async () => {
  const stage = await Stage.open();
  const hand = await stage.created();
  expect(stage.world.workflows).toBeUndefined();
  expect(await new TestWorkflows().list()).toEqual([]);
  await hand.turn("say hello");
  expect(hand.live.session.workflow).toBeUndefined();
});
