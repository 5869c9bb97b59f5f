import { type AgentUpdate, chunkText, parentToolCallId, planIdOf } from "../agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../json.ts";
import type { Numbered, SessionEvent } from "../session/event.ts";
import { foldOf } from "../session/event-table.ts";
import { terminalOutputs, withOutput, withoutDeltas } from "../terminal-output.ts";

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
  if (fold === "drop") return;
  if (fold === "latest" || fold === "patch") {
    const key = `${update.sessionUpdate} ${parentToolCallId(update) ?? ""}`;
    return fold === "latest" ? slots.replace(key, event) : slots.gather("patch", key, event);
  }
  const planId = fold === "plan" ? planIdOf(update) : null;
  if (planId !== null) return slots.replace(`plan ${planId}`, event);
  const compactionId = fold === "compaction" ? stringAt(update, "compactionId") : null;
  if (compactionId !== null) return slots.gather("compaction", compactionId, event);
  if (fold === "join" && joinableText(update) !== null) return slots.gatherText(event);
  const toolCallId = fold === "collapse" ? stringAt(update, "toolCallId") : null;
  if (toolCallId) return slots.gather("tool", toolCallId, event);
  return slots.add(event);
}

/** What one place of the folded segment holds: an event, or what will be folded into one. */
type FoldSlot =
  | { readonly kind: "event"; event: LogEvent }
  | { readonly kind: keyof typeof FOLDED; readonly events: [UpdateEvent, ...UpdateEvent[]] };

const FOLDED = { text: join, tool: collapse, patch, compaction: foldCompaction } as const;

/**
 * The places of a segment, in order. Text joins the last place, and not the last event: an event
 * that was dropped, or that went to an earlier place, has not come between.
 */
class Slots {
  readonly #slots: FoldSlot[] = [];
  readonly #byKey = new Map<string, FoldSlot>();
  readonly #textsByParent = new Map<string, Map<string, FoldSlot>>();

  add(event: LogEvent) {
    this.#open({ kind: "event", event }, event);
  }

  replace(key: string, event: LogEvent) {
    const slot = this.#byKey.get(`latest ${key}`);
    if (slot?.kind === "event") slot.event = event;
    else this.#byKey.set(`latest ${key}`, this.#open({ kind: "event", event }, event));
  }

  gather(kind: "tool" | "patch" | "compaction", key: string, event: UpdateEvent) {
    const slot = this.#byKey.get(`${kind} ${key}`);
    if (slot?.kind === kind) slot.events.push(event);
    else this.#byKey.set(`${kind} ${key}`, this.#open({ kind, events: [event] }, event));
  }

  /** A sub-agent's text gathers under its call, across other texts in between. */
  gatherText(event: UpdateEvent) {
    const { update } = event.data;
    const parent = parentToolCallId(update);
    const slot =
      parent === null
        ? this.#slots.at(-1)
        : this.#textsByParent.get(parent)?.get(messageKey(update));
    // Text between turns and text in a turn are not one text.
    const isOfPrompt = slot?.kind === "text" && slot.events[0].promptId === event.promptId;
    if (isOfPrompt && continues(slot.events[0].data.update, update)) {
      slot.events.push(event);
      return;
    }
    const opened: FoldSlot = { kind: "text", events: [event] };
    this.#slots.push(opened);
    if (parent === null) return;
    const texts = this.#textsByParent.get(parent) ?? new Map<string, FoldSlot>();
    this.#textsByParent.set(parent, texts.set(messageKey(update), opened));
  }

  /** What a sub-agent does ends what it was saying: the order of the two is its story. */
  #open(slot: FoldSlot, event: LogEvent): FoldSlot {
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
 * - `patch`: one per turn, in which each field has its latest value. ACP lets an agent leave out
 *   of `session_info_update` what has not changed, so the latest alone may have lost the title.
 * - `plan`: the latest of each plan; a plan that was removed is its removal.
 * - `compaction`: one for each, with its whole summary.
 * - `drop`: of the moment only. What people should find later is repeated as text.
 */
export type UpdateFold =
  | "keep"
  | "latest"
  | "join"
  | "collapse"
  | "patch"
  | "plan"
  | "compaction"
  | "drop";

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
  ["plan_update", "plan"],
  ["plan_removed", "plan"],
  ["compaction_update", "compaction"],
  ["compaction_summary_chunk", "compaction"],
  ["notice", "drop"],
]);

