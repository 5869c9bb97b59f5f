import { type AgentUpdate, parentToolCallId } from "../../core/agent-update.ts";
import { UPDATE_SEARCH_TURNS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { eventsIn } from "../stored-log.ts";
import { sinceLastTurn } from "./recent-log.ts";

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
    const page = await store.readTurns(key, { before, limit: Math.min(left, TURNS_AT_ONCE) });
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

const TURNS_AT_ONCE = 32;

/** A sub-agent's own commands and modes are not those of the session. */
function lastOf(events: readonly LogEvent[], kind: string): AgentUpdate | null {
  const updates = events.flatMap((event) => {
    return event.type === "session_update" ? [event.data.update] : [];
  });
  const isOurs = (update: AgentUpdate) =>
    update.sessionUpdate === kind && parentToolCallId(update) === null;
  return updates.findLast(isOurs) ?? null;
}
