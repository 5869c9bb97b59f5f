import { parentToolCallId } from "../agent-update.ts";
import { stringAt } from "../json.ts";
import { FOLD, updateFold } from "./fold.ts";
import {
  continues,
  join,
  joinableText,
  type LogEvent,
  merge,
  type UpdateEvent,
  withUpdate,
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
    if (FOLD[event.type] !== "boundary") continue;
    segments.push(compactSegment(open));
    open = [];
  }
  return { segments, open };
}

/** Folds one finished segment: the events after the last verdict up to and with the next. */
export function compactSegment(events: readonly LogEvent[]): readonly LogEvent[] {
  const slots = new Slots();
  for (const event of events) {
    const fold = FOLD[event.type] ?? "keep"; // A newer version's event is kept.
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
  if (fold === "latest") return slots.replace(`update ${update.sessionUpdate}`, event);
  if (fold === "join" && joinableText(update) !== null) return slots.addText(event);
  const toolCallId = fold === "collapse" ? stringAt(update, "toolCallId") : null;
  if (toolCallId !== null) return slots.addToolCall(toolCallId, event);
  return slots.add(event);
}

/** What one place of the folded segment holds: text still being gathered, or one event. */
type Slot =
  | { kind: "text"; readonly events: [UpdateEvent, ...UpdateEvent[]] }
  | { kind: "tool"; event: UpdateEvent }
  | { kind: "event"; event: LogEvent };

/**
 * The places of a segment, in order. Text joins the last place, and not the last event: an event
 * that was dropped, or that went to an earlier place, has not come between.
 */
class Slots {
  readonly #slots: Slot[] = [];
  readonly #byKey = new Map<string, Slot>();

  add(event: LogEvent) {
    this.#slots.push({ kind: "event", event });
  }

  replace(key: string, event: LogEvent) {
    const slot = this.#byKey.get(`latest ${key}`);
    if (slot?.kind === "event") slot.event = event;
    else this.#open(`latest ${key}`, { kind: "event", event });
  }

  /** A sub-agent's text gathers under its call, however the main agent talks in between. */
  addText(event: UpdateEvent) {
    const parent = parentToolCallId(event.data.update);
    const key = `text ${event.data.update.sessionUpdate} ${parent}`;
    const slot = parent === null ? this.#slots.at(-1) : this.#byKey.get(key);
    if (slot?.kind === "text" && continues(slot.events[0].data.update, event.data.update)) {
      slot.events.push(event);
    } else this.#open(key, { kind: "text", events: [event] });
  }

  addToolCall(toolCallId: string, event: UpdateEvent) {
    const slot = this.#byKey.get(`tool ${toolCallId}`);
    if (slot?.kind === "tool") slot.event = asToolCall(merge(slot.event, event));
    else this.#open(`tool ${toolCallId}`, { kind: "tool", event: asToolCall(event) });
  }

  #open(key: string, slot: Slot) {
    this.#slots.push(slot);
    this.#byKey.set(key, slot);
  }

  emit(): readonly LogEvent[] {
    return this.#slots.map((slot) => (slot.kind === "text" ? join(slot.events) : slot.event));
  }
}

function asToolCall(event: UpdateEvent): UpdateEvent {
  return withUpdate(event, { ...event.data.update, sessionUpdate: "tool_call" });
}
