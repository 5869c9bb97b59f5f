import { PAST_STEP_BYTES_MAX, PAST_STEP_PAGES_MAX } from "../../core/limits.ts";
import { branchedTurn } from "../../core/replay/branched.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { SuspectPast } from "../backend.ts";
import { otherSource } from "../past.ts";
import { SecretFilter, type SecretPatterns } from "../secret-filter.ts";
import type * as S from "../store.ts";
import type { WriteBatch } from "./batch.ts";
import type { TenantDatabase } from "./database.ts";
import { step as failpoint } from "./failpoint.ts";
import * as rows from "./row.ts";
import { INSERT_MESSAGE, INSERT_TURN, TRIM_EVENTS } from "./row.ts";

/** What of its past a session is given from another one. */
interface Branching {
  readonly branch: rows.SessionRow;
  readonly source: rows.SessionRow;
  readonly step: S.PastStep;
}

/**
 * One step of a branch: a page of its source, and the next ones too while no other call waits. They
 * are one transaction.
 */
export function copyPages(
  batch: WriteBatch,
  { branch, source, step }: Branching,
  secrets: SecretPatterns,
): Result<S.PastCopied | SuspectPast> {
  if (source.epoch !== step.epoch) return otherSource();
  const { revision } = branch;
  if (revision !== step.expectedRevision) {
    return fail("stale_revision", { revision, expected: step.expectedRevision });
  }
  const filter = new SecretFilter(secrets);
  const first = copyPage(batch, { branch, source, step }, filter);
  if (!first.ok || "suspect" in first.value) return first;
  let copied = first.value;
  for (let pages = 1; pages < PAST_STEP_PAGES_MAX; pages += 1) {
    const { messages, afterEventId, turnsCompleted } = copied;
    const isWhole = messages >= step.messages && afterEventId >= step.throughEventId;
    if (isWhole || !batch.mayTakeLong()) break;
    const reached = batch.session(branch.manifest.sessionId);
    if (!reached.ok) return reached;
    const rest = { branch: reached.value, source, step: { ...step, afterEventId } };
    const next = copyPage(batch, rest, filter);
    // What is wrong with it is for the next step to say: this one has come so far.
    if (!next.ok || "suspect" in next.value) break;
    copied = { ...next.value, turnsCompleted: turnsCompleted + next.value.turnsCompleted };
  }
  return ok(copied);
}

/**
 * One page, within the database: the texts do not leave this thread. What is read is believed by
 * its checksum and looked through for secrets before the first row is written.
 */
function copyPage(
  batch: WriteBatch,
  branching: Branching,
  filter: SecretFilter,
): Result<S.PastCopied | SuspectPast> {
  const { branch, step } = branching;
  const messages = nextMessages(batch.db, branching);
  if (!messages.ok) return messages;
  const turns = nextTurns(batch.db, branching, PAST_STEP_BYTES_MAX - messages.value.bytes);
  if (!turns.ok) return turns;
  const isSuspect =
    messages.value.texts.some(({ text }) => filter.mayHold(text)) ||
    turns.value.some(({ text }) => filter.mayHold(text));
  const to = {
    messages: messages.value.texts.at(-1)?.id ?? branch.messageCount,
    throughEventId: turns.value.at(-1)?.endThere ?? step.afterEventId,
  };
  if (isSuspect) return ok({ suspect: to });
  return ok(write(batch, branching, messages.value.texts, turns.value));
}

interface MessagePage {
  readonly texts: readonly S.StoredText[];
  readonly bytes: number;
}

function nextMessages(
  db: TenantDatabase,
  { branch, source, step }: Branching,
): Result<MessagePage> {
  const { messageCount } = branch;
  if (messageCount >= step.messages) return ok({ texts: [], bytes: 0 });
  const range = [source.number, messageCount, step.messages] as const;
  const page = db.pageWithin(PAST_STEP_BYTES_MAX, MESSAGES_BETWEEN, ...range);
  const texts = rows.readTexts(page.rows, messageCount + 1, "message");
  if (!texts.ok) return texts;
  const end = messageCount + texts.value.length;
  if (!page.more && end !== step.messages) return rows.damaged("the end of its conversation");
  const bytes = page.more
    ? PAST_STEP_BYTES_MAX
    : texts.value.reduce((sum, { text }) => sum + text.length, 0);
  return ok({ texts: texts.value, bytes });
}

