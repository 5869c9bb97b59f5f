import Database from "better-sqlite3";
import { SEARCH_COMMIT_CHARS_MAX, SEARCH_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { searchEntries, searchedMessage } from "../../core/search/message.ts";
import type { TenantDatabase } from "./database.ts";
import { isOfTheWorld } from "./fault.ts";
import type { SessionRow } from "./row.ts";

/** A text that waits for its place in the index. */
interface NewText {
  readonly number: number;
  readonly messageId: number;
  readonly atMs: number;
  readonly text: string;
}

/** Messages of one session that follow each other. */
export interface MessageSpan {
  readonly after: number;
  readonly through: number;
}

/** The title of a session is its message 0, so that it is due from here on. */
export const BEFORE_TITLE = -1;

/**
 * Writes to the search index, within the transaction of the messages: what is found is what is
 * committed. The index is made of the messages, so nothing that is wrong with it refuses a commit:
 * what cannot be indexed now becomes due.
 */
export class SearchIndex {
  readonly #db: TenantDatabase;
  readonly #texts: NewText[] = [];
  #hasDue = false;

  constructor(db: TenantDatabase) {
    this.#db = db;
  }

  /** Whether some of a large commit has been left for later. */
  get hasDue(): boolean {
    return this.#hasDue;
  }

  /** The messages behind the given number, as far as one commit may take; the rest is for later. */
  addMessages(number: number, after: number, messages: readonly string[]) {
    let charsLeft = SEARCH_COMMIT_CHARS_MAX;
    for (const [index, stored] of messages.entries()) {
      const messageId = after + index + 1;
      if (charsLeft <= 0) {
        this.#hasDue = true;
        this.#delay(number, { after: messageId - 1, through: after + messages.length });
        return;
      }
      charsLeft -= this.addMessage(number, messageId, stored);
    }
  }

  /** Returns how many characters of it are searched. */
  addMessage(number: number, messageId: number, stored: string): number {
    const message = searchedMessage(stored);
    if (message === null) return 0;
    const { text, atMs } = message;
    this.#texts.push({ number, messageId, atMs, text });
    return Math.min(text.length, SEARCH_TEXT_CHARS_MAX);
  }

  /** The session has this title now, or none any more. */
  addTitle({ number, displayName, updatedAtMs }: SessionTitle) {
    const text = displayName ?? "";
    this.#texts.push({ number, messageId: TITLE, atMs: updatedAtMs, text });
  }

  /** A branch has these messages of its source, and with them their texts. */
  share(source: number, branch: number, { after, through }: MessageSpan) {
    if (after >= through) return;
    this.flush();
    this.#db.run(SHARE, branch, source, after, through);
    const due = this.#db.get(DUE_OF, source);
    if (due === undefined) return;
    const span = {
      after: Math.max(after, Number(due.after_id)),
      through: Math.min(through, Number(due.through_id)),
    };
    if (span.after < span.through) this.#delay(branch, span);
  }

  /** The session is deleted. A text that a branch of it has, too, stays. */
  forget(number: number) {
    const waiting = this.#texts.filter((text) => text.number !== number);
    this.#texts.splice(0, this.#texts.length, ...waiting);
    this.#guarded(
      () => this.#db.run(DELETE_OWN_WORDS, number, number),
      () => {},
    );
    this.#db.run(DELETE_PLACES, number);
    this.#db.run(DELETE_DUE, number);
  }

  /** Writes what has been added; what cannot be written becomes due. */
  flush() {
    const texts = this.#texts.splice(0);
    if (texts.length === 0) return;
    this.#guarded(
      () => this.#writeAll(texts),
      () => {
        for (const { number, messageId } of texts) {
          this.#delay(number, { after: messageId - 1, through: messageId });
        }
      },
    );
  }

  /** The same, and throws where the index is damaged. */
  flushDue() {
    this.#writeAll(this.#texts.splice(0));
  }

  /** In the order of time, which is the one that the index likes. */
  #writeAll(texts: readonly NewText[]) {
    for (const text of texts.toSorted((a, b) => a.atMs - b.atMs)) this.#write(text);
  }

  /**
   * The index keeps what it is given in memory until the end of a transaction, or of a part of one:
   * so damage that it meets then is met here.
   */
  #guarded(write: () => void, otherwise: () => void) {
    try {
      this.#db.part(() => {
        write();
        this.#db.part(() => {});
      });
    } catch (thrown) {
      // What is damaged in an index shows as almost anything: as a row that is there twice, too.
      if (!(thrown instanceof Database.SqliteError) || isOfTheWorld(thrown)) throw thrown;
      otherwise();
    }
  }

  #write({ number, messageId, atMs, text }: NewText) {
    if (messageId === TITLE) this.#removeTitle(number);
    const entries = searchEntries(text);
    if (entries.length === 0) return;
    const textId = this.#freeId(atMs);
    this.#db.run(INSERT_WORDS, textId, entries.join(" "));
    this.#db.run(INSERT_PLACE, number, messageId, textId);
  }

  #removeTitle(number: number) {
    const textId = this.#db.get(PLACE_OF_TITLE, number)?.text_id;
    if (typeof textId !== "number") return;
    this.#db.run(DELETE_WORDS, textId);
    this.#db.run(DELETE_TITLE, number);
  }

  /** Texts are numbered by their time, so that the newest are found first without sorting them. */
  #freeId(atMs: number): number {
    for (let ms = Math.min(atMs, LAST_MS); ; ms += 1) {
      const first = ms * IDS_OF_MS;
      const last = this.#db.get(LAST_TEXT, first, first + IDS_OF_MS)?.text_id;
      const next = typeof last === "number" ? last + 1 : first;
      if (next < first + IDS_OF_MS) return next;
    }
  }

  #delay(number: number, { after, through }: MessageSpan) {
    this.#db.run(DELAY, number, after, through);
  }
}

