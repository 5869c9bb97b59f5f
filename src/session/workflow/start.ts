import { WORKFLOW_INPUT_CHARS_MAX, WORKFLOW_TEXT_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { NewWorkflow } from "../../core/session/command.ts";
import type { ExtensionScope } from "../../extension/catalog.ts";
import type { WorkflowListing } from "../../extension/workflow/index.ts";
import { mayRunShells } from "../tenant/policy-check.ts";
import type { SessionWorld } from "../world.ts";
import { stepOf } from "./phases.ts";

/** What a client wants to have started. */
export interface WorkflowRequest {
  readonly name: string;
  readonly input: string;
}

/** All that a session could start now, by name. */
export async function listWorkflows(
  { workflows }: Pick<SessionWorld, "workflows">,
  place: ExtensionScope,
): Promise<readonly WorkflowListing[]> {
  return (await workflows?.list(place)) ?? [];
}

/**
 * A workflow as it is now, ready to be attached: its text is kept with the session, so that it goes
 * on in the version that it began with (P7).
 */
export async function foundWorkflow(
  world: SessionWorld,
  place: ExtensionScope,
  { name, input }: WorkflowRequest,
): Promise<Result<NewWorkflow>> {
  const { workflows } = world;
  if (workflows === undefined) return fail("workflows_absent");
  const found = await workflows.find(place, name);
  if (!found.ok) return found;
  const { plan, text } = found.value;
  const isMissing = plan.input !== null && input.trim() === "";
  if (isMissing) {
    return fail("workflow_input_missing", { workflow: name, input: plan.input ?? "" });
  }
  if (input.length > WORKFLOW_INPUT_CHARS_MAX) {
    return fail("workflow_too_large", { workflow: name, limit: WORKFLOW_INPUT_CHARS_MAX });
  }
  const needsShell = plan.stages.some(({ run }) => run !== null);
  if (needsShell && !mayRunShells(world)) return fail("session_shell_disabled");
  const kept = await keptText(world, place, { name, text });
  if (!kept.ok) return kept;
  return ok({ name, hash: kept.value, input, first: stepOf(found.value, [plan.entry]) });
}

async function keptText(
  { store, redact }: SessionWorld,
  { tenantId }: ExtensionScope,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<Result<string>> {
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength > WORKFLOW_TEXT_BYTES_MAX) {
    return fail("workflow_too_large", { workflow: name, limit: WORKFLOW_TEXT_BYTES_MAX });
  }
  if (redact(text) !== text) return fail("secret_leak", { paths: `workflow ${name}` });
  return store.writeBlob(tenantId, bytes);
}
