import { parseTenantId, type TenantId } from "../../core/id.ts";
import {
  SEARCH_PAUSE_MS_MAX,
  SEARCH_STEP_BYTES_MAX,
  SEARCH_STEP_MESSAGES_MAX,
} from "../../core/limits.ts";
import { idOfCaseSafe } from "../../platform/case-safe.ts";
import { databaseFile, inodeOf, TenantDatabase } from "./database.ts";
import { step as failpoint } from "./failpoint.ts";
import { reasonOf } from "./fault.ts";
import type { Handles } from "./handles.ts";
import * as rows from "./row.ts";
import { SEARCH_WORDS } from "./schema.ts";
import { BEFORE_TITLE, type MessageSpan, SearchIndex } from "./search-index.ts";

/** Whether messages are there that the index does not have yet. */
export function hasDue(db: TenantDatabase): boolean {
  return db.get(NEXT_DUE) !== undefined;
}

/** Indexes some of what is due, the newest sessions first; answers whether there is more. */
function buildStep(db: TenantDatabase): boolean {
  return db.transaction("immediate", () => {
    const due = db.get(NEXT_DUE);
    if (due === undefined) return false;
    const number = Number(due.number);
    const after = Number(due.after_id);
    const through = Number(due.through_id);
    const index = new SearchIndex(db);
    const session = after === BEFORE_TITLE ? db.get(TITLE_OF, number) : undefined;
    if (session !== undefined && session.display_name !== null) {
      const displayName = String(session.display_name);
      index.addTitle({ number, displayName, updatedAtMs: Number(session.updated_at_ms) });
    }
    const reached = addMessages(db, index, { number, after, through });
    index.flushDue();
    failpoint("sqlite-amid-index");
    if (reached !== null) db.run(REACHED, reached, number);
    else db.run("DELETE FROM search_due WHERE number = ?", number);
    return hasDue(db);
  });
}

interface DueMessages extends MessageSpan {
  readonly number: number;
}

/**
 * As many as one step may take, and one at least; answers where the next one goes on, null at the
 * end. What is damaged cannot be found, and stops no other.
 */
function addMessages(
  db: TenantDatabase,
  index: SearchIndex,
  { number, after, through }: DueMessages,
): number | null {
  let reached = Math.max(after, 0);
  let bytesLeft = SEARCH_STEP_BYTES_MAX;
  let messagesLeft = SEARCH_STEP_MESSAGES_MAX;
  for (const row of db.rows(DUE_MESSAGES, number, reached, through)) {
    if (bytesLeft <= 0 || messagesLeft <= 0) return reached;
    reached = Number(row.id);
    messagesLeft -= 1;
    const { text, checksum, text_id: known } = row;
    const isWhole = typeof text === "string" && rows.checksum(text, reached) === checksum;
    if (!isWhole || known !== null) continue;
    bytesLeft -= text.length;
    index.addMessage(number, reached, text);
  }
  return null;
}

/**
 * Indexes what an earlier version has left without an index, in small steps of the writing thread
 * and with pauses: calls that arrive are served between two steps.
 */
export class Indexing {
  readonly #handles: Pick<Handles, "get" | "isThere">;
  readonly #files = new Set<string>();
  #next: NodeJS.Timeout | null = null;

  constructor(handles: Pick<Handles, "get" | "isThere">) {
    this.#handles = handles;
  }

  begin(file: string) {
    this.#files.add(file);
    this.#next ??= setTimeout(() => this.#step(), 0);
  }

  end() {
    if (this.#next !== null) clearTimeout(this.#next);
    this.#next = null;
    this.#files.clear();
  }

  #step() {
    this.#next = null;
    const [file] = this.#files;
    if (file === undefined) return;
    const startedMs = performance.now();
    // What fails now is made up for when the database is opened again.
    if (!this.#hasMore(file)) this.#files.delete(file);
    if (this.#files.size > 0) this.#next = setTimeout(() => this.#step(), pauseMs(startedMs));
  }

  #hasMore(file: string): boolean {
    try {
      return this.#handles.isThere(file) && buildStep(this.#handles.get(file));
    } catch {
      return false;
    }
  }
}

/** Three times as long as the step took, so that three quarters of the time are left for calls. */
function pauseMs(startedMs: number): number {
  return Math.min(SEARCH_PAUSE_MS_MAX, 3 * (performance.now() - startedMs));
}

/** What became of one tenant's index. */
export interface Reindexed {
  readonly tenantId: TenantId;
  readonly texts: number;
  /** Why nothing, or not all of it, was done; null if it was. */
  readonly fault: string | null;
}

/** Makes the index of these tenants anew, also beside a running server. */
export async function reindexTenants(
  root: string,
  names: readonly string[],
): Promise<readonly Reindexed[]> {
  const done: Reindexed[] = [];
  for (const name of names) {
    const tenantId = parseTenantId(idOfCaseSafe(name) ?? "");
    if (tenantId === null) continue;
    const file = databaseFile(root, tenantId);
    if (inodeOf(file) !== null) done.push({ tenantId, ...(await reindexed(file)) });
  }
  return done;
}

async function reindexed(file: string): Promise<Omit<Reindexed, "tenantId">> {
  try {
    const db = new TenantDatabase(file, "write");
    try {
      db.transaction("immediate", () => db.execute(BEGIN_ANEW));
      for (let startedMs = performance.now(); buildStep(db); startedMs = performance.now()) {
        // A server beside has its turn: a lock that is free for no time at all is not seen.
        await new Promise((resolve) => setTimeout(resolve, pauseMs(startedMs)));
      }
      db.putLogAway("PASSIVE");
      return { texts: Number(db.get(COUNT_TEXTS)?.count), fault: null };
    } finally {
      db.close();
    }
  } catch (thrown) {
    return { texts: 0, fault: reasonOf(thrown) };
  }
}

const NEXT_DUE = "SELECT number, after_id, through_id FROM search_due ORDER BY number DESC LIMIT 1";
const TITLE_OF = "SELECT display_name, updated_at_ms FROM sessions WHERE number = ?";
/** With what the index has of them already: it was written when the session went on. */
const DUE_MESSAGES = `
  SELECT messages.id AS id, text, checksum, text_id FROM messages
  LEFT JOIN search_places AS place
    ON place.number = messages.number AND place.message_id = messages.id
  WHERE messages.number = ? AND id > ? AND id <= ? ORDER BY id`;
const REACHED = "UPDATE search_due SET after_id = ? WHERE number = ?";
const COUNT_TEXTS = "SELECT count(DISTINCT text_id) AS count FROM search_places";
const BEGIN_ANEW = `
  DROP TABLE search_words;
  ${SEARCH_WORDS}
  DELETE FROM search_places;
  DELETE FROM search_due;
  INSERT INTO search_due SELECT number, ${BEFORE_TITLE}, message_count FROM sessions;
`;