type SessionTitle = Pick<SessionRow, "number" | "displayName" | "updatedAtMs">;

const TITLE = 0;

/** Texts of the same millisecond; with more than these the next one is taken. */
const IDS_OF_MS = 1_024;

/** The time of a text, as its number says it. */
export function timeOfText(textId: number): number {
  return Math.floor(textId / IDS_OF_MS);
}

/** Some time in the year 2218: numbers of texts are safe integers until then. */
const LAST_MS = 2 ** 42;

// Numbers that large arrive as floating point numbers, which an index does not take for its rows.
const INSERT_WORDS = "INSERT INTO search_words (rowid, words) VALUES (CAST(? AS INTEGER), ?)";
const DELETE_WORDS = "DELETE FROM search_words WHERE rowid = CAST(? AS INTEGER)";
const INSERT_PLACE =
  "INSERT OR REPLACE INTO search_places (number, message_id, text_id) VALUES (?, ?, ?)";
const LAST_TEXT =
  "SELECT max(text_id) AS text_id FROM search_places WHERE text_id >= ? AND text_id < ?";
const PLACE_OF_TITLE = "SELECT text_id FROM search_places WHERE number = ? AND message_id = 0";
const DELETE_TITLE = "DELETE FROM search_places WHERE number = ? AND message_id = 0";
const SHARE = `
  INSERT OR IGNORE INTO search_places (number, message_id, text_id)
  SELECT ?, message_id, text_id FROM search_places
  WHERE number = ? AND message_id > ? AND message_id <= ?`;
const DELETE_OWN_WORDS = `
  DELETE FROM search_words WHERE rowid IN (
    SELECT text_id FROM search_places AS own WHERE number = ? AND NOT EXISTS (
      SELECT 1 FROM search_places AS other WHERE other.text_id = own.text_id AND other.number <> ?
    ))`;
const DELETE_PLACES = "DELETE FROM search_places WHERE number = ?";
const DELETE_DUE = "DELETE FROM search_due WHERE number = ?";
const DUE_OF = "SELECT after_id, through_id FROM search_due WHERE number = ?";
const DELAY = `
  INSERT INTO search_due (number, after_id, through_id) VALUES (?, ?, ?)
  ON CONFLICT (number) DO UPDATE SET
    after_id = min(after_id, excluded.after_id), through_id = max(through_id, excluded.through_id)`;