/** A turn as the branch has it. */
interface NewTurn extends S.FoldedTurn {
  /** Where it ends in the log of the source. */
  readonly endThere: number;
  readonly isEmpty: boolean;
  readonly turnsCompleted: number;
}

function nextTurns(
  db: TenantDatabase,
  { branch, source, step }: Branching,
  bytesMax: number,
): Result<readonly NewTurn[]> {
  if (bytesMax <= 0 || step.afterEventId >= step.throughEventId) return ok([]);
  const lastBy = (eventId: number) => Number(db.get(LAST_TURN_BY, source.number, eventId)?.id ?? 0);
  let expected = lastBy(step.afterEventId) + 1;
  const range = [source.number, expected, lastBy(step.throughEventId)] as const;
  const page = db.pageWithin(bytesMax, TURNS_FROM, ...range);
  let firstId = branch.lastEventId + 1;
  const turns: NewTurn[] = [];
  for (const row of page.rows) {
    const read = rows.readTurn(row, expected);
    if (!read.ok) return read;
    const turn = read.value;
    const order = { from: step.from, to: branch.manifest.sessionId, firstId };
    const { events, turnsCompleted } = branchedTurn(turn.text, order);
    const lastId = firstId + events.length - 1;
    const text = `[${events.join(",")}]`;
    const own = { firstId, lastId, text, isEmpty: events.length === 0, turnsCompleted };
    turns.push({ ...own, endThere: turn.lastId });
    firstId = lastId + 1;
    expected += 1;
  }
  const end = turns.at(-1)?.endThere;
  const isWhole = page.more || end === step.throughEventId;
  return isWhole ? ok(turns) : rows.damaged(`turn ${expected}`);
}

function write(
  batch: WriteBatch,
  { branch, source, step }: Branching,
  messages: readonly S.StoredText[],
  turns: readonly NewTurn[],
): S.PastCopied {
  const { db } = batch;
  const { number } = branch;
  for (const { id, text } of messages) {
    db.run(INSERT_MESSAGE, number, id, text, rows.checksum(text, id));
  }
  const through = messages.at(-1)?.id ?? branch.messageCount;
  batch.search.share(source.number, number, { after: branch.messageCount, through });
  failpoint("sqlite-amid-copy");
  const written = turns.filter(({ isEmpty }) => !isEmpty);
  let { turnCount } = branch;
  for (const turn of written) {
    turnCount += 1;
    const { firstId, lastId, text } = turn;
    const sum = rows.turnChecksum(turnCount, turn);
    db.run(INSERT_TURN, number, turnCount, firstId, lastId, text, sum);
  }
  const lastEventId = written.at(-1)?.lastId ?? branch.lastEventId;
  const earliestEventId = written.length > 0 ? lastEventId + 1 : branch.earliestEventId;
  batch.writeEvents(number);
  if (written.length > 0) db.run(TRIM_EVENTS, number, lastEventId);
  const revision = branch.revision + 1;
  const messageCount = messages.at(-1)?.id ?? branch.messageCount;
  const at = { lastEventId, earliestEventId, snapshotEventId: lastEventId };
  batch.change({ ...branch, ...at, revision, messageCount, turnCount });
  return {
    revision,
    lastEventId,
    messages: messageCount,
    afterEventId: turns.at(-1)?.endThere ?? step.afterEventId,
    turnsCompleted: turns.reduce((sum, turn) => sum + turn.turnsCompleted, 0),
  };
}

const MESSAGES_BETWEEN = `
  SELECT id, text, checksum FROM messages WHERE number = ? AND id > ? AND id <= ? ORDER BY id`;
/** By their own numbers, because so they stand in the file. */
const TURNS_FROM = `
  SELECT id, first_id, last_id, text, checksum FROM turns
  WHERE number = ? AND id >= ? AND id <= ? ORDER BY id`;
const LAST_TURN_BY =
  "SELECT id FROM turns WHERE number = ? AND last_id <= ? ORDER BY last_id DESC LIMIT 1";
