import type { MessagePort } from "node:worker_threads";
import { isObject } from "../../core/json.ts";
import {
  EXTENSION_ANSWER_BYTES_MAX,
  EXTENSION_NOTES_MAX,
  EXTENSION_SAID_CHARS_MAX,
  EXTENSION_SLOT_BYTES_MAX,
} from "../../core/limits.ts";
import type { LifeStep } from "../../platform/life.ts";
import type { SessionFacts } from "../contract.ts";
import type { HookName } from "../hook.ts";
import type { SlotDeclaration } from "../manifest.ts";
import type { PlainData } from "../plain-data.ts";

/** What the thread of an extension begins with. */
export interface ThreadStart {
  /** The only way out of the thread. The extension's own code cannot reach it. */
  readonly port: MessagePort;
  /** The address of the extension's module. */
  readonly module: string;
  readonly id: string;
  /** JSON texts, so that nothing shared or live crosses over. */
  readonly config: string;
  readonly slot: string | null;
  readonly stateSlot: SlotDeclaration | null;
  /** Those that its manifest has. */
  readonly hooks: readonly HookName[];
  readonly session: SessionFacts;
}

/** What a thread can be asked for: to load its module and make the extension, or to let it work. */
export type ThreadWork = LifeStep | "make" | "migrate" | "hook" | "event" | WorkflowWork;

/** What only a module of a workflow is asked for: its stages as data, one phase of a stage. */
type WorkflowWork = "plan" | "phase";

/** The phase that is meant is named as a hook is. */
export interface PhaseCall {
  /** Null is of the workflow itself. */
  readonly stageId: string | null;
  readonly told: readonly PlainData[];
}

/** `isLeftOut` where the module has no such function. */
export interface PhaseAnswer {
  readonly isLeftOut: boolean;
  readonly said: PlainData;
}

/** One call; the next is sent when this one is answered. */
export interface ExtensionCall {
  readonly n: number;
  readonly work: ThreadWork;
  /** Of the hook that is meant, if one is. */
  readonly hook?: string;
  /** A JSON text. */
  readonly about: string;
  /** What the slot is again after a turn that came to nothing; left out, the thread knows it. */
  readonly slot?: string | null;
}

/** Something that the extension did on the way, which the server writes down. */
export type ThreadNote =
  | { readonly kind: "log"; readonly text: string }
  | { readonly kind: "denied"; readonly text: string };

export interface ExtensionAnswer {
  readonly n: number;
  readonly isDone: boolean;
  /** The JSON text of what was answered, or the message of what was thrown. */
  readonly text: string;
  /** What it keeps from now on, if that has changed; null keeps nothing. */
  readonly slot?: string | null;
  readonly notes: readonly ThreadNote[];
}

/** What an answer may have beside a slot: a migrated slot comes as the answer itself. */
export const ANSWER_BYTES_MAX = EXTENSION_SLOT_BYTES_MAX + EXTENSION_ANSWER_BYTES_MAX;

/** An answer as it is expected; null is anything else that a thread may send. */
export function readAnswer(value: unknown): ExtensionAnswer | null {
  if (!isObject(value)) return null;
  const { n, isDone, text, slot, notes } = value;
  if (typeof n !== "number" || typeof isDone !== "boolean" || !isShort(text)) return null;
  if (!Array.isArray(notes) || notes.length > EXTENSION_NOTES_MAX) return null;
  if (!notes.every(isNote)) return null;
  const answer = { n, isDone, text, notes };
  if (slot === undefined) return answer;
  return slot === null || isShort(slot) ? { ...answer, slot } : null;
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= ANSWER_BYTES_MAX;
}

function isNote(value: unknown): value is ThreadNote {
  if (!isObject(value)) return false;
  const { kind, text } = value;
  const isKind = kind === "log" || kind === "denied";
  return isKind && typeof text === "string" && text.length <= EXTENSION_SAID_CHARS_MAX;
}
