import Database from "better-sqlite3";

const EVENTS = `
  CREATE TABLE events (session INTEGER, id INTEGER, text TEXT, PRIMARY KEY (session, id))
  WITHOUT ROWID`;

/** A bare database with the settings of our store: what a disk and its driver can do at all. */
export function rawDatabase(file: string, schema: string = EVENTS): Database.Database {
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("wal_autocheckpoint = 4000");
  db.exec(schema);
  return db;
}
