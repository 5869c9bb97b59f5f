import { ok, type Result } from "../../core/result.ts";
import type { StoredText } from "../store.ts";
import type { Row } from "./database.ts";
import { checksum, damaged } from "./row.ts";

/** Events of one session that were written together, in one row. */
export interface EventRun {
  readonly firstId: number;
  readonly texts: readonly string[];
}

/** What its row takes, after the session's number. */
export function runValues({ firstId, texts }: EventRun): readonly (string | number)[] {
  const lengths = texts.map(({ length }) => length).join(",");
  const text = texts.join("");
  const lastId = firstId + texts.length - 1;
  return [lastId, firstId, lengths, text, runChecksum(lastId, firstId, lengths, text)];
}

export const INSERT_RUN = `
  INSERT INTO events (number, last_id, first_id, lengths, text, checksum)
  VALUES (?, ?, ?, ?, ?, ?)`;

export const RUNS_AFTER = `
  SELECT last_id, first_id, lengths, text, checksum FROM events
  WHERE number = ? AND last_id > ? ORDER BY last_id`;

/** Up to the one that has a certain event: whatever comes after it would be read for nothing. */
export const RUNS_BETWEEN = `
  SELECT last_id, first_id, lengths, text, checksum FROM events
  WHERE number = $number AND last_id > $after AND last_id <= ifnull(
    (SELECT min(last_id) FROM events WHERE number = $number AND last_id >= $through),
    ${Number.MAX_SAFE_INTEGER})
  ORDER BY last_id`;

/** The events of these runs, without a gap from the given id on, or word of the damage. */
export function readRuns(rows: readonly Row[], from: number): Result<readonly StoredText[]> {
  const events: StoredText[] = [];
  let next = from;
  for (const row of rows) {
    const run = readRun(row);
    // The first run may begin before what was asked for; each other one where the last ended.
    const follows =
      run !== null && (events.length === 0 ? run.firstId <= from : run.firstId === next);
    if (!follows) return damaged(`event ${next}`);
    for (const text of run.texts.slice(next - run.firstId)) {
      events.push({ id: next, text });
      next += 1;
    }
  }
  return ok(events);
}

/** Null if it is not as it was written. */
export function readRun(row: Row): EventRun | null {
  const { lengths, text } = row;
  const lastId = Number(row.last_id);
  const firstId = Number(row.first_id);
  if (typeof lengths !== "string" || typeof text !== "string") return null;
  if (runChecksum(lastId, firstId, lengths, text) !== row.checksum) return null;
  let start = 0;
  const texts = lengths.split(",").map((length) => {
    const end = start + Number(length);
    const one = text.slice(start, end);
    start = end;
    return one;
  });
  return { firstId, texts };
}

function runChecksum(lastId: number, firstId: number, lengths: string, text: string): number {
  return checksum(text, checksum(`${firstId} ${lastId} ${lengths}`));
}
