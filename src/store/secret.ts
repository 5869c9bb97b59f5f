import { isObject } from "../core/json.ts";
import { fail, type Result } from "./result.ts";
import type { Commit, JournalEntry, SessionStore, Snapshot, StoredText } from "./store.ts";

/**
 * The last line of P11: no secret value that Fermata resolved reaches a disk. What agents and
 * people said is redacted, because it cannot be sent back; what we and extensions wrote is
 * refused, with paths and never the value, because that is a mistake to be mended.
 */
export class SecretGuard {
  readonly #known: () => readonly string[];
  #secrets: readonly string[] = [];
  #pattern: RegExp | null = null;

  /** The values known at the moment; the same list again is not looked at twice. */
  constructor(known: () => readonly string[]) {
    this.#known = known;
  }

  /** A JSON text without its secrets. Shorter values than eight characters are words, not keys. */
  redact(text: string): string {
    const pattern = this.#current();
    return pattern === null ? text : text.replaceAll(pattern, REDACTED);
  }

  /** The paths in a value under which a secret stands, one for each place. */
  leaks(value: unknown, path: string): readonly string[] {
    const pattern = this.#current();
    return pattern === null ? [] : leaksIn(value, path, (text) => text.search(pattern) >= 0);
  }

  #current(): RegExp | null {
    const known = this.#known();
    if (known === this.#secrets) return this.#pattern;
    this.#secrets = known;
    const long = known.filter(({ length }) => length >= SECRET_CHARS_MIN);
    const forms = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
    const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
    this.#pattern = long.length === 0 ? null : new RegExp(longestFirst.map(literal).join("|"), "g");
    return this.#pattern;
  }
}

const SECRET_CHARS_MIN = 8;
const REDACTED = "[redacted]";

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** What is nested deeper than this, or contains itself, the store refuses anyway. */
const DEPTH_MAX = 128;

function leaksIn(
  value: unknown,
  path: string,
  isSecret: (text: string) => boolean,
  depth = 0,
): string[] {
  if (depth > DEPTH_MAX) return [];
  if (typeof value === "string") return isSecret(value) ? [path] : [];
  if (value instanceof Uint8Array) return isSecret(Buffer.from(value).toString()) ? [path] : [];
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(isSecret(key) ? [`${path}.[key]`] : []),
    ...leaksIn(inner, isSecret(key) ? `${path}.[key]` : `${path}.${key}`, isSecret, depth + 1),
  ]);
}

/** A commit whose events, messages and journal are free of secrets, and what else is not. */
export function redactCommit(commit: Commit, guard: SecretGuard): Result<Commit> {
  const { record, snapshot } = commit;
  const paths = [
    ...guard.leaks(record, "record"),
    ...guard.leaks(snapshot?.manifest, "manifest"),
    ...(snapshot?.slots ?? []).flatMap(({ owner, version, payload }) =>
      guard.leaks({ owner, version, payload }, `slots.${guard.redact(owner)}`),
    ),
  ];
  if (paths.length > 0) return leak(paths);
  const redacted = (row: StoredText): StoredText => ({ ...row, text: guard.redact(row.text) });
  const journal = commit.journal.map((entry) => ({
    ...entry,
    key: guard.redact(entry.key),
    text: guard.redact(entry.text),
  }));
  const next = { ...commit, events: commit.events.map(redacted), journal };
  const value = snapshot ? { ...next, snapshot: redactSnapshot(snapshot, guard) } : next;
  return { ok: true, value };
}

/** Chunks that were harmless apart may join to a secret, so joined texts are looked at again. */
function redactSnapshot(snapshot: Snapshot, guard: SecretGuard): Snapshot {
  const { turn } = snapshot;
  const messages = snapshot.messages.map((text) => guard.redact(text));
  const rest = { ...snapshot, messages };
  return turn ? { ...rest, turn: { ...turn, text: guard.redact(turn.text) } } : rest;
}

function leak(paths: readonly string[]): Result<never> {
  return fail("secret_leak", { paths: paths.join(", ") });
}

/** The same store, with the guard in front of every write. */
export function guardSecrets(store: SessionStore, guard: SecretGuard): SessionStore {
  const checked = <Value>(value: unknown, path: string, write: () => Promise<Result<Value>>) => {
    const paths = guard.leaks(value, path);
    return paths.length > 0 ? Promise.resolve(leak(paths)) : write();
  };
  const redacted = (entries: readonly JournalEntry[]) =>
    entries.map((entry) => ({
      ...entry,
      key: guard.redact(entry.key),
      text: guard.redact(entry.text),
    }));
  const guarded: Partial<SessionStore> = {
    create: (key, session) =>
      checked({ manifest: session.manifest, record: session.record }, "session", async () => {
        const commit = redactCommit(session.commit, guard);
        return commit.ok ? store.create(key, { ...session, commit: commit.value }) : commit;
      }),
    commit: async (key, term, commit) => {
      const redacted = redactCommit(commit, guard);
      return redacted.ok ? store.commit(key, term, redacted.value) : redacted;
    },
    writeDocument: (tenantId, document) =>
      checked(document, "document", () => store.writeDocument(tenantId, document)),
    writeBlob: (tenantId, bytes) => checked(bytes, "blob", () => store.writeBlob(tenantId, bytes)),
    appendJournal: async (tenantId, entries) => store.appendJournal(tenantId, redacted(entries)),
    open: async (key, holder, audit) => store.open(key, holder, redacted(audit)),
    delete: async (key, audit) => store.delete(key, redacted(audit)),
  };
  return new Proxy(store, {
    get: (target, name) => {
      const own: unknown = Reflect.get(guarded, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
