import { expect } from "vitest";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type {
  Next,
  StagePlan,
  WorkflowCatalog,
  WorkflowPlan,
  WorkflowRun,
} from "../../extension/workflow/index.ts";
import { type Hand, Stage, value } from "../stage.fixture.ts";
import { foundWorkflow } from "./start.ts";

/** A stage of a test: its text is what `echo` does. */
export function stageOf(id: string, body: string, change: Partial<StagePlan> = {}): StagePlan {
  const retry = { maxAttempts: 1, backoffMs: 0 };
  const quiet = { run: null, allowedTools: null, otherTools: "ask", completion: null } as const;
  return { id, name: id, body, ...quiet, turnCap: 100, retry, ...change };
}

/** What a workflow of a test answers; all else is as usual. */
export type Answers = Partial<Omit<WorkflowRun, "plan">>;

/** Workflows in code, by name. Their text is their name, so a changed one has the same text. */
export class TestWorkflows implements WorkflowCatalog {
  readonly #known = new Map<string, { readonly plan: WorkflowPlan; readonly answers: Answers }>();
  /** How often one was brought up, and ended. */
  opened = 0;
  ended = 0;

  /** One stage after the other, in this order. */
  add(name: string, stages: readonly StagePlan[], answers: Answers = {}): this {
    const entry = stages[0]?.id ?? "";
    const plan = {
      name,
      description: name,
      input: null,
      slotVersion: 1,
      entry,
      stages,
      paths: null,
    };
    this.#known.set(name, { plan, answers });
    return this;
  }

  remove(name: string) {
    this.#known.delete(name);
  }

  async list() {
    return [...this.#known.values()].map(({ plan }) => {
      return { name: plan.name, description: "", source: "bundled", why: null } as const;
    });
  }

  async find(_: unknown, name: string) {
    const known = this.#known.get(name);
    if (known === undefined) return fail("workflow_none");
    return ok({ plan: known.plan, hash: name, text: name });
  }

  async open(text: string): Promise<Result<WorkflowRun>> {
    const known = this.#known.get(text);
    if (known === undefined) return fail("workflow_none");
    this.opened += 1;
    const { plan, answers } = known;
    const follows = (id: string): Next => {
      const at = plan.stages.findIndex((stage) => stage.id === id);
      return { kind: "sequential", stages: plan.stages.slice(at + 1, at + 2).map(({ id }) => id) };
    };
    return ok({
      plan,
      attach: async (stored) => ok(stored?.ctx ?? {}),
      setup: async () => ok({}),
      checkGate: async () => ok("proceed" as const),
      assert: async () => ok("ok" as const),
      exit: async (_, act) => ok(act.completion ?? act.text),
      next: async ({ stageId }, outcome) =>
        ok(outcome === "failed" ? { kind: "pause", reason: "it failed" } : follows(stageId)),
      ...answers,
      end: async () => {
        this.ended += 1;
      },
    });
  }
}

/** Attaches a workflow to the session of this hand. */
export async function start(hand: Hand, name: string, input = "") {
  const { tenantId } = hand.live.key;
  const place = { tenantId, workspaceCwd: hand.stage.folder };
  const workflow = value(await foundWorkflow(hand.stage.world, place, { name, input }));
  return hand.say("attach_workflow", { workflow });
}

/** What the log says of stages and of the workflow, in short. */
export function storyOf(events: readonly LogEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === "stage_started") return [`${event.data.stages}#${event.data.attempt}`];
    if (event.type === "stage_ended") return [`${event.data.stages} ${event.data.outcome}`];
    if (event.type === "workflow_paused") return [`paused: ${event.data.reason}`];
    if (event.type === "workflow_aborted") return ["aborted"];
    if (event.type === "workflow_resumed") return ["resumed"];
    if (event.type === "workflow_ended") return [event.data.state];
    return event.type === "turn_complete" || event.type === "turn_error" ? [event.type] : [];
  });
}

/** Until the workflow of the session is in this state, durably. */
export async function until(hand: Hand, state: string) {
  const reached = await hand.live.until(({ workflow }) => workflow?.state === state);
  expect(reached.ok).toBe(true);
}

export async function withWorkflow(
  stages: readonly StagePlan[],
  answers: Answers = {},
  options: Parameters<typeof Stage.open>[0] = {},
) {
  const workflows = new TestWorkflows().add("flow", stages, answers);
  const stage = await Stage.open({ ...options, workflows });
  const hand = await stage.created();
  return { workflows, stage, hand };
}
