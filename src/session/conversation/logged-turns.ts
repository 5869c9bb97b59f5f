import { turnErrorFact } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import {
  PAGE_ROWS_MAX,
  PAST_LOG_CHARS_MAX,
  PAST_LOG_PAGE_ROWS_MAX,
  PAST_LOG_ROWS_MAX,
} from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { FoldedTurn, SessionKey, SessionStore } from "../../store/store.ts";
import { eventIn, eventsIn } from "../stored-log.ts";
import type { ConversationMessage } from "./message.ts";
import { loggedMessages } from "./turn-messages.ts";

/**
 * A turn as the log has it. One that was completed is in the conversation, and only named here; of
 * one that was interrupted nothing else has kept what was asked, said and done in it.
 */
export type LoggedTurn =
  | { readonly kind: "whole"; readonly turnId: TurnId }
  | {
      readonly kind: "interrupted";
      readonly reason: string;
      readonly messages: readonly ConversationMessage[];
    };

interface Log {
  readonly store: Pick<SessionStore, "readRecord" | "readEvents" | "readTurns">;
  readonly key: SessionKey;
  /** Something of it could not be read, and the rest is told without it (P6). */
  missed(reason: string): void;
}

/** The turns of a session, newest first, and not farther back than is worth reading. */
export async function* loggedTurns(log: Log): AsyncGenerator<LoggedTurn> {
  const recent = await sinceSnapshot(log);
  if (!recent.ok) return log.missed(recent.refusal.code);
  yield* turnsIn(recent.value);
  let before = Number.MAX_SAFE_INTEGER;
  let rowsLeft = PAST_LOG_ROWS_MAX;
  let charsLeft = PAST_LOG_CHARS_MAX;
  while (rowsLeft > 0 && charsLeft > 0) {
    const limit = Math.min(rowsLeft, PAST_LOG_PAGE_ROWS_MAX);
    const page = await log.store.readTurns(log.key, { before, limit });
    if (!page.ok) return log.missed(page.refusal.code);
    for (const row of page.value.rows) {
      before = row.firstId;
      rowsLeft -= 1;
      charsLeft -= row.text.length;
      yield* turnsIn(readable(log, row));
    }
    if (!page.value.more) return;
  }
}

/** What no snapshot has closed yet, such as a turn that a crash has ended. */
async function sinceSnapshot({ store, key }: Log): Promise<Result<readonly LogEvent[]>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { snapshotEventId, lastEventId } = record.value;
  const all: LogEvent[] = [];
  for (let after = snapshotEventId; after < lastEventId; ) {
    const page = await store.readEvents(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    all.push(...page.value.events.map(eventIn));
    after = page.value.events.at(-1)?.id ?? lastEventId;
  }
  return ok(all);
}

function readable(log: Log, row: FoldedTurn): readonly LogEvent[] {
  try {
    return eventsIn(row);
  } catch {
    log.missed(`the turn that ended with event ${row.lastId} cannot be read`);
    return [];
  }
}

/** Prompts that never ran, and commands, are no turns. */
function* turnsIn(events: readonly LogEvent[]): Generator<LoggedTurn> {
  for (const event of events.toReversed()) {
    if (event.type !== "turn_complete" && event.type !== "turn_error") continue;
    const { turnId, promptId } = event.data;
    if (turnId === undefined) continue;
    if (event.type === "turn_complete") yield { kind: "whole", turnId };
    else {
      const messages = loggedMessages(events, { turnId, promptId });
      const reason = turnErrorFact(event.data.code, event.data.message);
      if (messages.length > 0) yield { kind: "interrupted", reason, messages };
    }
  }
}
