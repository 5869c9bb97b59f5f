import { type Refusal, refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import {
  WORKFLOW_COMMAND_MS_MAX,
  WORKFLOW_COMMAND_OUTPUT_CHARS_MAX,
  WORKFLOW_PHASE_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type { AttachedWorkflow } from "../../core/session/workflow.ts";
import { lastOfText } from "../../core/text.ts";
import type { CommandOutcome, WorkflowRun } from "../../extension/workflow/index.ts";
import type { SessionKey } from "../../store/store.ts";
import { mayRunShells } from "../tenant/policy-check.ts";
import type { SessionWorld } from "../world.ts";
import { type KeptState, readSlot, type WorkflowSlot } from "./kept.ts";

/** A workflow at work for a session, with what it has kept. */
export interface OpenWorkflow {
  readonly run: WorkflowRun;
  readonly kept: KeptState;
}

/** What was found of its slot when the session was opened. */
export type StoredWorkflowSlot =
  | WorkflowSlot
  | { readonly owner: string; readonly isDamaged: true }
  | null;

/**
 * Brings up the version that the session began with, and hands it what it has kept. It is refused
 * if that version or its slot is not to be had: it cannot go on then, and the session does (P6).
 */
export async function openWorkflow(
  world: SessionWorld,
  key: SessionKey,
  session: Session,
  workflow: AttachedWorkflow,
  stored: StoredWorkflowSlot,
): Promise<Result<OpenWorkflow>> {
  try {
    return await opened(world, key, session, workflow, stored);
  } catch (thrown) {
    return { ok: false, refusal: attachFailed(workflow, thrown) };
  }
}

export function attachFailed({ name }: AttachedWorkflow, thrown: unknown): Refusal {
  return refusal("workflow_attach_failed", { workflow: name, reason: thrownWords(thrown) });
}

/** What was thrown may be anything, even what no text can be made of. */
export function thrownWords(thrown: unknown): string {
  const said: unknown = thrown instanceof Error ? thrown.message : thrown;
  return typeof said === "string" ? said : "what was thrown is no error";
}

async function opened(
  world: SessionWorld,
  key: SessionKey,
  session: Session,
  workflow: AttachedWorkflow,
  stored: StoredWorkflowSlot,
): Promise<Result<OpenWorkflow>> {
  const { workflows } = world;
  if (workflows === undefined) return fail("workflows_absent");
  const isNew = !workflow.keeps;
  const isThere = !isNew && stored !== null && !("isDamaged" in stored);
  const kept = isThere ? readSlot(stored) : null;
  if (kept === null && !isNew) return fail("workflow_slot_lost", { workflow: workflow.name });
  const bytes = await world.store.readBlob(key.tenantId, workflow.hash);
  if (!bytes.ok) return bytes;
  const text = new TextDecoder().decode(bytes.value);
  const brought = await workflows.open(text, hostOf(world, key, session, isNew));
  if (!brought.ok) return brought;
  const run = brought.value;
  const attached = await attachedIn(world, run, kept);
  if (!attached.ok) {
    await run.end();
    return attached;
  }
  const { slotVersion } = run.plan;
  const { results = {}, visits = {} } = kept ?? {};
  return ok({ run, kept: { slotVersion, ctx: attached.value, results, visits } });
}

/** It may throw, and may never answer. */
async function attachedIn({ clock }: SessionWorld, run: WorkflowRun, kept: KeptState | null) {
  const giveUp = new AbortController();
  const { name } = run.plan;
  const { promise: late, resolve } = Promise.withResolvers<Result<never>>();
  const callOff = clock.after(WORKFLOW_PHASE_MS_MAX, () => {
    giveUp.abort();
    resolve(fail("workflow_attach_failed", { workflow: name, reason: "it took too long" }));
  });
  const stored = kept && { slotVersion: kept.slotVersion, ctx: kept.ctx };
  const attaching = (async () => run.attach(stored, giveUp.signal))().catch((thrown: unknown) => {
    const reason = thrownWords(thrown);
    return fail("workflow_attach_failed", { workflow: name, reason });
  });
  return Promise.race([attaching, late]).finally(callOff);
}

function hostOf(world: SessionWorld, key: SessionKey, session: Session, isNew: boolean) {
  const { sessionId, tenantId }: { sessionId: string; tenantId: TenantId } = key;
  const { workspaceCwd } = session.fixed;
  return {
    tenantId,
    session: { sessionId, workspaceCwd, isResumed: !isNew },
    run: (command: string, signal: AbortSignal) => {
      return runCommand(world, { command, cwd: session.chosen.currentCwd }, signal);
    },
    log: (message: string) => {
      world.log("workflow says", { sessionId, says: world.redact(message) });
    },
  };
}

/** A command of a stage; one that takes too long has ended with 124, as `timeout` has it. */
async function runCommand(
  world: SessionWorld,
  line: { readonly command: string; readonly cwd: string },
  signal: AbortSignal,
): Promise<Result<CommandOutcome>> {
  if (!mayRunShells(world)) return fail("session_shell_disabled");
  const giveUp = new AbortController();
  const end = () => giveUp.abort();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let isLate = false;
  const callOff = world.clock.after(WORKFLOW_COMMAND_MS_MAX, () => {
    isLate = true;
    end();
  });
  let written = "";
  const listener = {
    started: () => {},
    output: (text: string) => {
      written += text;
      if (written.length > 2 * WORKFLOW_COMMAND_OUTPUT_CHARS_MAX) written = endOf(written);
      return undefined;
    },
  };
  const exit = await world.shell.run(line, listener, giveUp.signal);
  callOff();
  signal.removeEventListener("abort", end);
  if (exit.error !== null) return fail("stage_command_failed", { reason: exit.error });
  const output = world.redact(endOf(written));
  return ok({ exitCode: isLate ? TIMED_OUT : (exit.exitCode ?? KILLED), output });
}

const TIMED_OUT = 124;
const KILLED = 137;

function endOf(text: string): string {
  return lastOfText(text, WORKFLOW_COMMAND_OUTPUT_CHARS_MAX);
}
