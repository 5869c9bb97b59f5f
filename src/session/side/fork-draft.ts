import { EVENTS_KEPT_BYTES_MAX } from "../../core/limits.ts";
import { compactSegment, type LogEvent } from "../../core/replay/compact.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { type Command, SERVER } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import { CORE_SLOT, writeSlot } from "../../core/session/slot.ts";
import type { Creation, Session } from "../../core/session/state.ts";
import { UNFINISHED_FORK } from "../../core/session/visibility.ts";
import type {
  Commit,
  FoldedTurn,
  JournalEntry,
  Manifest,
  PastStep,
  SessionKey,
  Slot,
  Snapshot,
} from "../../store/store.ts";
import {
  EMPTY_WINDOW,
  type LogWindow,
  WINDOW_SLOT,
  windowText,
  windowWith,
} from "../actor/history.ts";
import { recordOf, type Written, writeEvents } from "../actor/written.ts";
import { auditEntries, deletionEntry } from "../audit/entries.ts";
import { isTenantsOwn } from "../life/recovery.ts";
import { sessionPages } from "../replay.ts";
import type { SessionWorld } from "../world.ts";

/** An unfinished fork is shown to no client: opening it would take it from its maker. */
export function isUnfinishedFork({ sourceType }: { readonly sourceType: string | null }): boolean {
  return sourceType === UNFINISHED_FORK;
}

/**
 * Deletes what servers left half-made that were killed while they made it. For the start of a
 * server, before any fork; one that a living server is making is left alone.
 */
export async function deleteUnfinishedForks({
  store,
  holder,
  clock,
}: SessionWorld): Promise<Result<number>> {
  const tenants = await store.tenants();
  if (!tenants.ok) return tenants;
  let deleted = 0;
  for (const tenantId of tenants.value) {
    for await (const page of sessionPages(store, tenantId, { sourceType: UNFINISHED_FORK })) {
      if (!page.ok && isTenantsOwn(page.refusal)) break;
      if (!page.ok) return page;
      for (const row of page.value.sessions) {
        const audit = [deletionEntry({ ...row, actor: SERVER, atMs: clock.nowMs() })];
        const gone = await store.delete({ tenantId, sessionId: row.sessionId }, holder, audit);
        if (gone.ok) deleted += 1;
      }
    }
  }
  return ok(deleted);
}

/** The copy that an agent has made of its side, if it has, and what is known of that side. */
type AgentCopy = Pick<Session, "agentSessionId" | "agentUsualMode" | "agentOffer">;

/** What is taken over of another session's past. */
export type Past = Omit<PastStep, "afterEventId" | "expectedRevision">;

/** What the manifest has from elsewhere. */
type ManifestSource = Pick<Manifest, "mode" | "projectRoot" | "smState">;

/** Who makes it, and what binds that user. */
export type ForkMaker = Pick<Command, "actor" | "bound">;

/**
 * A session that is being made from another, in steps of bounded size. Until the last of them it
 * is closed and marked as unfinished, and no client sees it; the last one makes it an
 * ordinary session at rest, and tells the audit.
 */
export class ForkDraft {
  readonly key: SessionKey;
  readonly #world: SessionWorld;
  readonly #log: ForkLog;
  readonly #manifest: Manifest;
  readonly #atMs: number;
  #term = 0;
  #revision = 0;
  /** Where the stored log ends, and what its newest events weigh that no snapshot has closed. */
  #storedThrough = 0;
  #openBytes = 0;
  #window: LogWindow = EMPTY_WINDOW;
  #turnsCompleted = 0;

