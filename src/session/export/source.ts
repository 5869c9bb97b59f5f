import { type Refusal, refusal } from "../../core/error.ts";
import type { Result } from "../../core/result.ts";
import type {
  BackwardRange,
  EventPage,
  FoldedTurn,
  Manifest,
  Page,
  Range,
  SessionKey,
  SessionStore,
  StoredRecord,
  StoredText,
} from "../../store/store.ts";

/** What an export is read from: a store's reads, for one session. */
export interface ExportSource {
  record(): Promise<Result<StoredRecord>>;
  manifest(): Promise<Result<Manifest>>;
  messages(range: Range): Promise<Result<Page<StoredText>>>;
  turns(range: BackwardRange): Promise<Result<Page<FoldedTurn>>>;
  events(range: Range): Promise<Result<EventPage>>;
}

export function storeSource(store: SessionStore, key: SessionKey): ExportSource {
  return {
    record: () => store.readRecord(key),
    manifest: () => store.readManifest(key),
    messages: (range) => store.readMessages(key, range),
    turns: (range) => store.readTurns(key, range),
    events: (range) => store.readEvents(key, range),
  };
}

/**
 * Thrown into the middle of an export, and nowhere else: its beginning has been sent, so there is
 * no other way to keep a reader from taking half of it for the whole.
 */
export class ExportBroken extends Error {
  readonly refusal: Refusal;

  constructor(why: Refusal) {
    super(`the export broke off: ${why.code}`);
    this.refusal = why;
  }
}

/** What was read, or the end of the export. */
export function must<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new ExportBroken(result.refusal);
  return result.value;
}

/** Stored JSON, looked at before it is passed on: one bad text would spoil the whole document. */
export function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ExportBroken(refusal("session_corrupt", { reason: `${what} is no JSON` }));
  }
}
