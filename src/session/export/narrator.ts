import type { PromptId } from "../../core/id.ts";
import { compactSegment } from "../../core/replay/compact.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { StoredRecord } from "../../store/store.ts";
import type { Exported } from "./export.ts";
import { narrated, note } from "./narration.ts";
import { code, type Passage, type Words } from "./passage.ts";
import { type PastPart, pastParts } from "./past.ts";
import { storedEvent, turnEvents } from "./stored-event.ts";

/** What a person wants to read: who was asked what, when, and what came of it. */
export async function* passages({ source, record }: Exported): AsyncGenerator<Passage> {
  const narrator = new Narrator();
  for await (const part of pastParts(source, record)) yield* passagesOf(part, narrator);
}

/** What stands above all passages. */
export function opening(record: StoredRecord): { readonly title: string; readonly words: Words } {
  const { displayName, sessionId, workspaceCwd, createdAtMs, updatedAtMs } = record;
  const times = `begun ${instant(createdAtMs)}, last changed ${instant(updatedAtMs)}.`;
  return {
    title: displayName?.trim() || `Session ${sessionId}`,
    words: ["Session ", code(sessionId), " in ", code(workspaceCwd), `,\n${times}`],
  };
}

export function instant(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "at an unknown time";
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function* passagesOf(part: PastPart, narrator: Narrator): Generator<Passage> {
  if (part.kind === "missing") {
    yield note(`${part.notice.data.truncatedEvents} events here are not kept any more.`);
    return;
  }
  const isTurn = part.kind === "turn";
  // Raw events are folded page by page, so that a turn at work reads like one that has ended.
  const events = isTurn ? turnEvents(part.turn) : compactSegment(part.events.map(storedEvent));
  for (const event of events) yield* narrator.tell(event);
}

/** Remembers which prompt is being told, and the words of those that wait. */
class Narrator {
  #prompt: PromptId | null = null;
  #prompts = 0;
  /** The numbers of the prompts that were told of and have no verdict yet. */
  readonly #numbers = new Map<PromptId, number>();
  /** By prompt; a prompt leaves with its verdict, so these are as few as may wait. */
  readonly #waiting = new Map<PromptId, string>();

  *tell(event: LogEvent): Generator<Passage> {
    if (event.type === "pending_prompt_added") {
      this.#waiting.set(event.data.promptId, event.data.text);
    }
    const passage = narrated(event);
    if (passage !== null || isVerdict(event)) yield* this.#newPart(event);
    if (passage !== null) yield passage;
    if (!isVerdict(event)) return;
    this.#waiting.delete(event.data.promptId);
    this.#numbers.delete(event.data.promptId);
  }

  /** What belongs to another prompt than what was told last begins a new part. */
  *#newPart(event: LogEvent): Generator<Passage> {
    const { promptId } = event;
    if (promptId === undefined || promptId === this.#prompt) return;
    this.#prompt = promptId;
    const known = this.#numbers.get(promptId);
    const number = known ?? this.#prompts + 1;
    this.#prompts = Math.max(this.#prompts, number);
    this.#numbers.set(promptId, number);
    const isContinued = known !== undefined;
    yield { kind: "part", number, atMs: event._meta.serverTimestamp, isContinued };
    // A prompt that never ran was never shown; what is known of it are the words it waited with.
    const words = isVerdict(event) ? this.#waiting.get(promptId) : undefined;
    if (words !== undefined) yield { kind: "said", by: "user", markdown: words };
  }
}

function isVerdict(event: LogEvent) {
  return event.type === "turn_complete" || event.type === "turn_error";
}
