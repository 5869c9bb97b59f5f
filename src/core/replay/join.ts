import { type AgentUpdate, chunkText, parentToolCallId } from "../agent-update.ts";
import { isObject, objectAt, stringAt } from "../json.ts";
import type { Numbered, SessionEvent } from "../session/event.ts";

export type LogEvent = Numbered<SessionEvent>;
export type UpdateEvent = Numbered<SessionEvent<"session_update">>;

/** The text that an update carries, if it is of a kind that text can be joined onto. */
export function joinableText(update: AgentUpdate): string | null {
  if (update.sessionUpdate === "shell_output") return stringAt(update, "output");
  return isDiscrete(update) ? null : chunkText(update);
}

/** Marked by its agent as a message of its own, which joining would blur. */
function isDiscrete(update: AgentUpdate): boolean {
  return objectAt(update, "_meta")?.qwenDiscreteMessage === true;
}

/** Whether the later text continues the earlier one: same kind, same message, same sub-agent. */
export function continues(earlier: AgentUpdate, later: AgentUpdate): boolean {
  return (
    earlier.sessionUpdate === later.sessionUpdate &&
    earlier.messageId === later.messageId &&
    parentToolCallId(earlier) === parentToolCallId(later) &&
    recordId(earlier) === recordId(later) &&
    joinableText(earlier) !== null &&
    joinableText(later) !== null
  );
}

function recordId(update: AgentUpdate): unknown {
  return objectAt(update, "_meta")?.sourceRecordId;
}

/** One event for many: their texts in order, everything else as the last of them has it. */
export function join(events: readonly [UpdateEvent, ...UpdateEvent[]]): UpdateEvent {
  const [first] = events;
  const text = events.map(({ data }) => joinableText(data.update) ?? "").join("");
  const merged = events.slice(1).reduce((before, after) => merge(before, after), first);
  return withUpdate(merged, withText(merged.data.update, text));
}

function withText(update: AgentUpdate, text: string): AgentUpdate {
  if (update.sessionUpdate === "shell_output") return { ...update, output: text };
  const { content } = update;
  return { ...update, content: { ...(isObject(content) ? content : {}), type: "text", text } };
}

/** The later event in the earlier one's place: what it does not say stays as it was said before. */
export function merge(before: UpdateEvent, after: UpdateEvent): UpdateEvent {
  const update = { ...before.data.update, ...said(after.data.update) };
  return withUpdate({ ...before, ...after }, withMeta(update, before, after));
}

function said(update: AgentUpdate): AgentUpdate {
  const entries = Object.entries(update).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(entries), sessionUpdate: update.sessionUpdate };
}

function withMeta(update: AgentUpdate, before: UpdateEvent, after: UpdateEvent): AgentUpdate {
  const older = objectAt(before.data.update, "_meta");
  const newer = objectAt(after.data.update, "_meta");
  return older === null && newer === null ? update : { ...update, _meta: { ...older, ...newer } };
}

export function withUpdate(event: UpdateEvent, update: AgentUpdate): UpdateEvent {
  return { ...event, data: { ...event.data, update } };
}
