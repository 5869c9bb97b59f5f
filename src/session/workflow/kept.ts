import { isObject } from "../../core/json.ts";
import { WORKFLOW_SLOT_BYTES_MAX } from "../../core/limits.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { type AttachedWorkflow, slotOwnerOf } from "../../core/session/workflow.ts";
import { type PlainData, plainText } from "../../extension/plain-data.ts";
import type { StageContext } from "../../extension/workflow/index.ts";

/** What a workflow keeps between its stages: all that is in its slot. */
export interface KeptState {
  readonly slotVersion: number;
  readonly ctx: StageContext;
  readonly results: Readonly<Record<string, PlainData>>;
  readonly visits: Readonly<Record<string, number>>;
}

/** A slot as the store has it. */
export interface WorkflowSlot {
  readonly owner: string;
  readonly version: string;
  readonly payload: Uint8Array;
}

/** What is kept if the turn at work comes to its end as it says. */
export interface OfferedState {
  readonly promptId: string;
  readonly kept: KeptState;
}

/** What a snapshot changes of the slot. */
export interface KeptChange {
  readonly slot: WorkflowSlot | null;
  readonly kept: KeptState | null;
}

/** Whether it is the end of the execution that offers something, and the session takes it. */
export function isKeptBy(event: SessionEvent, offered: OfferedState | null): boolean {
  if (event.type !== "stage_ended" || event.data.kept !== true) return false;
  return event.promptId === offered?.promptId;
}

/** The shape of the slot itself; the shape of the context in it is the workflow's own. */
const SLOT_VERSION = "1";

/** The slot of this state; null if it is more than a slot may hold. */
export function slotOf(workflow: Pick<AttachedWorkflow, "name">, kept: KeptState) {
  const { text } = plainText(kept, WORKFLOW_SLOT_BYTES_MAX);
  if (text === undefined) return null;
  const payload = new TextEncoder().encode(text);
  return { owner: slotOwnerOf(workflow), version: SLOT_VERSION, payload };
}

/** Null for what no server has written so. */
export function readSlot({ version, payload }: WorkflowSlot): KeptState | null {
  if (version !== SLOT_VERSION) return null;
  const kept = parsed(new TextDecoder().decode(payload));
  return isKept(kept) ? kept : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What was parsed from JSON is plain data all through. */
function isKept(value: unknown): value is KeptState {
  if (!isObject(value)) return false;
  const { slotVersion, ctx, results, visits } = value;
  const isCounted = isObject(visits) && Object.values(visits).every(Number.isSafeInteger);
  return Number.isSafeInteger(slotVersion) && isObject(ctx) && isObject(results) && isCounted;
}
