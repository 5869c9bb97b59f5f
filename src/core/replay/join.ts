import { type AgentUpdate, chunkText, parentToolCallId } from "../agent-update.ts";
import { isObject, objectAt, stringAt } from "../json.ts";
import type { Numbered, SessionEvent } from "../session/event.ts";
import { terminalOutputs, withOutput, withoutDeltas } from "../terminal-output.ts";

export type LogEvent = Numbered<SessionEvent>;
export type UpdateEvent = Numbered<SessionEvent<"session_update">>;

/** Updates that become one, in the order of the log. */
export type UpdateEvents = readonly [UpdateEvent, ...UpdateEvent[]];

/** The text that an update carries, if it is of a kind that text can be joined onto. */
export function joinableText(update: AgentUpdate): string | null {
  if (isDiscrete(update)) return null;
  return update.sessionUpdate === "shell_output" ? stringAt(update, "output") : chunkText(update);
}

/** Marked by its agent as a message of its own, which joining would blur. */
function isDiscrete(update: AgentUpdate): boolean {
  return objectAt(update, "_meta")?.qwenDiscreteMessage === true;
}

/** Whether the later text continues the earlier one: same kind, same message, same sub-agent. */
export function continues(earlier: AgentUpdate, later: AgentUpdate): boolean {
  return (
    joinableText(earlier) !== null &&
    joinableText(later) !== null &&
    messageKey(earlier) === messageKey(later)
  );
}

/**
 * What two texts must have in common to be one: the kind, the sub-agent, the message, the records
 * and the shell command. No message id and a null one are the same.
 */
export function messageKey(update: AgentUpdate): string {
  const { sessionUpdate, messageId = null } = update;
  const shellId = objectAt(update, "_meta")?.shellId ?? null;
  const parent = parentToolCallId(update);
  return JSON.stringify([sessionUpdate, parent, messageId, recordIds(update), shellId]);
}

/** The wire's source-record ids, at the place in `_meta` where Qwen Code puts them. */
function recordIds(update: AgentUpdate): readonly unknown[] | null {
  const meta = objectAt(update, "_meta");
  const ids = meta && objectAt(meta, "qwenTranscript")?.sourceRecordIds;
  return Array.isArray(ids) && ids.length > 0 ? ids : null;
}

/** Their texts in order, everything else as it was last said. */
export function join(events: UpdateEvents): UpdateEvent {
  const text = events.map(({ data }) => joinableText(data.update) ?? "").join("");
  const merged = merge(events, "says nothing");
  return withUpdate(merged, withText(merged.data.update, text));
}

function withText(update: AgentUpdate, text: string): AgentUpdate {
  if (update.sessionUpdate === "shell_output") return { ...update, output: text };
  const { content } = update;
  return { ...update, content: { ...(isObject(content) ? content : {}), type: "text", text } };
}

/**
 * One tool call in the state it came to, with all that its commands wrote: pieces of output are
 * put together, however often the agent has replaced what the call contains. It stays
 * under the parent that it began under.
 */
export function collapse(events: UpdateEvents): UpdateEvent {
  const merged = merge(events, "says nothing");
  const state: AgentUpdate = { ...merged.data.update, sessionUpdate: "tool_call" };
  const call = withTerminals(state, events);
  const parent = parentToolCallId(events[0].data.update);
  if (parent === null) return withUpdate(merged, call);
  return withUpdate(merged, {
    ...call,
    _meta: { ...objectAt(call, "_meta"), parentToolCallId: parent },
  });
}

function withTerminals(call: AgentUpdate, events: UpdateEvents): AgentUpdate {
  const outputs = terminalOutputs(events.map(({ data }) => data.update));
  if (outputs.size === 0) return call;
  return { ...withoutDeltas(call), content: withOutput(call.content, outputs) };
}

/** What a row of partial updates amounts to, of a kind where null clears a field. */
export function patch(events: UpdateEvents): UpdateEvent {
  return merge(events, "clears");
}

/**
 * One event in place of many: the last, with what it leaves out as it was said before. It gathers
 * in maps, as an agent may say something new each time: objects spread one after the other would
 * make a long turn cost its length squared.
 */
function merge(events: UpdateEvents, whatNullDoes: "clears" | "says nothing"): UpdateEvent {
  const fields = new Map<string, unknown>();
  let meta: Map<string, unknown> | null = null;
  let [merged] = events;
  for (const event of events) {
    const { update } = event.data;
    for (const [key, value] of Object.entries(update)) {
      if (value !== null || whatNullDoes === "clears" || !fields.has(key)) fields.set(key, value);
    }
    const said = objectAt(update, "_meta");
    if (said !== null) {
      meta ??= new Map();
      for (const [key, value] of Object.entries(said)) meta.set(key, value);
    }
    merged = { ...merged, ...event };
  }
  const { sessionUpdate } = merged.data.update;
  const update = { ...Object.fromEntries(fields), sessionUpdate };
  return withUpdate(merged, meta ? { ...update, _meta: Object.fromEntries(meta) } : update);
}

function withUpdate(event: UpdateEvent, update: AgentUpdate): UpdateEvent {
  return { ...event, data: { ...event.data, update } };
}
