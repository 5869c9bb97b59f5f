import type { TurnId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { readMessage } from "../conversation/index.ts";

/** Where a conversation is forked: after this turn, which is in it whole. */
export interface ForkPoint {
  readonly turnId: TurnId;
  /** How many messages the conversation has up to there. */
  readonly messageCount: number;
}

/**
 * The end of the given turn, or of the last one. Null if the conversation has no such turn: one
 * that failed or was abandoned is not in it, and one at work is not in it yet.
 */
export async function forkPoint(
  store: SessionStore,
  key: SessionKey,
  messageCount: number,
  turnId: TurnId | null,
): Promise<Result<ForkPoint | null>> {
  let point: ForkPoint | null = null;
  const from = turnId === null ? Math.max(0, messageCount - 1) : 0;
  for (let after = from; after < messageCount; ) {
    const page = await store.readMessages(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    for (const { id, text } of page.value.rows) {
      after = id;
      const of = id <= messageCount ? readMessage(text)?.turnId : undefined;
      if (of !== undefined && (turnId === null || of === turnId)) {
        point = { turnId: of, messageCount: id };
      }
    }
    if (!page.value.more) break;
  }
  return ok(point);
}
