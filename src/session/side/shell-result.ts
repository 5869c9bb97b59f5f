import type { ShellId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { ShellResult } from "../../core/session/event.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { eventIn, eventsIn } from "../stored-log.ts";

/**
 * How a command of this session ended, from its log: null if the log does not say. Whoever asks
 * is most likely to have sent it just now, so the newest is looked at first.
 */
export async function storedShellResult(
  store: SessionStore,
  key: SessionKey,
  shellId: ShellId,
): Promise<Result<ShellResult | null>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { earliestEventId, lastEventId } = record.value;
  for (let through = lastEventId; through >= earliestEventId; ) {
    const after = Math.max(earliestEventId - 1, through - PAGE_ROWS_MAX);
    const found = await amongEvents(store, key, shellId, after, through);
    if (!found.ok || found.value !== null) return found;
    through = after;
  }
  return amongTurns(store, key, shellId, lastEventId + 1);
}

/** A page may be shorter than it was asked to be, so a window may take several. */
async function amongEvents(
  store: SessionStore,
  key: SessionKey,
  shellId: ShellId,
  from: number,
  through: number,
): Promise<Result<ShellResult | null>> {
  for (let after = from; after < through; ) {
    const page = await store.readEvents(key, { after, limit: through - after });
    if (!page.ok) return page;
    for (const stored of page.value.events) {
      const result = stored.text.includes(shellId) ? resultIn(eventIn(stored), shellId) : null;
      if (result !== null) return ok(result);
    }
    after = page.value.events.at(-1)?.id ?? through;
  }
  return ok(null);
}

/** Raw events go one day; a folded turn keeps the results of the commands beside it. */
async function amongTurns(
  store: SessionStore,
  key: SessionKey,
  shellId: ShellId,
  end: number,
): Promise<Result<ShellResult | null>> {
  for (let before = end; ; ) {
    const page = await store.readTurns(key, { before, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    for (const turn of page.value.rows) {
      before = turn.lastId;
      const events = turn.text.includes(shellId) ? eventsIn(turn) : [];
      const results = events.flatMap((event) => resultIn(event, shellId) ?? []);
      if (results[0] !== undefined) return ok(results[0]);
    }
    if (!page.value.more) return ok(null);
  }
}

function resultIn({ type, data }: LogEvent, shellId: ShellId): ShellResult | null {
  return type === "user_shell_result" && data.shellId === shellId ? data : null;
}
