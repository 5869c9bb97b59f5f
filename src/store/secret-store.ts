import type { SessionId, TenantId } from "../core/id.ts";
import { LEAK_PATHS_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { invalid } from "./check.ts";
import type { SecretGuard } from "./secret.ts";
import type { Commit, DocumentWrite, JournalEntry, SessionStore, Snapshot } from "./store.ts";

/**
 * The last line of P11: no secret value that Fermata resolved reaches a disk. What agents and
 * people said is redacted, because it cannot be sent back; what we and extensions wrote is
 * refused, with paths and never the value, because that is a mistake to be mended.
 */

/** What may be written, and where something had to be taken out of it: never what. */
export interface Redacted<Value> {
  readonly clean: Value;
  /** As `events.12` (its id), `messages.0`, `turn` or `journal.0`; empty if nothing was found. */
  readonly where: readonly string[];
}

/** Something was redacted on its way to the disk; without a session if it is a tenant's entry. */
export interface Redaction {
  readonly tenantId: TenantId;
  readonly sessionId: SessionId | null;
  readonly where: readonly string[];
}

/**
 * A commit whose texts are free of secrets; the very same commit if they were. What is stored is
 * what is sent, so whoever sends redacts each text first, with `SecretGuard.redact`. Here they are
 * looked at again, because chunks that were harmless apart may join to a secret.
 */
export function redactCommit(commit: Commit, guard: SecretGuard): Result<Redacted<Commit>> {
  return judged(() => {
    const { events, snapshot, journal, ...own } = commit;
    if (!textsOf(commit).every((text) => typeof text === "string")) {
      return invalid("text", "it is none");
    }
    const paths = [
      ...guard.leaks(own),
      ...(snapshot === undefined ? [] : snapshotLeaks(snapshot, guard)),
      ...journalLeaks(journal, guard),
    ];
    if (paths.length > 0) return leak(paths);
    const where: string[] = [];
    const clean = {
      ...commit,
      events: redactAll(events, guard, (index) =>
        where.push(`events.${commit.afterEventId + index + 1}`),
      ),
      ...(snapshot === undefined ? {} : { snapshot: redactSnapshot(snapshot, guard, where) }),
      journal: redactJournal(journal, guard, where),
    };
    return ok({ clean: where.length === 0 ? commit : clean, where });
  });
}

function textsOf({ events, snapshot, journal }: Commit): readonly unknown[] {
  const turns = snapshot?.turn === undefined ? [] : [snapshot.turn];
  const rows = [...journal, ...turns].map(({ text }) => text);
  return [...events, ...(snapshot?.messages ?? []), ...rows];
}

/** Everything of a snapshot but what was said. A slot is named, so that its owner can be found. */
function snapshotLeaks(snapshot: Snapshot, guard: SecretGuard): readonly string[] {
  const { messages: _, turn: __, slots, ...own } = snapshot;
  return [
    ...guard.leaks(own),
    ...slots.flatMap((slot) => guard.leaks(slot, `slots.${slot.owner}`)),
  ];
}

/** A key is ours and unique: redacted, two of them could become one. */
function journalLeaks(entries: readonly JournalEntry[], guard: SecretGuard): readonly string[] {
  return entries.flatMap(({ text: _, ...own }, index) => guard.leaks(own, `journal.${index}`));
}

function redactSnapshot(snapshot: Snapshot, guard: SecretGuard, where: string[]): Snapshot {
  const { turn } = snapshot;
  const messages = redactAll(snapshot.messages, guard, (index) => where.push(`messages.${index}`));
  if (turn === undefined) return { ...snapshot, messages };
  const [text = turn.text] = redactAll([turn.text], guard, () => where.push("turn"));
  return { ...snapshot, messages, turn: { ...turn, text } };
}

function redactJournal(
  entries: readonly JournalEntry[],
  guard: SecretGuard,
  where: string[],
): readonly JournalEntry[] {
  const texts = redactAll(
    entries.map(({ text }) => text),
    guard,
    (index) => where.push(`journal.${index}`),
  );
  return entries.map((entry, index) => ({ ...entry, text: texts[index] ?? entry.text }));
}

/** The texts without their secrets; the very same list if there are none in it. */
function redactAll(
  texts: readonly string[],
  guard: SecretGuard,
  found: (index: number) => void,
): readonly string[] {
  let clean: string[] | null = null;
  for (const [index, text] of texts.entries()) {
    const redacted = guard.redact(text);
    if (redacted === text) continue;
    clean ??= [...texts];
    clean[index] = redacted;
    found(index);
  }
  return clean ?? texts;
}

/** A write in which nothing was said; entries for a journal may come with it. */
const SILENT = { afterEventId: 0, events: [], journal: [] } as const;

/**
 * The same store, with the guard in front of every write. Each redaction that has been written is
 * told, because then somebody has sent what was not redacted. A key is looked at where it makes
 * something; elsewhere it only names what is there, and what turned out to be a secret later can
 * still be closed and deleted.
 */
export function guardSecrets(
  store: SessionStore,
  guard: SecretGuard,
  onRedacted: (redaction: Redaction) => void = () => {},
): SessionStore {
  const { judge, pass } = doorOf(guard, onRedacted);
  const judgeDocument = (tenantId: TenantId, { entries = [], ...document }: DocumentWrite) =>
    judge({ tenantId, document }, { ...SILENT, journal: entries });
  return {
    ...unguarded(store),
    create: (key, session) =>
      pass(
        key,
        () => judge({ ...key, ...session, commit: null }, session.commit),
        (commit) => store.create(key, { ...session, commit }),
      ),
    open: (key, holder, audit) =>
      pass(
        key,
        () => judge({ holder }, { ...SILENT, journal: audit }),
        ({ journal }) => store.open(key, holder, journal),
      ),
    seize: (key, holder, audit) =>
      pass(
        key,
        () => judge({ holder }, { ...SILENT, journal: audit }),
        ({ journal }) => store.seize(key, holder, journal),
      ),
    commit: (key, term, commit) =>
      pass(
        key,
        () => redactCommit(commit, guard),
        (clean) => store.commit(key, term, clean),
      ),
    cutLog: (key, term, cut) =>
      pass(
        key,
        () => judge({ ...cut, audit: null }, { ...SILENT, journal: cut.audit }),
        ({ journal }) => store.cutLog(key, term, { ...cut, audit: journal }),
      ),
    delete: (key, holder, audit) =>
      pass(
        key,
        () => judge({ holder }, { ...SILENT, journal: audit }),
        ({ journal }) => store.delete(key, holder, journal),
      ),
    appendJournal: (tenantId, entries) =>
      pass(
        { tenantId },
        () => judge({ tenantId }, { ...SILENT, journal: entries }),
        ({ journal }) => store.appendJournal(tenantId, journal),
      ),
    writeDocument: (tenantId, document) =>
      pass(
        { tenantId },
        () => judgeDocument(tenantId, document),
        ({ journal }) => store.writeDocument(tenantId, { ...document, entries: journal }),
      ),
    writeBlob: (tenantId, blob) =>
      pass(
        { tenantId },
        () => judge({ tenantId, blob }, SILENT),
        () => store.writeBlob(tenantId, blob),
      ),
  };
}

type Guarded =
  | ("create" | "open" | "seize" | "commit" | "cutLog" | "delete")
  | ("appendJournal" | "writeDocument" | "writeBlob");

/** What brings nothing new to the disk. A new operation does not compile until it is decided. */
function unguarded(store: SessionStore): Omit<SessionStore, Guarded> {
  return {
    contract: store.contract,
    init: (host, config) => store.init(host, config),
    activate: () => store.activate(),
    deactivate: () => store.deactivate(),
    dispose: () => store.dispose(),
    close: (key, term) => store.close(key, term),
    readRecord: (key) => store.readRecord(key),
    readManifest: (key) => store.readManifest(key),
    readEvents: (key, range) => store.readEvents(key, range),
    readTurns: (key, range) => store.readTurns(key, range),
    readMessages: (key, range) => store.readMessages(key, range),
    readSlots: (key) => store.readSlots(key),
    list: (tenantId, filter, page) => store.list(tenantId, filter, page),
    tenants: () => store.tenants(),
    removeTenant: (tenantId, holder) => store.removeTenant(tenantId, holder),
    readJournal: (tenantId, query) => store.readJournal(tenantId, query),
    readDocument: (tenantId, kind, key) => store.readDocument(tenantId, kind, key),
    listDocuments: (tenantId, kind, after) => store.listDocuments(tenantId, kind, after),
    readBlob: (tenantId, hash) => store.readBlob(tenantId, hash),
  };
}

/** Whose write it is; a session's, or a tenant's. */
type Whose = Pick<Redaction, "tenantId"> & Partial<Pick<Redaction, "sessionId">>;

/** Through it goes only what has been looked at, and whatever it throws becomes an answer. */
function doorOf(guard: SecretGuard, onRedacted: (redaction: Redaction) => void) {
  const judge = (own: unknown, said: Commit): Result<Redacted<Commit>> => {
    const paths = guard.leaks(own);
    return paths.length > 0 ? leak(paths) : redactCommit(said, guard);
  };
  const tell = ({ tenantId, sessionId = null }: Whose, where: readonly string[]) => {
    try {
      onRedacted({ tenantId, sessionId, where });
    } catch {
      // It is written already, so a listener that fails must not make it look as if it were not.
    }
  };
  const pass = async <Value>(
    whose: Whose,
    look: () => Result<Redacted<Commit>>,
    write: (clean: Commit) => Promise<Result<Value>>,
  ): Promise<Result<Value>> => {
    const looked = judged(look);
    if (!looked.ok) return looked;
    const { clean, where } = looked.value;
    try {
      const written = await write(clean);
      if (written.ok && where.length > 0) tell(whose, where);
      return written;
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return fail("store_unavailable", { reason: guard.redact(reason) });
    }
  };
  return { judge, pass };
}

function leak(paths: readonly string[]): Result<never> {
  return fail("secret_leak", { paths: paths.slice(0, LEAK_PATHS_MAX).join(", ") });
}

/** What is not even of the right shape trips whoever looks at it; that is an answer too. */
function judged<Value>(look: () => Result<Value>): Result<Value> {
  try {
    return look();
  } catch {
    return invalid("input", "it is not of the shape that this operation takes");
  }
}
