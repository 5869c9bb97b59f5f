import type { PromptId } from "../../core/id.ts";
import {
  COMMAND_HISTORY_EVENTS_MAX,
  COMMAND_HISTORY_MAX,
  PAGE_ROWS_MAX,
  SLASH_SUMMARY_CHARS_MAX,
} from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SnapshotRef } from "../../core/session/state.ts";
import type { SkillEntry, SkillSnapshot } from "../../core/skill/skill.ts";
import { oneLine } from "../../core/slash/answer.ts";
import { modelFields } from "../../core/slash/reply.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { type ConversationMessage, readMessage } from "../conversation/message.ts";
import { readKnowledge } from "../knowledge.ts";
import type { LiveSession } from "../live.ts";
import { eventIn } from "../replay.ts";
import type { SessionWorld } from "../world.ts";
import { isoTime, summaryOfLive } from "./summary.ts";

export interface FieldsOptions {
  /** Includes the bodies of skills, which are long. */
  readonly isFull: boolean;
  /** Messages with a higher index than this one. */
  readonly after: number;
  readonly limit: number;
}

export interface ConversationState {
  readonly messages: readonly (ConversationMessage & { readonly index: number })[];
  readonly messageCount: number;
  /** The `after` of the next page, if there is one. */
  readonly nextCursor?: number;
  /** The indexes of messages that cannot be read; the others are in order (P6). */
  readonly unreadable?: readonly number[];
}

/**
 * Reads a session's fields, under their published names, of one moment: what is read from the
 * store never changes, or only grows.
 */
export async function sessionFields(
  world: Pick<SessionWorld, "store" | "known">,
  live: LiveSession,
  options: FieldsOptions,
) {
  const { store } = world;
  const { sessionId, chosen } = live.session;
  const { skills, persona } = chosen;
  const { createdAt, updatedAt } = summaryOfLive(live);
  const known = await readKnowledge(world, live.key.tenantId, chosen);
  if (!known.ok) return known;
  const history = await commandHistory(store, live.key, live.lastEventId);
  if (!history.ok) return history;
  const conversation = await conversationState(store, live, options);
  if (!conversation.ok) return conversation;
  return ok({
    v: 1,
    session_id: sessionId,
    active_agent: chosen.activeAgent,
    skill_snapshot: skillSnapshot(skills, known.value.skills, options.isFull),
    persona: { version: persona.version, hash: persona.hash, ...known.value.persona },
    model_config: modelFields(chosen.modelConfig),
    conversation_state: conversation.value,
    created_at: createdAt,
    last_updated_at: updatedAt,
    reload_count: skills.version - 1 + (persona.version - 1),
    command_history: history.value,
  });
}

function skillSnapshot({ version, hash }: SnapshotRef, snapshot: SkillSnapshot, isFull: boolean) {
  const { entries, diagnostics } = snapshot;
  const shown = isFull ? entries : entries.map(withoutBody);
  return { snapshot_version: version, hash, entries: shown, diagnostics };
}

function withoutBody({ body, ...entry }: SkillEntry) {
  return { ...entry, body_chars: body.length };
}

/** Reads a page of the conversation, oldest first. */
async function conversationState(
  store: SessionStore,
  { key }: LiveSession,
  { after, limit }: FieldsOptions,
): Promise<Result<ConversationState>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { messageCount } = record.value;
  const page = await store.readMessages(key, { after, limit });
  if (!page.ok) return page;
  const rows = page.value.rows.filter(({ id }) => id <= messageCount);
  const last = rows.at(-1)?.id ?? messageCount;
  const read = rows.map(({ id, text }) => ({ index: id, message: readMessage(text) }));
  const messages = read.flatMap(({ index, message }) => (message ? [{ index, ...message }] : []));
  const unreadable = read.flatMap(({ index, message }) => (message ? [] : [index]));
  return ok({
    messages,
    messageCount,
    ...(last < messageCount && { nextCursor: last }),
    ...(unreadable.length > 0 && { unreadable }),
  });
}

/** A slash command that was answered. */
export interface AnsweredCommand {
  /** As the client sent it; null if that was longer ago than the server searches. */
  readonly command: string | null;
  readonly code: string;
  readonly at: string;
}

/**
 * Returns the slash commands in the last events of the log, oldest first. The text of a command is
 * in its prompt and not in its answer, and a folded turn keeps only the answer; so only the last
 * raw events are searched.
 */
export async function commandHistory(
  store: Pick<SessionStore, "readEvents">,
  key: SessionKey,
  lastEventId: number,
): Promise<Result<readonly AnsweredCommand[]>> {
  const lines = new Map<PromptId, string>();
  const answered: AnsweredCommand[] = [];
  let after = Math.max(0, lastEventId - COMMAND_HISTORY_EVENTS_MAX);
  while (after < lastEventId) {
    const limit = Math.min(PAGE_ROWS_MAX, lastEventId - after);
    const page = await store.readEvents(key, { after, limit });
    if (!page.ok) return page;
    for (const stored of page.value.events) {
      const isWanted = WANTED.some((type) => stored.text.includes(type));
      if (isWanted) note(eventIn(stored), lines, answered);
    }
    after = page.value.events.at(-1)?.id ?? lastEventId;
  }
  return ok(answered.slice(-COMMAND_HISTORY_MAX));
}

const WANTED = ['"prompt_admitted"', '"command_result"'];

function note(event: LogEvent, lines: Map<PromptId, string>, answered: AnsweredCommand[]) {
  if (event.type === "prompt_admitted") {
    const { promptId, text } = event.data;
    if (text.startsWith("/")) lines.set(promptId, oneLine(text, SLASH_SUMMARY_CHARS_MAX));
  }
  if (event.type === "command_result") {
    const { promptId, code } = event.data;
    const at = isoTime(event._meta.serverTimestamp);
    answered.push({ command: lines.get(promptId) ?? null, code, at });
  }
}
