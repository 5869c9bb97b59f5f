import type { SessionId } from "../core/id.ts";
import { FORK_COMMITS_AT_ONCE_MAX, PAGE_ROWS_MAX, PAST_STEP_BYTES_MAX } from "../core/limits.ts";
import { branchedTurn } from "../core/replay/branched.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { Backend } from "./backend.ts";
import type { SecretPatterns } from "./secret-filter.ts";
import type * as S from "./store.ts";

/** What a branch is to have of the past of its source, and how much of that it has. */
export interface PastStep {
  readonly from: SessionId;
  /** The identity of its source's log: under another one, that is not the source any more. */
  readonly epoch: string;
  /** The revision that the step is based on; another one in the store refuses it. */
  readonly expectedRevision: number;
  /** The branch gets the first so many messages of its source. It has none of its own. */
  readonly messages: number;
  /** It gets the turns that end after this event of its source, where the last step has ended, */
  readonly afterEventId: number;
  /** and by this one, in order. Their raw events count as trimmed. */
  readonly throughEventId: number;
}

/** How far a step has come. */
export interface PastCopied extends S.Committed {
  /** So many messages the branch has now. */
  readonly messages: number;
  /** The next step's turns end after this event of the source. */
  readonly afterEventId: number;
  /** Turns of the conversation that this step has copied. */
  readonly turnsCompleted: number;
}

/**
 * The step in a store of ours: inside it, where it can. What may have a secret there is read and
 * committed like any text, and so redacted (P11).
 */
export async function copyInside(
  store: PlainStore,
  backend: Pick<Backend, "copyPast">,
  secrets: SecretPatterns,
  { key, term, step }: Pick<PastTarget, "key" | "term" | "step">,
): Promise<Result<PastCopied>> {
  const copied = await backend.copyPast?.(key, term, { ...step }, secrets);
  if (copied === undefined) return copyByCommits(store, key, term, { ...step });
  if (!copied.ok) return copied;
  const { value } = copied;
  return "suspect" in value
    ? copyByCommits(store, key, term, { ...step, ...value.suspect })
    : ok(value);
}

/** What it takes of a store to copy by reading and committing. */
export type PlainStore = Pick<
  S.SessionStore,
  "readRecord" | "readManifest" | "readMessages" | "readTurns" | "commit"
>;

/** All that is left to copy is one step here, made of commits of bounded size. */
export async function copyByCommits(
  store: PlainStore,
  key: S.SessionKey,
  term: number,
  step: PastStep,
): Promise<Result<PastCopied>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const from = { tenantId: key.tenantId, sessionId: step.from };
  const source = await store.readRecord(from);
  if (!source.ok) return source;
  if (source.value.epoch !== step.epoch) return otherSource();
  const manifest = await store.readManifest(key);
  if (!manifest.ok) return manifest;
  const writer = new PastWriter(store, { key, term, step, manifest: manifest.value }, record.value);
  const messages = await eachMessagePage(store, from, record.value.messageCount, step, (texts) =>
    writer.addMessages(texts),
  );
  const copied = messages.ok
    ? await eachTurn(store, from, step, (turn) => writer.addTurn(turn))
    : messages;
  const written = await writer.end();
  return copied.ok ? written : copied;
}

/** Deleted and made anew under its id, or restored: what was to be branched is not there. */
export function otherSource(): Result<never> {
  return fail("store_unavailable", { reason: "the session that is branched has another log now" });
}

interface PastTarget {
  readonly key: S.SessionKey;
  readonly term: number;
  readonly step: PastStep;
  readonly manifest: S.Manifest;
}

/**
 * Writes to the branch. It does not wait for each commit: a store writes those that arrive
 * together in one go. Each says which commit it follows, so none goes through behind a refused one.
 */
class PastWriter {
  readonly #store: PlainStore;
  readonly #target: PastTarget;
  #at: PastCopied;
  #underWay: Promise<Result<S.Committed>>[] = [];
  #bytesUnderWay = 0;

  constructor(
    store: PlainStore,
    target: PastTarget,
    { lastEventId, messageCount: messages }: S.StoredRecord,
  ) {
    const { expectedRevision: revision, afterEventId } = target.step;
    this.#store = store;
    this.#target = target;
    this.#at = { revision, lastEventId, messages, afterEventId, turnsCompleted: 0 };
  }

  addMessages(messages: readonly string[]): Promise<Result<void>> {
    this.#at = { ...this.#at, messages: this.#at.messages + messages.length };
    return this.#commit([], { messages });
  }

