import assert from "node:assert/strict";
import type { SessionId, TenantId } from "../../../core/id.ts";
import type { Result } from "../../../core/result.ts";
import { MemorySession } from "../../memory/tenant.ts";
import type * as S from "../../store.ts";
import { digests } from "../expect.ts";
import { DOOMED } from "./doomed.ts";
import type { ExpectedRefusal, Line, SessionStep, StoreStep } from "./workload.ts";

/** A call that has had its effect, and the term that it gave, if it gave one. */
export interface Played {
  readonly step: SessionStep;
  readonly term: number;
}

/** A session with what it has put into the journals; null where it is not there. */
export interface Expected {
  readonly session: ReturnType<typeof viewOf> | null;
  readonly entries: readonly S.JournalEntry[];
}

/**
 * What a session has to be after some of its calls. The memory store's session stands in for the
 * real one: it is the contract in its shortest form, and has the kit's own tests.
 */
export class SessionModel {
  readonly #sessionId: SessionId;
  readonly #entries = new Map<string, S.JournalEntry>();
  #session: MemorySession | null = null;
  #term = 0;

  constructor(sessionId: SessionId, played: readonly Played[]) {
    this.#sessionId = sessionId;
    for (const { step, term } of played) this.apply(step, term);
  }

  get expected(): Expected {
    const session = this.#session === null ? null : viewOf(this.#session);
    return { session, entries: byJournal([...this.#entries.values()]) };
  }

  get holder() {
    return this.#session?.holder ?? null;
  }

  /** The highest that any session of this id has had. */
  get term(): number {
    return this.#term;
  }

  apply(step: SessionStep, term: number) {
    this.#term = Math.max(this.#term, term);
    switch (step.op) {
      case "create":
        this.#session = new MemorySession(this.#sessionId, step.session, term);
        this.#commit(step.session.commit);
        break;
      case "open":
      case "seize":
        this.#session?.own(step.holder, term);
        this.#journal(step.audit);
        break;
      case "commit":
        this.#commit(step.commit);
        break;
      case "close":
        this.#session?.release();
        break;
      case "cutLog":
        this.#session?.cutLog(step.cut);
        this.#journal(step.cut.audit);
        break;
      case "delete":
        this.#session = null;
        this.#journal(step.audit);
        break;
    }
  }

  #commit(commit: S.Commit) {
    this.#session?.apply(commit);
    this.#journal(commit.journal);
  }

  #journal(entries: readonly S.JournalEntry[]) {
    for (const entry of entries) {
      const name = `${entry.journal} ${entry.key}`;
      if (!this.#entries.has(name)) this.#entries.set(name, entry);
    }
  }
}

/** Each journal counts its own entries, so only the order within one of them can be seen. */
function byJournal(entries: readonly S.JournalEntry[]): readonly S.JournalEntry[] {
  const of = (name: S.JournalName) => entries.filter(({ journal }) => journal === name);
  return [...of("audit"), ...of("ledger")];
}

function viewOf(session: MemorySession) {
  const all = { after: 0, limit: Number.MAX_SAFE_INTEGER };
  const { events, lastEventId } = session.readEvents(all);
  assert.equal(events.at(-1)?.id ?? lastEventId, lastEventId, TOO_LARGE);
  return {
    record: session.record,
    manifest: session.manifest,
    events,
    turns: whole(session.readTurns({ before: Number.MAX_SAFE_INTEGER, limit: 1_000_000 })),
    messages: whole(session.readMessages(all)),
    slots: digests(session.readSlots().slots),
  };
}

/** The work is bounded so that one page of the model has all of a session. */
function whole<Row>({ rows, more }: S.Page<Row>): readonly Row[] {
  assert.ok(!more, TOO_LARGE);
  return rows;
}

const TOO_LARGE = "the work has made a session that does not fit into a page";

/** A call that a child has made, and what the store said to it, if it lived to hear it. */
export interface Called<Of extends StoreStep = StoreStep> {
  readonly step: Of;
  readonly refused: ExpectedRefusal;
  readonly answer: Result<unknown> | null;
}

/** One session: the calls that are known to have had their effect, and those in question. */
export interface SessionHistory {
  readonly key: S.SessionKey;
  readonly settled: Played[];
  readonly called: Called<SessionStep>[];
}

type TenantStep = Exclude<StoreStep, SessionStep>;

/** All that has ever been done to a place, by one process after another. */
export class History {
  /** What is certain of a tenant: its documents, blobs by hash, and entries of no session. */
  readonly documents = new Map<string, S.Document>();
  readonly blobs = new Map<string, Uint8Array>();
  readonly entries = new Map<string, S.JournalEntry>();
  /** What was done to the tenant that is removed again and again, since its last removal. */
  doomed: readonly Called[] = [];
  readonly #sessions = new Map<string, SessionHistory>();
  #called: Called<TenantStep>[] = [];

  /** Adds what a child has said before it died. An answer that it should not have got fails. */
  hear(lines: readonly Line[]) {
    const answers = new Map<number, Result<unknown>>();
    for (const line of lines) if (line.says === "answered") answers.set(line.n, line.answer);
    for (const line of lines) {
      if (line.says !== "calls") continue;
      const { step, refused } = line;
      const answer = answers.get(line.n) ?? null;
      if (answer !== null) isExpected(step, refused, answer);
      if (tenantOf(step) === DOOMED) this.doomed = [...this.doomed, { step, refused, answer }];
      else if ("key" in step) this.of(step.key).called.push({ step, refused, answer });
      else this.#called.push({ step, refused, answer });
    }
  }

  of(key: S.SessionKey): SessionHistory {
    const name = `${key.tenantId} ${key.sessionId}`;
    const history = this.#sessions.get(name) ?? { key, settled: [], called: [] };
    this.#sessions.set(name, history);
    return history;
  }

  get sessions(): readonly SessionHistory[] {
    return [...this.#sessions.values()];
  }

  /** The last child's calls that are about no session, which are then known. */
  takeCalls(): readonly Called<TenantStep>[] {
    const called = this.#called;
    this.#called = [];
    return called;
  }
}

function tenantOf(step: StoreStep): TenantId {
  return "key" in step ? step.key.tenantId : step.tenantId;
}

function isExpected(step: StoreStep, refused: ExpectedRefusal, answer: Result<unknown>) {
  const code = answer.ok ? null : answer.refusal.code;
  const said = JSON.stringify(answer).slice(0, 500);
  assert.equal(code, refused, `${step.op} was answered with ${said}`);
}
