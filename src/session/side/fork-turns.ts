import type { TurnId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { FoldedTurn, SessionKey, SessionStore } from "../../store/store.ts";
import { eventsIn } from "../stored-log.ts";

/**
 * Gives the folded turns of a session up to and with the given one, oldest first, each when the
 * one before has been taken. Stores give them newest first, so the places where pages begin are
 * found first; then never more than one page is held.
 */
export async function eachTurnThrough(
  store: SessionStore,
  key: SessionKey,
  through: { readonly turnId: TurnId; readonly lastEventId: number },
  take: (events: readonly LogEvent[]) => Promise<Result<void>>,
): Promise<Result<void>> {
  const starts = await pageStarts(store, key, through);
  if (!starts.ok) return starts;
  for (const before of starts.value.toReversed()) {
    const page = await store.readTurns(key, { before, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    for (const turn of page.value.rows.toReversed()) {
      const taken = await take(eventsIn(turn));
      if (!taken.ok) return taken;
    }
  }
  return DONE;
}

/** Where the pages begin that lead back from the end of that turn; none if it is not there. */
async function pageStarts(
  store: SessionStore,
  key: SessionKey,
  { turnId, lastEventId }: { readonly turnId: TurnId; readonly lastEventId: number },
): Promise<Result<readonly number[]>> {
  const starts: number[] = [];
  let isFound = false;
  for (let before = lastEventId + 1; ; ) {
    const page = await store.readTurns(key, { before, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    const { rows, more } = page.value;
    const last = isFound ? undefined : rows.find((turn) => hasVerdict(turn, turnId));
    if (last !== undefined) {
      isFound = true;
      before = last.lastId + 1;
      continue;
    }
    if (isFound) starts.push(before);
    if (!more) return ok(starts);
    before = rows.at(-1)?.lastId ?? 0;
  }
}

function hasVerdict(turn: FoldedTurn, turnId: TurnId): boolean {
  return (
    turn.text.includes(turnId) &&
    eventsIn(turn).some(({ type, data }) => type === "turn_complete" && data.turnId === turnId)
  );
}