  async addTurn({ lastId, text }: S.FoldedTurn): Promise<Result<void>> {
    const { key, step } = this.#target;
    const firstId = this.#at.lastEventId + 1;
    const branched = branchedTurn(text, { from: step.from, to: key.sessionId, firstId });
    const { events } = branched;
    const turnsCompleted = this.#at.turnsCompleted + branched.turnsCompleted;
    this.#at = { ...this.#at, afterEventId: lastId, turnsCompleted };
    if (events.length === 0) return DONE;
    const [last = [], ...others] = batches(events).toReversed();
    for (const batch of others.toReversed()) {
      const committed = await this.#commit(batch);
      if (!committed.ok) return committed;
    }
    const through = firstId + events.length - 1;
    const turn = { firstId, lastId: through, text: `[${events.join(",")}]` };
    return this.#commit(last, { turn, trimThrough: through });
  }

  async end(): Promise<Result<PastCopied>> {
    const stored = await this.#stored();
    return stored.ok ? ok(this.#at) : stored;
  }

  async #commit(events: readonly string[], of?: Partial<S.Snapshot>): Promise<Result<void>> {
    const { key, term, manifest } = this.#target;
    const { lastEventId: afterEventId, revision: expectedRevision } = this.#at;
    const rest = { messages: [], slots: [], removedSlots: [], trimThrough: 0 };
    const snapshot = of && { expectedRevision, manifest, ...rest, ...of };
    const commit = { afterEventId, events, journal: [], ...(snapshot && { snapshot }) };
    this.#underWay.push(this.#store.commit(key, term, commit));
    const texts = [...events, ...(of?.messages ?? []), of?.turn?.text ?? ""];
    this.#bytesUnderWay += texts.reduce((sum, { length }) => sum + length, 0);
    const revision = expectedRevision + (snapshot === undefined ? 0 : 1);
    this.#at = { ...this.#at, lastEventId: afterEventId + events.length, revision };
    const isEnough =
      this.#underWay.length >= FORK_COMMITS_AT_ONCE_MAX ||
      this.#bytesUnderWay >= PAST_STEP_BYTES_MAX;
    return isEnough ? this.#stored() : DONE;
  }

  /** Resolves when the store has answered all commits, with the first refusal if there is one. */
  async #stored(): Promise<Result<void>> {
    const answers = await Promise.all(this.#underWay);
    this.#underWay = [];
    this.#bytesUnderWay = 0;
    for (const answer of answers) if (!answer.ok) return answer;
    return DONE;
  }
}

/** A turn that says much is written in several steps, like the one that it is a copy of. */
function batches(events: readonly string[]): readonly (readonly string[])[] {
  const all: string[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const event of events) {
    chars += event.length;
    if (chars > PAST_STEP_BYTES_MAX) {
      all.push([]);
      chars = event.length;
    }
    all.at(-1)?.push(event);
  }
  return all;
}

async function eachMessagePage(
  store: PlainStore,
  from: S.SessionKey,
  first: number,
  { messages: through }: PastStep,
  take: (texts: readonly string[]) => Promise<Result<void>>,
): Promise<Result<void>> {
  for (let after = first; after < through; ) {
    const limit = Math.min(PAGE_ROWS_MAX, through - after);
    const page = await store.readMessages(from, { after, limit });
    if (!page.ok) return page;
    const { rows } = page.value;
    if (rows.length === 0) return missing("messages");
    const taken = await take(rows.map(({ text }) => text));
    if (!taken.ok) return taken;
    after = rows.at(-1)?.id ?? through;
  }
  return DONE;
}

/**
 * Gives the folded turns of a step, oldest first, each when the one before has been taken. Stores
 * give them newest first, so the starts of the pages are found first; then never more than one page
 * is held.
 */
async function eachTurn(
  store: PlainStore,
  from: S.SessionKey,
  step: PastStep,
  take: (turn: S.FoldedTurn) => Promise<Result<void>>,
): Promise<Result<void>> {
  const starts: number[] = [];
  for (let before = step.throughEventId + 1; before > step.afterEventId + 1; ) {
    const page = await store.readTurns(from, { before, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    starts.push(before);
    before = page.value.more ? (page.value.rows.at(-1)?.lastId ?? 0) : 0;
  }
  for (const before of starts.toReversed()) {
    const page = await store.readTurns(from, { before, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    for (const turn of page.value.rows.toReversed()) {
      const taken = turn.lastId > step.afterEventId ? await take(turn) : DONE;
      if (!taken.ok) return taken;
    }
  }
  return DONE;
}

/** What its record says that it has. */
function missing(what: string): Result<never> {
  return fail("session_corrupt", { reason: `${what} of the session that is branched are missing` });
}
