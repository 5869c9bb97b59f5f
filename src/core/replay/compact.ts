import { parentToolCallId } from "../agent-update.ts";
import { stringAt } from "../json.ts";
import { foldOf } from "../session/event-table.ts";
import {
  collapse,
  continues,
  join,
  joinableText,
  type LogEvent,
  messageKey,
  patch,
  type UpdateEvent,
} from "./join.ts";

/** The finished turns of a log, each folded; and the events since, which no verdict has closed. */
export interface Compaction {
  readonly segments: readonly (readonly LogEvent[])[];
  readonly open: readonly LogEvent[];
}

/**
 * Folds a log. Any verdict closes a segment, also that of a prompt which never ran. Folding what
 * has been folded changes nothing, and no text is ever lost.
 */
export function compact(log: readonly LogEvent[]): Compaction {
  const segments: (readonly LogEvent[])[] = [];
  let open: LogEvent[] = [];
  for (const event of log) {
    open.push(event);
    if (foldOf(event.type) !== "boundary") continue;
    segments.push(compactSegment(open));
    open = [];
  }
  return { segments, open };
}

/** Folds one finished segment: the events after the last verdict up to and with the next. */
export function compactSegment(events: readonly LogEvent[]): readonly LogEvent[] {
  const slots = new Slots();
  for (const event of events) {
    const fold = foldOf(event.type);
    if (fold === "drop") continue;
    if (fold === "latest") slots.replace(event.type, event);
    else if (event.type === "session_update") foldUpdate(slots, event);
    else slots.add(event);
  }
  return slots.emit();
}

function foldUpdate(slots: Slots, event: UpdateEvent) {
  const { update } = event.data;
  const fold = updateFold(update.sessionUpdate);
  const key = `${update.sessionUpdate} ${parentToolCallId(update) ?? ""}`;
  if (fold === "latest") return slots.replace(key, event);
  if (fold === "patch") return slots.gather("patch", key, event);
  if (fold === "join" && joinableText(update) !== null) return slots.gatherText(event);
  const toolCallId = fold === "collapse" ? stringAt(update, "toolCallId") : null;
  if (toolCallId) return slots.gather("tool", toolCallId, event);
  return slots.add(event);
}

/** What one place of the folded segment holds: an event, or what will be folded into one. */
type Slot =
  | { readonly kind: "event"; event: LogEvent }
  | { readonly kind: keyof typeof FOLDED; readonly events: [UpdateEvent, ...UpdateEvent[]] };

const FOLDED = { text: join, tool: collapse, patch } as const;

/**
 * The places of a segment, in order. Text joins the last place, and not the last event: an event
 * that was dropped, or that went to an earlier place, has not come between.
 */
class Slots {
  readonly #slots: Slot[] = [];
  readonly #byKey = new Map<string, Slot>();
  readonly #textsByParent = new Map<string, Map<string, Slot>>();

  add(event: LogEvent) {
    this.#open({ kind: "event", event }, event);
  }

  replace(key: string, event: LogEvent) {
    const slot = this.#byKey.get(`latest ${key}`);
    if (slot?.kind === "event") slot.event = event;
    else this.#byKey.set(`latest ${key}`, this.#open({ kind: "event", event }, event));
  }

  gather(kind: "tool" | "patch", key: string, event: UpdateEvent) {
    const slot = this.#byKey.get(`${kind} ${key}`);
    if (slot?.kind === kind) slot.events.push(event);
    else this.#byKey.set(`${kind} ${key}`, this.#open({ kind, events: [event] }, event));
  }

  /** A sub-agent's text gathers under its call, whoever talks in between. */
  gatherText(event: UpdateEvent) {
    const { update } = event.data;
    const parent = parentToolCallId(update);
    const slot =
      parent === null
        ? this.#slots.at(-1)
        : this.#textsByParent.get(parent)?.get(messageKey(update));
    // What was said between turns and what was said in one are not one text.
    const isOfPrompt = slot?.kind === "text" && slot.events[0].promptId === event.promptId;
    if (isOfPrompt && continues(slot.events[0].data.update, update)) {
      slot.events.push(event);
      return;
    }
    const opened: Slot = { kind: "text", events: [event] };
    this.#slots.push(opened);
    if (parent === null) return;
    const texts = this.#textsByParent.get(parent) ?? new Map<string, Slot>();
    this.#textsByParent.set(parent, texts.set(messageKey(update), opened));
  }

  /** What a sub-agent does ends what it was saying: the order of the two is its story. */
  #open(slot: Slot, event: LogEvent): Slot {
    const parent = event.type === "session_update" ? parentToolCallId(event.data.update) : null;
    if (parent !== null) this.#textsByParent.delete(parent);
    this.#slots.push(slot);
    return slot;
  }

  emit(): readonly LogEvent[] {
    return this.#slots.map((slot) =>
      slot.kind === "event" ? slot.event : FOLDED[slot.kind](slot.events),
    );
  }
}

/**
 * How the kinds of a `session_update` fold; a kind not listed is kept. A sub-agent's updates are
 * not mixed with those of others.
 *
 * - `join`: text that goes on is one text.
 * - `collapse`: a tool call is one event, in the place of its first, in the state of its last.
 * - `patch`: one per turn, in which each field is as it was last said. ACP lets an agent leave out
 *   of `session_info_update` what has not changed, so the latest alone may have lost the title.
 */
export type UpdateFold = "keep" | "latest" | "join" | "collapse" | "patch";

const UPDATE_FOLD: ReadonlyMap<string, UpdateFold> = new Map([
  ["agent_message_chunk", "join"],
  ["agent_thought_chunk", "join"],
  ["shell_output", "join"],
  ["tool_call", "collapse"],
  ["tool_call_update", "collapse"],
  ["available_commands_update", "latest"],
  ["current_mode_update", "latest"],
  ["config_option_update", "latest"],
  ["session_info_update", "patch"],
  ["usage_update", "latest"],
  ["plan", "latest"],
]);

export function updateFold(sessionUpdate: string): UpdateFold {
  return UPDATE_FOLD.get(sessionUpdate) ?? "keep";
}