export function updateFold(sessionUpdate: string): UpdateFold {
  return UPDATE_FOLD.get(sessionUpdate) ?? "keep";
}

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
  const meta = objectAt(update, "_meta");
  // Nearly every chunk says nothing else, and a long turn has a hundred thousand of them.
  if (messageId === null && meta === null) return sessionUpdate;
  const parts = [messageId, parentToolCallId(update), recordIds(meta), meta?.shellId ?? null];
  if (parts.every((part) => part === null)) return sessionUpdate;
  return JSON.stringify([sessionUpdate, ...parts]);
}

/** The wire's source-record ids, at the place in `_meta` where Qwen Code puts them. */
function recordIds(meta: JsonObject | null): readonly unknown[] | null {
  const ids = meta && objectAt(meta, "qwenTranscript")?.sourceRecordIds;
  return Array.isArray(ids) && ids.length > 0 ? ids : null;
}

/** Their texts in order, everything else with its latest value. */
export function join(events: UpdateEvents): UpdateEvent {
  const text = events.map(({ data }) => joinableText(data.update) ?? "").join("");
  const merged = merge(events, "says nothing");
  return withUpdate(merged, withText(merged.data.update, text));
}

/** What words come to that went on with this text; the latest event with it has any text. */
export function joinedWords(first: UpdateEvent, latest: UpdateEvent, text: string): UpdateEvent {
  return join([first, withUpdate(latest, withText(latest.data.update, text))]);
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

/** One compaction of the agent's context, in the state it came to. */
function foldCompaction(events: UpdateEvents): UpdateEvent {
  const latest = events.at(-1) ?? events[0];
  return withUpdate(
    { ...events[0], ...latest },
    compactionOf(events.map(({ data }) => data.update)),
  );
}

/**
 * What the updates of one context compaction amount to: its latest status, and its summary from
 * all pieces. ACP has it that a field which is left out stays, that null clears it, and that a
 * piece of the summary is appended.
 */
function compactionOf(updates: readonly AgentUpdate[]): AgentUpdate {
  const fields = new Map<string, unknown>([["status", "in_progress"]]);
  let summary: Summary | null = null;
  for (const { content, summary: whole, sessionUpdate, ...said } of updates) {
    for (const [key, value] of Object.entries(said)) fields.set(key, value);
    if (sessionUpdate === "compaction_summary_chunk") {
      summary ??= new Summary();
      summary.add(content);
    } else if (whole !== undefined) {
      summary = new Summary();
      for (const block of Array.isArray(whole) ? whole : []) summary.add(block);
    }
  }
  return {
    ...Object.fromEntries(fields),
    sessionUpdate: "compaction_update",
    ...(summary !== null && { summary: summary.blocks }),
  };
}

/** Content blocks in order; texts that follow each other are one block. */
class Summary {
  readonly #blocks: (JsonObject | string[])[] = [];

  add(block: unknown) {
    if (!isObject(block)) return;
    const text = isPlainText(block) ? stringAt(block, "text") : null;
    const last = this.#blocks.at(-1);
    if (text === null) this.#blocks.push(block);
    else if (Array.isArray(last)) last.push(text);
    else this.#blocks.push([text]);
  }

  get blocks(): readonly JsonObject[] {
    return this.#blocks.map((block) => {
      return Array.isArray(block) ? { type: "text", text: block.join("") } : block;
    });
  }
}

/** A text with nothing else that a joined block would lose. */
function isPlainText(block: JsonObject): boolean {
  return block.type === "text" && Object.keys(block).length === 2;
}

/**
 * One event in place of many: the last, with what it leaves out from those before. It gathers
 * in maps, as an agent may say something new each time: objects spread one after the other would
 * make a long turn cost its length squared.
 */
function merge(events: UpdateEvents, whatNullDoes: "clears" | "says nothing"): UpdateEvent {
  const fields = new Map<string, unknown>();
  let meta: Map<string, unknown> | null = null;
  const merged = { ...events[0] };
  for (const event of events) {
    const { update } = event.data;
    for (const key of Object.keys(update)) {
      const value = update[key];
      if (value !== null || whatNullDoes === "clears" || !fields.has(key)) fields.set(key, value);
    }
    const said = objectAt(update, "_meta");
    if (said !== null) {
      meta ??= new Map();
      for (const [key, value] of Object.entries(said)) meta.set(key, value);
    }
    Object.assign(merged, event);
  }
  const { sessionUpdate } = merged.data.update;
  const update = { ...Object.fromEntries(fields), sessionUpdate };
  return withUpdate(merged, meta ? { ...update, _meta: Object.fromEntries(meta) } : update);
}

function withUpdate(event: UpdateEvent, update: AgentUpdate): UpdateEvent {
  return { ...event, data: { ...event.data, update } };
}
