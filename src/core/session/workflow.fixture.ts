import type { CommandData, CommandType, NewWorkflow } from "./command.ts";
import { newPrompt } from "./life.fixture.ts";
import { one, type Situation, someTurn } from "./situation.fixture.ts";
import { type StageRuling, WORKFLOW_ACTS, type WorkflowStep } from "./workflow.ts";

type WorkflowCommand = Extract<CommandType, `${string}workflow` | `${string}_stage`>;

/** What the properties try with workflows. */
export const WORKFLOW_COMMANDS: {
  readonly [Type in WorkflowCommand]: (at: Situation) => CommandData[Type];
} = {
  attach_workflow: (at) => ({ workflow: someWorkflow(at) }),
  begin_stage: ({ life, step, pick }) => {
    const next = life.session?.workflow?.plan[0]?.stages ?? ["plan"];
    const stages = pick % 9 === 0 ? ["never heard of"] : next;
    const deadlineAtMs = pick % 7 === 0 ? step * 1_000 : null;
    const { promptId, content, lastEventId } = newPrompt(`p${step}`);
    return { promptId, content, lastEventId, deadlineAtMs, stages };
  },
  prompt_stage: (at) => ({ turnId: someTurn(at), stage: "plan", text: `do ${at.pick % 3}` }),
  steer_workflow: ({ pick }) => ({ act: one(WORKFLOW_ACTS, pick) }),
  abort_workflow: ({ odd }) => ({ reason: odd ? "it is gone" : "" }),
};

function someWorkflow({ odd, pick }: Situation): NewWorkflow {
  return { name: "flow", hash: odd ? "a" : `${pick % 3}`, input: "", first: someStep(pick) };
}

function someStep(pick: number): WorkflowStep {
  const stages = one([["plan"], ["build"], ["look", "listen"]], pick);
  return { stages, maxAttempts: 1 + (pick % 3), backoffMs: pick % 4 === 0 ? 1_500 : 0 };
}

/** What a workflow says at the end of a turn; a turn that is none of its own ignores it. */
export function someRuling({ odd, pick }: Situation): { readonly stage?: StageRuling } {
  const outcome = one<StageRuling["outcome"]>(["ok", "ok", "retry", "skipped", "failed"], pick);
  const steps = pick % 4 === 0 ? [] : [someStep(pick), someStep(pick + 1)];
  const pause = { kind: "pause", reason: "look at it" } as const;
  const next = pick % 5 === 0 ? pause : ({ kind: "steps", steps } as const);
  if (pick % 6 === 0) return {};
  const kept = pick % 3 !== 0;
  return { stage: odd || outcome === "retry" ? { outcome, kept } : { outcome, kept, next } };
}
