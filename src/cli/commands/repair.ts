import { randomUUID } from "node:crypto";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { thisHolder } from "../../store/holder.ts";
import type { Opened, SessionKey, SessionStore } from "../../store/store.ts";
import { operatorEntry, runOnStored } from "./stored-session.ts";

const REPAIR_USAGE = `Usage: fermata repair ID [--data DIR] [--tenant NAME]

Cuts the log of a session before the first event that cannot be read any more, so
that the session can be opened again. What comes after that event is lost. A log
that can be read to its end stays as it is. The audit says what was cut.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  Whose session it is (local).
`;

/** Gives a log whose end is damaged an earlier end. */
export function repair(args: readonly string[]): Promise<number> {
  return runOnStored({ name: "repair", usage: REPAIR_USAGE, act: repairStored }, args);
}

async function repairStored(store: SessionStore, key: SessionKey): Promise<Result<string>> {
  const opened = await store.open(key, thisHolder("fermata repair"), []);
  if (!opened.ok) return opened;
  const mended = await mend(store, key, opened.value);
  const closed = await store.close(key, opened.value.term);
  return mended.ok && !closed.ok ? closed : mended;
}

async function mend(
  store: SessionStore,
  key: SessionKey,
  { term, record }: Opened,
): Promise<Result<string>> {
  const { lastEventId: end } = record;
  const readable = await lastReadable(store, key, record.snapshotEventId);
  if (!readable.ok) return readable;
  const lastEventId = readable.value;
  if (lastEventId >= end) return ok(`The log of ${key.sessionId} can be read to its end, ${end}.`);
  const entry = operatorEntry(record, "log_cut", { lastEventId, end });
  const cut = { lastEventId, epoch: randomUUID(), audit: [entry] };
  const done = await store.cutLog(key, term, cut);
  if (!done.ok) return done;
  return ok(`The log of ${key.sessionId} ended at event ${end}; it ends at ${lastEventId} now.`);
}

/** The last event before the first that is damaged; what is before the snapshot is not needed. */
async function lastReadable(
  store: SessionStore,
  key: SessionKey,
  from: number,
): Promise<Result<number>> {
  let after = from;
  for (let limit = PAGE_ROWS_MAX; ; ) {
    const page = await store.readEvents(key, { after, limit });
    if (page.ok) {
      const last = page.value.events.at(-1)?.id;
      if (last === undefined) return ok(after);
      after = last;
    } else if (page.refusal.code !== "session_corrupt") {
      return page;
    } else if (limit === 1) {
      return ok(after);
    } else {
      // A page with damage in it is refused whole, so from here on it goes step by step.
      limit = 1;
    }
  }
}
