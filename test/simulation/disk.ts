import { hostname } from "node:os";
import { UNFINISHED_FORK } from "../../src/core/session/visibility.ts";
import type {
  Commit,
  Holder,
  NewSession,
  SessionKey,
  SessionRecord,
  SessionStore,
} from "../../src/store/index.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Judge } from "./judge.ts";
import { StoredLog } from "./stored-log.ts";
import { foreignWords, type Words } from "./words.ts";

/** What outlives servers: a real store, and beside it a second account of what it was given. */
export class Disk {
  readonly store: SessionStore;
  readonly logs = new Map<string, StoredLog>();
  /** The names of all sessions that ever were. */
  readonly known = new Set<string>();
  readonly #judge: Judge;
  readonly #words: Words;
  readonly #epochs = new Set<string>();

  private constructor(store: SessionStore, judge: Judge, words: Words) {
    this.store = store;
    this.#judge = judge;
    this.#words = words;
  }

  static async open(judge: Judge, words: Words): Promise<Disk> {
    const store = memoryStore();
    const host = {
      persistenceSurface: { announce: () => {} },
      env: { get: () => undefined },
      audit: () => {},
    };
    await store.init(host, { active: true });
    await store.activate();
    return new Disk(store, judge, words);
  }

  /** Those that are still being made from another one; no client may see them. */
  get drafts(): readonly StoredLog[] {
    return [...this.logs.values()].filter(({ isDraft }) => isDraft);
  }

  /** No client sees a fork before it is finished, and its source's log says so. */
  isAnnounced({ key, record, isDraft }: StoredLog): boolean {
    const sourceId = record?.sourceType === "branch" ? record.sourceId : null;
    const source = sourceId === null ? undefined : this.logs.get(`${key.tenantId}/${sourceId}`);
    return !isDraft && (source === undefined || source.branches.has(key.sessionId));
  }

  made(key: SessionKey, { epoch, record, commit }: NewSession) {
    const name = nameOf(key);
    this.#judge.holds(!this.#epochs.has(epoch), "P3", () => `${name} has another's ${epoch}`);
    this.#epochs.add(epoch);
    this.known.add(name);
    const log = new StoredLog(key, epoch, this.#judge);
    this.logs.set(name, log);
    log.isDraft = record.sourceType === UNFINISHED_FORK;
    this.wrote(key, { ...commit, record });
  }

  wrote(key: SessionKey, commit: Commit) {
    this.#judgeWords(key, commit);
    const log = this.log(key);
    if (log === undefined) return;
    if (commit.record !== undefined) {
      const isDraft = commit.record.sourceType === UNFINISHED_FORK;
      if (log.isDraft && !isDraft) log.copiedThrough = log.lastId;
      log.isDraft = isDraft;
      log.record = commit.record;
    }
    log.append(commit.events);
  }

  deleted(key: SessionKey) {
    this.logs.delete(nameOf(key));
  }

  log(key: SessionKey): StoredLog | undefined {
    return this.logs.get(nameOf(key));
  }

  /** Nothing that is written has a secret in it, or a word of another tenant (P11, P8). */
  #judgeWords(key: SessionKey, { events, snapshot, record }: Commit) {
    const said = [...events, ...(snapshot?.messages ?? []), snapshot?.turn?.text ?? ""];
    const own = record === undefined ? [] : [nameIn(record)];
    if (this.#words.hasSecret) {
      const slots = (snapshot?.slots ?? []).map(({ payload }) => new TextDecoder().decode(payload));
      const leak = [...said, ...slots, ...own].find((text) => this.#words.leaks(text));
      const sentence = () => `${nameOf(key)}: a secret is on the disk: ${leak?.slice(0, 400)}`;
      this.#judge.holds(leak === undefined, "P11", sentence);
    }
    for (const text of [...said, ...own]) {
      const foreign = foreignWords(text, key.tenantId);
      this.#judge.holds(foreign === null, "P8", () => `${nameOf(key)} has ${foreign}`);
    }
  }
}

function nameIn({ displayName }: SessionRecord): string {
  return displayName ?? "";
}

/** What a session is called here; two tenants may each have one of the same id. */
export function nameOf({ tenantId, sessionId }: SessionKey): string {
  return `${tenantId}/${sessionId}`;
}

/**
 * Who owns sessions in a server's name. It claims to be of an earlier boot, so that the next server
 * finds it gone: simulated servers live one after the other, never side by side.
 */
export function holderOf(server: number): Holder {
  const label = `server ${server}`;
  return { host: HOST, bootId: "simulated", pid: server, startedAt: "0", label };
}

const HOST = hostname();
