import type { SessionId, TenantId } from "../core/id.ts";
import { LEAK_PATHS_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { shaped } from "./check.ts";
import type { SecretGuard } from "./secret.ts";
import type { Commit, JournalEntry, Snapshot } from "./store.ts";

/**
 * The last line of P11: no secret value that Fermata resolved reaches a disk. Texts of agents and
 * clients are redacted, because they cannot be sent back. Fields that Fermata and its extensions
 * wrote are refused, with paths and never the value, because that is a mistake to be repaired.
 */

/** What may be written, and where something was taken out of it: never what. */
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

/** Scans a write: its own fields, in which a secret refuses it, and the texts of its content. */
export function redactWrite(
  fields: unknown,
  content: Commit,
  guard: SecretGuard,
): Result<Redacted<Commit>> {
  return shaped(() => {
    const paths = guard.leaks(fields);
    return paths.length > 0 ? leak(paths) : redactCommit(content, guard);
  });
}

/**
 * A commit whose texts are free of secrets; the very same commit if they were. What is stored is
 * what is sent, so the sender redacts each text first, with `SecretGuard.redact`. The texts are
 * scanned here again, because chunks that were harmless apart may join to a secret.
 */
export function redactCommit(commit: Commit, guard: SecretGuard): Result<Redacted<Commit>> {
  return shaped(() => {
    const { events, snapshot, journal, ...own } = commit;
    const paths = [
      ...guard.leaks(own),
      ...(snapshot === undefined ? [] : snapshotLeaks(snapshot, guard)),
      ...journalLeaks(journal, guard),
    ];
    if (paths.length > 0) return leak(paths);
    const where: string[] = [];
    const firstId = commit.afterEventId + 1;
    const clean = {
      events: redactAll(events, guard, (index) => where.push(`events.${firstId + index}`)),
      ...(snapshot === undefined ? {} : { snapshot: redactSnapshot(snapshot, guard, where) }),
      journal: redactJournal(journal, guard, where),
    };
    return ok({ clean: where.length === 0 ? commit : { ...commit, ...clean }, where });
  });
}

/** Everything of a snapshot but its texts. A slot is named, so that its owner can be found. */
function snapshotLeaks(snapshot: Snapshot, guard: SecretGuard): readonly string[] {
  const { messages: _, turn: __, slots, ...own } = snapshot;
  return [
    ...guard.leaks(own),
    ...slots.flatMap((slot) => guard.leaks(slot, `slots.${slot.owner}`)),
  ];
}

/** A key is Fermata's and unique: redacted, two of them could become one. */
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
  const texts = entries.map(({ text }) => text);
  const clean = redactAll(texts, guard, (index) => where.push(`journal.${index}`));
  return entries.map((entry, index) => ({ ...entry, text: clean[index] ?? entry.text }));
}

/** The texts without their secrets; the very same list if there are none in it. */
function redactAll(
  texts: readonly string[],
  guard: SecretGuard,
  onFound: (index: number) => void,
): readonly string[] {
  let clean: string[] | null = null;
  for (const [index, text] of texts.entries()) {
    if (typeof text !== "string") throw new TypeError("a text is not a string");
    const redacted = guard.redact(text);
    if (redacted === text) continue;
    clean ??= [...texts];
    clean[index] = redacted;
    onFound(index);
  }
  return clean ?? texts;
}

function leak(paths: readonly string[]): Result<never> {
  return fail("secret_leak", { paths: paths.slice(0, LEAK_PATHS_MAX).join(", ") });
}
