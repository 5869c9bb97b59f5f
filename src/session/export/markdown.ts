import type { PromptId } from "../../core/id.ts";
import { compactSegment } from "../../core/replay/compact.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { StoredRecord } from "../../store/store.ts";
import type { Exported } from "./export.ts";
import { codeSpan, inline, prose, quoted } from "./markdown-text.ts";
import { narrated, note } from "./narration.ts";
import { type PastPart, pastParts } from "./past.ts";
import { storedEvent, turnEvents } from "./stored-event.ts";

/** What a person wants to read: who was asked what, when, and what came of it. */
export async function* markdown({ source, record }: Exported) {
  yield `${opening(record)}\n`;
  const narrator = new Narrator();
  for await (const part of pastParts(source, record)) {
    for (const paragraph of paragraphsOf(part, narrator)) yield `\n${paragraph}\n`;
  }
}

function opening(record: StoredRecord): string {
  const { displayName, sessionId, workspaceCwd, createdAtMs, updatedAtMs } = record;
  return [
    `# ${inline(displayName ?? "") || `Session ${inline(sessionId)}`}`,
    "",
    `Session ${codeSpan(sessionId)} in ${codeSpan(workspaceCwd)},`,
    `begun ${instant(createdAtMs)}, last changed ${instant(updatedAtMs)}.`,
  ].join("\n");
}

function instant(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "at an unknown time";
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function* paragraphsOf(part: PastPart, narrator: Narrator): Generator<string> {
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
  /** By prompt; a prompt leaves with its verdict, so these are as few as may wait. */
  readonly #waiting = new Map<PromptId, string>();

  *tell(event: LogEvent): Generator<string> {
    if (event.type === "pending_prompt_added") {
      this.#waiting.set(event.data.promptId, event.data.text);
    }
    const text = narrated(event);
    if (text !== null || isVerdict(event)) yield* this.#heading(event);
    if (text !== null) yield text;
    if (isVerdict(event)) this.#waiting.delete(event.data.promptId);
  }

  /** What belongs to another prompt than what was told last begins a new part. */
  *#heading(event: LogEvent): Generator<string> {
    const { promptId } = event;
    if (promptId === undefined || promptId === this.#prompt) return;
    this.#prompt = promptId;
    this.#prompts += 1;
    yield `## ${this.#prompts}. ${instant(event._meta.serverTimestamp)}`;
    // A prompt that never ran was never shown; what is known of it are the words it waited with.
    const words = isVerdict(event) ? this.#waiting.get(promptId) : undefined;
    if (words !== undefined) yield quoted(prose(words));
  }
}

function isVerdict(event: LogEvent) {
  return event.type === "turn_complete" || event.type === "turn_error";
}
