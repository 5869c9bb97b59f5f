import { type AgentUpdate, parentToolCallId } from "../../core/agent-update.ts";
import {
  PAGE_ROWS_MAX,
  TURN_STATUS_READ_CHARS_MAX,
  UPDATE_SEARCH_TURNS_MAX,
} from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { eventIn, eventsIn } from "../replay.ts";

/** What a look at the past is for, and how far back it goes at most. */
interface Search {
  readonly text: string;
  readonly turnsMax: number;
}

/**
 * Goes back through the finished turns, newest first, and shows those in which the text stands,
 * until whoever looks has seen enough. Neither far nor much: it is for what was a while ago.
 */
export async function lookBack(
  store: SessionStore,
  key: SessionKey,
  { text, turnsMax }: Search,
  look: (turn: readonly LogEvent[]) => boolean,
): Promise<Result<void>> {
  let before = Number.MAX_SAFE_INTEGER;
  let turnsLeft = turnsMax;
  let charsLeft = TURN_STATUS_READ_CHARS_MAX;
  while (turnsLeft > 0 && charsLeft > 0) {
    const page = await store.readTurns(key, { before, limit: Math.min(turnsLeft, TURNS_AT_ONCE) });
    if (!page.ok) return page;
    for (const turn of page.value.rows) {
      before = turn.firstId;
      turnsLeft -= 1;
      charsLeft -= turn.text.length;
      if (turn.text.includes(text) && look(eventsIn(turn))) return DONE;
    }
    if (!page.value.more) return DONE;
  }
  return DONE;
}

const TURNS_AT_ONCE = 8;

/**
 * What has happened since the last finished turn, as far as this text stands in it. That is one
 * turn at most, and turns have a limit of their own.
 */
export async function sinceLastTurn(
  store: SessionStore,
  key: SessionKey,
  text: string,
): Promise<Result<readonly LogEvent[]>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const found: LogEvent[] = [];
  const { snapshotEventId, lastEventId } = record.value;
  for (let after = snapshotEventId; after < lastEventId; ) {
    const page = await store.readEvents(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    const { events } = page.value;
    found.push(...events.filter((stored) => stored.text.includes(text)).map(eventIn));
    after = events.at(-1)?.id ?? lastEventId;
  }
  return ok(found);
}

/**
 * What an agent last said of this kind, as the log has it: since the last finished turn, or else
 * in the turns before, newest first. What it said longer ago than is searched counts as not said.
 */
export async function latestUpdate(
  store: SessionStore,
  key: SessionKey,
  kind: string,
): Promise<Result<AgentUpdate | null>> {
  const word = `"${kind}"`;
  const open = await sinceLastTurn(store, key, word);
  if (!open.ok) return open;
  let latest = lastOf(open.value, kind);
  let before = Number.MAX_SAFE_INTEGER;
  for (let left = UPDATE_SEARCH_TURNS_MAX; latest === null && left > 0; ) {
    const page = await store.readTurns(key, {
      before,
      limit: Math.min(left, UPDATE_TURNS_AT_ONCE),
    });
    if (!page.ok) return page;
    const { rows, more } = page.value;
    for (const turn of rows) {
      if (latest === null && turn.text.includes(word)) latest = lastOf(eventsIn(turn), kind);
    }
    if (!more) break;
    left -= rows.length;
    before = rows.at(-1)?.firstId ?? 0;
  }
  return ok(latest);
}

const UPDATE_TURNS_AT_ONCE = 32;

/** A sub-agent's own commands and modes are not those of the session. */
function lastOf(events: readonly LogEvent[], kind: string): AgentUpdate | null {
  const updates = events.flatMap((event) => {
    return event.type === "session_update" ? [event.data.update] : [];
  });
  const isOurs = (update: AgentUpdate) =>
    update.sessionUpdate === kind && parentToolCallId(update) === null;
  return updates.findLast(isOurs) ?? null;
}
