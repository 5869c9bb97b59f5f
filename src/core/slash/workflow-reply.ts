import type { CommandResult } from "../session/event.ts";
import type { Session } from "../session/state.ts";
import {
  type AttachedWorkflow,
  type PastExecution,
  WORKFLOW_ACTS,
  type WorkflowAct,
} from "../session/workflow.ts";
import { done, failed, leftOut, listed, oneLine, section, shownName } from "./answer.ts";

/** A workflow that a session could start, or why it cannot. */
export interface WorkflowLine {
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly why: string | null;
}

const DESCRIPTION_CHARS = 120;

export function workflowsListed(workflows: readonly WorkflowLine[]): CommandResult {
  const lines = [...listed(workflows).map(listLine), ...leftOut(workflows)];
  const message = lines.length === 0 ? "There are no workflows here." : lines.join("\n");
  return done("workflows_listed", message, { workflows: listed(workflows) });
}

function listLine({ name, description, why }: WorkflowLine): string {
  const about = oneLine(
    why === null ? description : `cannot be started: ${why}`,
    DESCRIPTION_CHARS,
  );
  return `${shownName(name)}: ${about}`;
}

export function workflowStarted(name: string): CommandResult {
  const message =
    `The workflow ${shownName(name)} is on its way. /workflow status shows where it stands; a ` +
    "prompt of yours comes between two stages.";
  return done("workflow_started", message, { workflow: name });
}

export function workflowSteered(act: WorkflowAct, { workflow }: Session): CommandResult {
  const name = workflow?.name ?? "";
  const message = `The workflow ${shownName(name)} ${STEERED[act]}.`;
  return done("workflow_steered", message, { workflow: name, act });
}

const STEERED: Readonly<Record<WorkflowAct, string>> = {
  pause: "pauses",
  resume: "goes on",
  retry: "tries its stage again",
  stop: "has been stopped",
};

/** Where it stands, as a drawing of lines: what it did, what it does, what it will do. */
export function workflowShown({ workflow, running }: Session): CommandResult {
  if (workflow === undefined) return done("workflow_shown", "This session has no workflow.");
  const { name, state, reason, past, plan } = workflow;
  const isAtWork = running?.stage !== undefined;
  const [head, ...rest] = plan;
  const lines = [
    `Workflow: ${shownName(name)}, ${state}${reason === null ? "" : `: ${oneLine(reason, 500)}`}`,
    ...section("Stages:", [
      ...past.map(pastLine),
      ...(head === undefined ? [] : [`[${isAtWork ? ">" : " "}] ${stagesText(head.stages)}`]),
      ...rest.map(({ stages }) => `[ ] ${stagesText(stages)}`),
    ]),
  ];
  return done("workflow_shown", lines.join("\n"), { workflow: workflowFields(workflow) });
}

const MARKS: Readonly<Record<PastExecution["outcome"], string>> = {
  ok: "x",
  skipped: "-",
  retry: "~",
  failed: "!",
  cancelled: "!",
  interrupted: "~",
};

function pastLine({ stages, attempt, outcome }: PastExecution): string {
  const tried = attempt === 1 ? "" : `, attempt ${attempt}`;
  return `[${MARKS[outcome]}] ${stagesText(stages)}${tried} (${outcome})`;
}

function stagesText(stages: readonly string[]): string {
  return stages.map(shownName).join(" + ");
}

/** What clients read of it; who started it is in the log. */
function workflowFields(workflow: AttachedWorkflow) {
  const { name, hash, input, state, reason, plan, attempts, failures, past } = workflow;
  return { name, hash, input, state, reason, plan, attempts, failures, past };
}

export function wrongWorkflowWords(): CommandResult {
  const usage = `/workflow list | start NAME [text] | status | ${WORKFLOW_ACTS.join(" | ")}`;
  return failed("invalid_args", `Error: wrong arguments for /workflow. Usage: ${usage}`, {
    command: "workflow",
    usage,
  });
}
