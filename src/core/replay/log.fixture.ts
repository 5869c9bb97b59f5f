import type { AgentUpdate } from "../agent-update.ts";
import { objectAt, stringAt } from "../json.ts";
import type { EventData, EventType, Stamp } from "../session/event.ts";
import { promptId, sessionId } from "../session/life.fixture.ts";
import type { LogEvent, UpdateEvent } from "./compact.ts";
import { joinedTurns } from "./stored.ts";
import { newestTurns, type ReplayEvent } from "./window.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One event of a log of session `s`. Only what a test is about has to be given. */
export function event<Type extends EventType>(
  id: number,
  type: Type,
  data: Partial<EventData[Type]> = {},
  stamp: Stamp = {},
): LogEvent {
  return strange(id, type, data, stamp);
}

/** An event of a type that this version need not know. */
export function strange(id: number, type: string, data: object = {}, stamp: Stamp = {}): LogEvent {
  const _meta = { serverTimestamp: id * 10 };
  const made: unknown = { id, v: 1, type, data: { sessionId: "s", ...data }, _meta, ...stamp };
  return made as LogEvent;
}

export function updated(id: number, update: AgentUpdate, stamp: Stamp = {}): UpdateEvent {
  const data = { sessionId: sessionId("s"), update };
  return { id, v: 1, type: "session_update", data, _meta: { serverTimestamp: id * 10 }, ...stamp };
}

const chunkOf =
  (sessionUpdate: string) =>
  (id: number, text: string, more: Fields = {}) =>
    updated(id, { sessionUpdate, content: { type: "text", text }, ...more });

export const message = chunkOf("agent_message_chunk");
export const thought = chunkOf("agent_thought_chunk");
export const echo = chunkOf("user_message_chunk");

export function image(id: number, data: string, more: Fields = {}): UpdateEvent {
  const content = { type: "image", mimeType: "image/png", data };
  return updated(id, { sessionUpdate: "agent_message_chunk", content, ...more });
}

/** Said by a sub-agent at work under the given tool call. */
export const under = (parentToolCallId: string, meta: Fields = {}) => ({
  _meta: { parentToolCallId, ...meta },
});

export function toolCall(id: number, toolCallId: string, more: Fields = {}): UpdateEvent {
  return updated(id, { sessionUpdate: "tool_call", toolCallId, ...more });
}

export function toolUpdate(id: number, toolCallId: string, more: Fields = {}): UpdateEvent {
  return updated(id, { sessionUpdate: "tool_call_update", toolCallId, ...more });
}

export function verdict(id: number, prompt = "p1"): LogEvent {
  return event(id, "turn_complete", { stopReason: "end_turn", promptId: promptId(prompt) });
}

export const ids = (events: readonly ReplayEvent[]) =>
  events.map((one) => (one.type === "history_truncated" ? null : one.id));

/** Events in brief, as `id kind "text"`, with the call they stand under, if they do. */
export const brief = (events: readonly ReplayEvent[]) => events.map(inBrief);

function inBrief(one: ReplayEvent): string {
  if (one.type === "history_truncated") return one.type;
  if (one.type !== "session_update") return `${one.id} ${one.type}`;
  const { update } = one.data;
  const text = stringAt(objectAt(update, "content") ?? {}, "text") ?? stringAt(update, "output");
  const parent = objectAt(update, "_meta")?.parentToolCallId;
  const said = text === null ? "" : ` "${text}"`;
  return `${one.id} ${update.sessionUpdate}${said}${parent ? ` of ${parent}` : ""}`;
}

/** Freezes a value through and through, so that a write to it throws. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

/** The finished part of a replay of these turns, as it would be stored, sent and read. */
export function compactedReplay(
  segments: readonly (readonly LogEvent[])[],
  maxBytes?: number,
): readonly ReplayEvent[] {
  const bytesOf = (event: LogEvent) => Buffer.byteLength(JSON.stringify(event));
  const turns = segments.map((events) => ({
    text: JSON.stringify(events),
    bytes: events.reduce((bytes, event) => bytes + bytesOf(event), 0),
  }));
  const { kept, cut } = newestTurns(turns, maxBytes);
  return JSON.parse(joinedTurns(kept, cut).join(""));
}
