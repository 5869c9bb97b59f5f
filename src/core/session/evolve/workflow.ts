import { WORKFLOW_PAST_MAX } from "../../limits.ts";
import type { SessionEvent } from "../event.ts";
import type { Session } from "../state.ts";
import type { AttachedWorkflow } from "../workflow.ts";

// What happens to the workflow of a session. A branch has the stages of its past without one.

export function attached(session: Session, { data }: SessionEvent<"workflow_attached">): Session {
  const { name, hash, input, first, userId, authority } = data;
  const workflow: AttachedWorkflow = {
    name,
    hash,
    input,
    state: "running",
    reason: null,
    plan: [first],
    ...FRESH,
    executions: 0,
    keeps: false,
    past: [],
    userId: userId ?? null,
    ...(authority && { authority }),
  };
  return { ...session, workflow };
}

/** Of a step that has not been executed yet. */
const FRESH = { attempts: 0, failures: 0, interruptions: 0, attemptEndedAtMs: null } as const;

export function stageStarted(session: Session, _: SessionEvent<"stage_started">): Session {
  return changed(session, ({ attempts, executions }) => ({
    attempts: attempts + 1,
    executions: executions + 1,
  }));
}

/** The conversation has what the agent was really told, and not the name of the stage. */
export function stagePrompted(session: Session, { data }: SessionEvent<"stage_prompted">): Session {
  const { running } = session;
  if (running === null) return session;
  const { text } = data;
  return { ...session, running: { ...running, text, content: [{ type: "text", text }] } };
}

export function stageEnded(session: Session, event: SessionEvent<"stage_ended">): Session {
  const { stages, attempt, outcome, plan, kept = false } = event.data;
  const isOver = outcome === "ok" || outcome === "skipped" || outcome === "failed";
  return changed(session, (workflow) => {
    const past = [...workflow.past, { stages, attempt, outcome }].slice(-WORKFLOW_PAST_MAX);
    const keeps = workflow.keeps || kept;
    if (isOver) return { ...FRESH, keeps, plan, past };
    return {
      keeps,
      plan,
      past,
      failures: workflow.failures + (outcome === "retry" ? 1 : 0),
      interruptions: workflow.interruptions + (outcome === "interrupted" ? 1 : 0),
      attemptEndedAtMs: event._meta.serverTimestamp,
    };
  });
}

export function paused(session: Session, { data }: SessionEvent<"workflow_paused">): Session {
  return changed(session, () => ({ state: "paused", reason: data.message }));
}

/** A person has looked at it: it has its attempts anew. */
export function resumed(session: Session, _: SessionEvent<"workflow_resumed">): Session {
  const anew = { failures: 0, interruptions: 0, executions: 0, attemptEndedAtMs: null };
  return changed(session, () => ({ state: "running", reason: null, ...anew }));
}

export function ended(session: Session, { data }: SessionEvent<"workflow_ended">): Session {
  return changed(session, () => ({ state: data.state, reason: null }));
}

export function aborted(session: Session, { data }: SessionEvent<"workflow_aborted">): Session {
  return changed(session, () => ({ state: "aborted", reason: data.reason }));
}

function changed(
  session: Session,
  change: (workflow: AttachedWorkflow) => Partial<AttachedWorkflow>,
): Session {
  const { workflow } = session;
  return workflow === undefined
    ? session
    : { ...session, workflow: { ...workflow, ...change(workflow) } };
}
