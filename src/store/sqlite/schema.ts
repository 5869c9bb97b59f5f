/**
 * The shape of one tenant's database, as numbered steps. A step that has been released is never
 * changed; the next one is added. SQLite's `user_version` says how many have been taken.
 *
 * Every row that matters carries a checksum of its content, because SQLite does not notice a bit
 * that has flipped inside a value.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    store_id TEXT NOT NULL,
    epoch TEXT NOT NULL,
    term INTEGER NOT NULL,
    holder TEXT,
    revision INTEGER NOT NULL,
    last_event_id INTEGER NOT NULL,
    last_event_checksum INTEGER NOT NULL,
    snapshot_event_id INTEGER NOT NULL,
    earliest_event_id INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    turn_count INTEGER NOT NULL,
    slot_count INTEGER NOT NULL,
    manifest TEXT NOT NULL,
    workspace_cwd TEXT NOT NULL,
    status TEXT NOT NULL,
    display_name TEXT,
    parent_session_id TEXT,
    source_type TEXT,
    source_id TEXT,
    updated_at_ms INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  );
  CREATE INDEX sessions_by_time ON sessions (updated_at_ms DESC, session_id);
  CREATE INDEX sessions_by_workspace
    ON sessions (workspace_cwd, updated_at_ms DESC, session_id);
  CREATE INDEX sessions_by_status ON sessions (status, updated_at_ms DESC, session_id);

  CREATE TABLE events (
    number INTEGER NOT NULL,
    id INTEGER NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (number, id)
  ) WITHOUT ROWID;

  CREATE TABLE turns (
    number INTEGER NOT NULL,
    id INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (number, id)
  ) WITHOUT ROWID;
  CREATE INDEX turns_by_end ON turns (number, last_id);

  CREATE TABLE messages (
    number INTEGER NOT NULL,
    id INTEGER NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (number, id)
  ) WITHOUT ROWID;

  CREATE TABLE slots (
    number INTEGER NOT NULL,
    owner TEXT NOT NULL,
    version TEXT NOT NULL,
    payload BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (number, owner)
  ) WITHOUT ROWID;

  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    journal TEXT NOT NULL,
    key TEXT NOT NULL,
    session_id TEXT,
    at_ms INTEGER NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (journal, key)
  );
  CREATE INDEX journal_by_session ON journal (journal, session_id, seq);

  CREATE TABLE documents (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    text TEXT,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;

  CREATE TABLE blobs (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  `,
];
