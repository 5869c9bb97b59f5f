import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { LOG_PAGES_MAX } from "../src/core/limits.ts";
import { MIGRATIONS } from "../src/store/sqlite/schema.ts";
import { rawDatabase } from "./raw-database.ts";
import { Latencies } from "./trial.ts";

/** What a branch has of a turn of the bench, in characters: its folded events and two messages. */
const TURN_CHARS = 2_073;
const MESSAGES_CHARS = [190, 933] as const;

/** As many as the store copies in one commit while nothing else waits. */
const TURNS_A_COMMIT = 625;

/**
 * The rows of a branch copied by SQLite within its tables and nothing else: with fsync, in as many
 * commits as the store has, and the log put away meanwhile. No text is proved by its checksum,
 * looked through for secrets or numbered anew.
 */
export async function branchAlone(turns: number, branches: number): Promise<Latencies> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
  const db = rawDatabase(join(folder, "raw.db"), MIGRATIONS.join(""));
  const latencies = new Latencies("its rows in SQLite alone");
  try {
    fill(db, turns);
    for (let n = 1; n <= branches; n += 1) await latencies.of(async () => copy(db, turns, n));
    return latencies;
  } finally {
    db.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function fill(db: Database.Database, turns: number) {
  const message = db.prepare("INSERT INTO messages VALUES (0, ?, ?, 0)");
  const turn = db.prepare("INSERT INTO turns VALUES (0, ?, ?, ?, ?, 0)");
  db.transaction(() => {
    for (let id = 1; id <= turns; id += 1) {
      turn.run(id, id, id, "x".repeat(TURN_CHARS));
      for (const [nth, chars] of MESSAGES_CHARS.entries()) {
        message.run(2 * id - nth, "x".repeat(chars));
      }
    }
  })();
}

function copy(db: Database.Database, turns: number, to: number) {
  const messages = db.prepare(`
    INSERT INTO messages SELECT ?, id, text, checksum FROM messages
    WHERE number = 0 AND id > 2 * ? AND id <= 2 * ?`);
  const folded = db.prepare(`
    INSERT INTO turns SELECT ?, id, first_id, last_id, text, checksum FROM turns
    WHERE number = 0 AND id > ? AND id <= ?`);
  const page = db.transaction((after: number) => {
    for (const rows of [messages, folded]) rows.run(to, after, after + TURNS_A_COMMIT);
  });
  const logPages = db.prepare<[], { log: number; checkpointed: number }>(
    "PRAGMA wal_checkpoint(NOOP)",
  );
  for (let after = 0; after < turns; after += TURNS_A_COMMIT) {
    page(after);
    const { log = 0, checkpointed = 0 } = logPages.get() ?? {};
    if (log - checkpointed > LOG_PAGES_MAX) db.pragma("wal_checkpoint(PASSIVE)");
  }
}
