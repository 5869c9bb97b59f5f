// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of stages have places
import { describe, expect, it } from "vitest";
import { ok } from "../../core/result.ts";
import type { Next } from "../../extension/workflow/index.ts";
import { stageOf, start, storyOf, until, withWorkflow } from "./workflow.fixture.ts";

const join = stageOf("join", "say joined ${results.look} and ${results.listen}");

/** From `begin` on two stages run together, and then the join. */
const fansOut = {
  next: async ({ stageId }: { readonly stageId: string }) => {
    const group: Next = { kind: "parallel", stages: ["look", "listen"], join: "join" };
    return ok(stageId === "begin" ? group : ({ kind: "sequential", stages: [] } as const));
  },
};

const begin = stageOf("begin", "say begun");

describe("a parallel group", () => {
  it("is one turn, and the join sees what each of its stages came to", async () => {
    const stages = [begin, stageOf("look", "say seen"), stageOf("listen", "say heard"), join];
    const { hand } = await withWorkflow(stages, fansOut);
    await start(hand, "flow");
    await until(hand, "ended");
    expect(storyOf(hand.events)).toEqual([
      ...["begin#1", "begin ok", "turn_complete"],
      ...["look,listen#1", "look,listen ok", "turn_complete"],
      ...["join#1", "join ok", "ended", "turn_complete"],
    ]);
    expect(JSON.stringify(hand.events)).toContain("joined seen and heard");
    const ended = hand.events.filter(({ type }) => type === "child_session_ended");
    expect(ended).toHaveLength(2);
  });

  it("ends the others with the first that fails, and does not go on to the join", async () => {
    const stages = [begin, stageOf("look", "fail -32603 no"), stageOf("listen", "hang"), join];
    const { hand } = await withWorkflow(stages, fansOut);
    await start(hand, "flow");
    await until(hand, "paused");
    const story = storyOf(hand.events);
    expect(story).toContain("look,listen retry");
    expect(story.some((step) => step.startsWith("join"))).toBe(false);
    expect(hand.live.session.workflow?.reason).toContain('The parallel stage "look" has failed');
    const ended = hand.events.filter(({ type }) => type === "child_session_ended");
    expect(ended).toHaveLength(2);
    expect(hand.live.session.running).toBeNull();
  });

  it("is cancelled as a whole", async () => {
    const stages = [begin, stageOf("look", "hang"), stageOf("listen", "hang"), join];
    const { hand } = await withWorkflow(stages, fansOut);
    await start(hand, "flow");
    const children = () => hand.events.filter(({ type }) => type === "child_session_started");
    await hand.stage.until(() => children().length === 2);
    await hand.say("cancel", {});
    await until(hand, "paused");
    expect(storyOf(hand.events).slice(-3)).toEqual([
      ...["look,listen cancelled", "paused: cancelled", "turn_complete"],
    ]);
  });
});

describe("what a stage says to the calls of its agent", () => {
  const asks = "ask kind=edit path=/a.ts";
  const asksFor = async (change: Parameters<typeof stageOf>[2]) => {
    const { hand } = await withWorkflow([stageOf("plan", `${asks}\nsay done`, change)]);
    await start(hand, "flow");
    return hand;
  };
  const decided = (events: readonly { readonly type: string; readonly data: object }[]) =>
    events.filter(({ type }) => type === "permission_decided").map(({ data }) => data);

  it("lets through what it allows, and asks no person", async () => {
    const hand = await asksFor({ allowedTools: ["edit:*"] });
    await until(hand, "ended");
    expect(decided(hand.events)).toMatchObject([{ gate: "workflow", allowed: true }]);
  });

  it("denies what it does not allow, where it says so", async () => {
    const hand = await asksFor({ allowedTools: ["read:*"], otherTools: "deny" });
    await until(hand, "ended");
    expect(decided(hand.events)).toMatchObject([{ gate: "workflow", allowed: false }]);
  });

  it("denies a call that only names itself after the one that completes a stage", async () => {
    for (const named of [
      "ask kind=execute title=mcp__fermata__complete_stage command=ls",
      "ask kind=edit title=mcp__fermata__complete_stage path=/a.ts",
      "ask kind=other title=not_complete_stage",
    ]) {
      const change = { allowedTools: ["read:*"], otherTools: "deny" } as const;
      const { hand } = await withWorkflow([stageOf("plan", `${named}\nsay done`, change)]);
      await start(hand, "flow");
      await until(hand, "ended");
      expect(decided(hand.events)).toMatchObject([{ gate: "workflow", allowed: false }]);
    }
  });

  it("has people decide the rest", async () => {
    const hand = await asksFor({ allowedTools: ["read:*"] });
    await hand.asked();
    await hand.say("steer_workflow", { act: "stop" });
    await until(hand, "stopped");
  });
});
