/**
 * The index of a search. It holds words and in which texts they are, and no text: so it can be made
 * anew from the messages at any time.
 */
export const SEARCH_WORDS = `
  CREATE VIRTUAL TABLE search_words USING fts5(
    words, content='', contentless_delete=1, detail=none, tokenize='ascii'
  );
`;

/**
 * The shape of one tenant's database, as numbered steps. A step that has been released is never
 * changed; the next one is added. SQLite's `user_version` says how many have been taken.
 *
 * Every row that matters carries a checksum of its content, because SQLite does not notice a bit
 * that has flipped inside a value.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE relaxed_openers (holder TEXT PRIMARY KEY) WITHOUT ROWID;

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
    closed INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    pending_prompts INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  );
  CREATE INDEX sessions_by_time ON sessions (updated_at_ms DESC, session_id);
  CREATE INDEX sessions_by_workspace
    ON sessions (workspace_cwd, updated_at_ms DESC, session_id);
  CREATE INDEX sessions_by_status ON sessions (status, updated_at_ms DESC, session_id);
  CREATE INDEX sessions_by_parent
    ON sessions (parent_session_id, updated_at_ms DESC, session_id)
    WHERE parent_session_id IS NOT NULL;
  CREATE INDEX sessions_by_source
    ON sessions (source_type, source_id, updated_at_ms DESC, session_id)
    WHERE source_type IS NOT NULL;
  CREATE INDEX sessions_with_prompts
    ON sessions (updated_at_ms DESC, session_id) WHERE pending_prompts > 0;

  -- A row is a run of events that were written together. Rows stand in the order of writing, so
  -- that one transaction for many sessions fills a few pages and does not touch one for each.
  CREATE TABLE events (
    number INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    lengths TEXT NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (number, last_id)
  );

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
    journal TEXT NOT NULL,
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    session_id TEXT,
    at_ms INTEGER NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (journal, seq),
    UNIQUE (journal, key)
  ) WITHOUT ROWID;
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
  // Sessions of before are visible to their whole tenant.
  `
  ALTER TABLE sessions ADD COLUMN created_by TEXT;
  ALTER TABLE sessions ADD COLUMN audience TEXT;
  CREATE INDEX sessions_by_creator
    ON sessions (created_by, updated_at_ms DESC, session_id) WHERE shared = 1;
  `,
  // Turns that are written from here on have another checksum, which earlier versions do not know.
  "",
  // Sessions of before have no name, and which agent they are set to is not in their rows.
  `
  ALTER TABLE sessions ADD COLUMN name TEXT;
  ALTER TABLE sessions ADD COLUMN agent TEXT;
  -- With who sees them, so that no row is read of those that a caller does not see.
  CREATE INDEX sessions_by_name
    ON sessions (name, updated_at_ms DESC, session_id, audience) WHERE name IS NOT NULL;
  CREATE INDEX sessions_by_agent
    ON sessions (agent, updated_at_ms DESC, session_id) WHERE agent IS NOT NULL;
  `,
  // Which text is which message of which session: a branch shares the texts of its source. The
  // message 0 is the title. What is due is indexed in the background, from after the one number
  // through the other.
  `
  ${SEARCH_WORDS}
  CREATE TABLE search_places (
    number INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    text_id INTEGER NOT NULL,
    PRIMARY KEY (number, message_id)
  ) WITHOUT ROWID;
  CREATE INDEX search_places_by_text ON search_places (text_id, number, message_id);
  CREATE TABLE search_due (
    number INTEGER PRIMARY KEY,
    after_id INTEGER NOT NULL,
    through_id INTEGER NOT NULL
  );
  INSERT INTO search_due SELECT number, -1, message_count FROM sessions;
  `,
];
