import { type AgentUpdate, parentToolCallId } from "../../core/agent-update.ts";
import {
  PAGE_ROWS_MAX,
  TURN_STATUS_READ_CHARS_MAX,
  UPDATE_SEARCH_TURNS_MAX,
} from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { FoldedTurn, SessionKey, SessionStore } from "../../store/store.ts";
import { eventIn, eventsIn } from "../replay.ts";

interface TurnSearch {
  /** Turns without this text are not parsed. */
  readonly text: string;
  readonly turnsMax: number;
  readonly charsMax?: number;
}

/**
 * Searches the finished turns, newest first, and passes those that contain the text to `visit`
 * until it returns true. It says why it ended: `limit` means that older turns were not searched.
 */
export async function searchTurns(
  store: SessionStore,
  key: SessionKey,
  { text, turnsMax, charsMax = TURN_STATUS_READ_CHARS_MAX }: TurnSearch,
  visit: (events: readonly LogEvent[], turn: FoldedTurn) => boolean,
): Promise<Result<"found" | "end" | "limit">> {
  let before = Number.MAX_SAFE_INTEGER;
  let turnsLeft = turnsMax;
  let charsLeft = charsMax;
  while (turnsLeft > 0 && charsLeft > 0) {
    const page = await store.readTurns(key, { before, limit: Math.min(turnsLeft, TURNS_AT_ONCE) });
    if (!page.ok) return page;
    for (const turn of page.value.rows) {
      before = turn.firstId;
      turnsLeft -= 1;
      charsLeft -= turn.text.length;
      if (turn.text.includes(text) && visit(eventsIn(turn), turn)) return ok("found");
    }
    if (!page.value.more) return ok("end");
  }
  return ok("limit");
}

const TURNS_AT_ONCE = 32;

/**
 * Returns the events since the last finished turn whose text contains this one. That is one turn
 * at most, and turns have a limit of their own.
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

/** Returns the agent's last update of this kind, as far back as the log is searched. */
export async function latestUpdate(
  store: SessionStore,
  key: SessionKey,
  kind: string,
): Promise<Result<AgentUpdate | null>> {
  const text = `"${kind}"`;
  const open = await sinceLastTurn(store, key, text);
  if (!open.ok) return open;
  let latest = lastOf(open.value, kind);
  if (latest !== null) return ok(latest);
  const charsMax = Number.POSITIVE_INFINITY;
  const search = { text, turnsMax: UPDATE_SEARCH_TURNS_MAX, charsMax };
  const searched = await searchTurns(store, key, search, (events) => {
    latest = lastOf(events, kind);
    return latest !== null;
  });
  return searched.ok ? ok(latest) : searched;
}

/** Leaves out the commands and modes of sub-agents. */
function lastOf(events: readonly LogEvent[], kind: string): AgentUpdate | null {
  const updates = events.flatMap((event) => {
    return event.type === "session_update" ? [event.data.update] : [];
  });
  const isOwn = (update: AgentUpdate) =>
    update.sessionUpdate === kind && parentToolCallId(update) === null;
  return updates.findLast(isOwn) ?? null;
}
