import { compact, type LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Life } from "../../core/session/life.fixture.ts";
import { keyOf, manifest, record } from "../../store/sample.fixture.ts";
import type { FoldedTurn, Page, StoredRecord, StoredText } from "../../store/store.ts";
import { type ExportFormat, openExport, writeExport } from "./export.ts";
import type { ExportSource } from "./source.ts";

/** What is stored of a session: each list in the order in which it was written. */
export interface Stored {
  readonly turns: readonly FoldedTurn[];
  readonly events: readonly StoredText[];
  readonly messages: readonly string[];
  readonly change?: Partial<StoredRecord>;
}

/** A life as stores keep it: every verdict ends a folded turn, and the raw events are all there. */
export function storedLife(life: Life): Stored {
  const log: readonly LogEvent[] = life.log.map((event, index) => ({ id: index + 1, ...event }));
  let from = 1;
  const turns = compact(log).segments.map((segment) => {
    const lastId = segment.at(-1)?.id ?? 0;
    const turn = { firstId: from, lastId, text: JSON.stringify(segment) };
    from = lastId + 1;
    return turn;
  });
  const events = log.map((event) => ({ id: event.id, text: JSON.stringify(event) }));
  return { turns, events, messages: [] };
}

/** A source whose pages have at most so many rows, and a count of what was read from it. */
export function sourceOf(stored: Stored, pageRows = 1_000) {
  const { turns, events, messages, change } = stored;
  const reads: string[] = [];
  const page = <Row>(rows: readonly Row[]): Result<Page<Row>> =>
    ok({ rows: rows.slice(0, pageRows), more: rows.length > pageRows });
  const row = recordOf(stored, change);
  const source: ExportSource = {
    record: async () => ok(row),
    manifest: async () => ok(manifest({ sessionId: row.sessionId })),
    messages: async ({ after }) => {
      reads.push("messages");
      return page(messages.map((text, index) => ({ id: index + 1, text })).slice(after));
    },
    turns: async ({ before }) => {
      reads.push("turns");
      return page(turns.filter(({ lastId }) => lastId < before).toReversed());
    },
    events: async ({ after }) => {
      reads.push("events");
      const { epoch, earliestEventId, lastEventId } = row;
      const rows = events.filter(({ id }) => id > after).slice(0, pageRows);
      return ok({ events: rows, epoch, earliestEventId, lastEventId });
    },
  };
  return { source, reads };
}

function recordOf({ turns, events, messages }: Stored, change: Partial<StoredRecord> = {}) {
  const lastEventId = events.at(-1)?.id ?? turns.at(-1)?.lastId ?? 0;
  const counts = { messageCount: messages.length, turnCount: turns.length };
  const stored: StoredRecord = {
    ...record(),
    sessionId: keyOf("s").sessionId,
    epoch: "e",
    term: 1,
    revision: turns.length,
    lastEventId,
    snapshotEventId: turns.at(-1)?.lastId ?? 0,
    earliestEventId: events[0]?.id ?? lastEventId + 1,
    createdAtMs: Date.UTC(2026, 0, 2, 3, 4),
    holder: null,
    ...counts,
    ...change,
  };
  return stored;
}

/** An export as its process writes it, in this process. */
export async function exportSession(
  source: ExportSource,
  format: ExportFormat,
): Promise<Result<AsyncIterable<string>>> {
  const opened = await openExport(source);
  return opened.ok ? ok(writeExport(opened.value, format)) : opened;
}

export async function textOf(pieces: Result<AsyncIterable<string>>): Promise<string> {
  if (!pieces.ok) return pieces.refusal.code;
  let text = "";
  for await (const piece of pieces.value) text += piece;
  return text;
}