  constructor(world: SessionWorld, key: SessionKey, source: ManifestSource) {
    this.#world = world;
    this.key = key;
    this.#log = new ForkLog(key, world.ids.epoch());
    this.#atMs = world.clock.nowMs();
    const { sessionId } = key;
    const { mode, projectRoot, smState } = source;
    const { storeId } = world.store.contract;
    const times = { createdAt: this.#atMs, updatedAt: this.#atMs };
    const machine = smState === undefined ? {} : { smState };
    this.#manifest = { sessionId, storeId, mode, projectRoot, ...machine, ...times };
  }

  /** The first step. If it is refused, there is nothing to take back. */
  async begin(creation: Creation, currentCwd: string, by: ForkMaker): Promise<Result<void>> {
    const { sessionId } = this.key;
    const created = this.#log.decided({
      atMs: this.#atMs,
      ...by,
      type: "create",
      sessionId,
      creation,
    });
    if (!created.ok) return created;
    const moved = this.#log.decided({ ...this.#server(), type: "change_cwd", to: currentCwd });
    if (!moved.ok) return moved;
    const written = this.#weighed([...created.value, ...moved.value]);
    const leaks = written.some(({ text }) => this.#world.redact(text) !== text);
    if (leaks) return fail("secret_leak", { paths: "creation" });
    const session = this.#log.session;
    if (!session.ok) return session;
    const record = recordOf(session.value, this.#atMs);
    const turn = turnOf(written, compactSegment(written.map(({ event }) => event)));
    const made = await this.#world.store.create(this.key, {
      holder: this.#world.holder,
      manifest: this.#manifest,
      record: { ...record, closed: true, sourceType: UNFINISHED_FORK },
      epoch: this.#log.epoch,
      commit: this.#commitOf(written, { snapshot: this.#snapshot({ turn }) }),
    });
    if (!made.ok) return made;
    this.#term = made.value.term;
    this.#revision = made.value.revision;
    this.#storedThrough = written.length;
    return DONE;
  }

  /** The state of an owner that is not here, as it is; each may be large. */
  addSlot(slot: Slot): Promise<Result<void>> {
    return this.#commit([], { snapshot: this.#snapshot({ slots: [slot] }) });
  }

  /**
   * Takes over the past of another session, in steps of bounded size, between which other sessions
   * are served. `mayGoOn` is asked before each.
   */
  async addPast(past: Past, mayGoOn: () => Promise<Result<void>>): Promise<Result<void>> {
    const { store } = this.#world;
    let at: Pick<PastStep, "messages" | "afterEventId"> = { messages: 0, afterEventId: 0 };
    while (at.messages < past.messages || at.afterEventId < past.throughEventId) {
      const may = await mayGoOn();
      if (!may.ok) return may;
      const { messages, afterEventId } = at;
      const step = { ...past, afterEventId, expectedRevision: this.#revision };
      const copied = await store.copyPast(this.key, this.#term, step);
      if (!copied.ok) return copied;
      at = copied.value;
      if (at.messages === messages && at.afterEventId === afterEventId) return NOT_WHOLE;
      this.#revision = copied.value.revision;
      this.#storedThrough = copied.value.lastEventId;
      this.#turnsCompleted += copied.value.turnsCompleted;
    }
    this.#log.goesOnAfter(this.#storedThrough);
    this.#window = { trimThrough: this.#storedThrough, stretches: [] };
    return DONE;
  }

  /** The last step: from here on it is a session, inactive until a client opens it. */
  async finish(side: AgentCopy): Promise<Result<void>> {
    const rested = this.#log.decided({ ...this.#server(), type: "stop", reason: "evicted" });
    if (!rested.ok) return rested;
    const decided = this.#log.session;
    if (!decided.ok) return decided;
    // A session without a turn has no past that its agent would receive.
    const turnsCompleted = Math.max(1, this.#turnsCompleted);
    const totals = { ...decided.value.totals, turnsCompleted };
    // The agent's own copy has received all of the conversation.
    const agentUntold = side.agentSessionId === null;
    const agentEpoch = this.#log.epoch;
    const session = { ...decided.value, ...side, agentEpoch, agentUntold, totals };
    const written = this.#weighed(rested.value);
    const snapshot = this.#snapshot({});
    const core = { ...CORE_SLOT, payload: encode(writeSlot(session)) };
    const window = { ...WINDOW_SLOT, payload: encode(windowText(this.#window)) };
    const committed = await this.#commit(written, {
      record: recordOf(session, this.#atMs),
      journal: this.#log.journal,
      snapshot: { ...snapshot, slots: [core, window] },
    });
    return committed.ok ? this.#world.store.close(this.key, this.#term) : committed;
  }

  /** What cannot be deleted now is deleted after the next start. */
  async discard(): Promise<void> {
    const { sessionId } = this.key;
    const { epoch, session } = this.#log;
    const audience = session.ok ? (session.value.chosen.audience ?? null) : [];
    const atMs = this.#world.clock.nowMs();
    const audit = [deletionEntry({ sessionId, epoch, audience, actor: SERVER, atMs })];
    await this.#world.store.delete(this.key, this.#world.holder, audit);
  }

  async #commit(written: readonly Written[], more: Partial<Commit>): Promise<Result<void>> {
    const { store } = this.#world;
    const committed = await store.commit(this.key, this.#term, this.#commitOf(written, more));
    if (!committed.ok) return committed;
    this.#revision = committed.value.revision;
    this.#storedThrough = committed.value.lastEventId;
    return DONE;
  }

  #commitOf(written: readonly Written[], more: Partial<Commit>): Commit {
    const events = written.map(({ text }) => text);
    return { afterEventId: this.#storedThrough, events, journal: [], ...more };
  }

  #weighed(written: readonly Written[]): readonly Written[] {
    for (const { text } of written) this.#openBytes += Buffer.byteLength(text);
    return written;
  }

  /** Closes all that has been written or is written with it. */
  #snapshot(content: Partial<Snapshot>): Snapshot {
    const { eventsKeptMax: eventsMax } = this.#world.settings;
    const bounds = { eventsMax, bytesMax: EVENTS_KEPT_BYTES_MAX };
    const closed = { lastId: this.#log.lastEventId, bytes: this.#openBytes };
    this.#window = windowWith(this.#window, closed, bounds);
    this.#openBytes = 0;
    return {
      expectedRevision: this.#revision,
      manifest: this.#manifest,
      messages: [],
      slots: [],
      removedSlots: [],
      trimThrough: this.#window.trimThrough,
      ...content,
    };
  }

  #server() {
    return { atMs: this.#atMs, actor: SERVER };
  }
}

/** What its record said is not there, and no step finds it. */
const NOT_WHOLE = fail("session_corrupt", { reason: "the past that is branched is not whole" });

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function turnOf(written: readonly Written[], folded: readonly LogEvent[]): FoldedTurn {
  const text = JSON.stringify(folded);
  return { firstId: written[0]?.id ?? 1, lastId: written.at(-1)?.id ?? 1, text };
}

/** The log of a session that is made from another: what the core decides around the copied past. */
class ForkLog {
  readonly epoch: string;
  readonly #key: SessionKey;
  readonly #journal: JournalEntry[] = [];
  #session: Session | null = null;
  #lastEventId = 0;

  constructor(key: SessionKey, epoch: string) {
    this.#key = key;
    this.epoch = epoch;
  }

  get lastEventId(): number {
    return this.#lastEventId;
  }

  /** The audit entries, to be written when the fork is finished. */
  get journal(): readonly JournalEntry[] {
    return this.#journal;
  }

  get session(): Result<Session> {
    const { sessionId } = this.#key;
    return this.#session === null ? fail("session_not_found", { sessionId }) : ok(this.#session);
  }

  decided(command: Command): Result<readonly Written[]> {
    const decision = decide(this.#session, command);
    if (decision.kind === "refused") return { ok: false, refusal: decision.refusal };
    const { sessionId } = this.#key;
    const firstEventId = this.#lastEventId + 1;
    const about = { sessionId, epoch: this.epoch, firstEventId };
    this.#journal.push(...auditEntries({ ...about, command, decision, revision: null }));
    this.#session = decision.session;
    this.#lastEventId += decision.events.length;
    return ok(writeEvents(decision.events, firstEventId));
  }

  /** The past has been copied into it, up to here. */
  goesOnAfter(lastEventId: number) {
    this.#lastEventId = lastEventId;
  }
}
