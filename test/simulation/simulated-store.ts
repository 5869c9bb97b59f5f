import type { TenantId } from "../../src/core/id.ts";
import { ACTOR_BYTES_WAITING_MAX } from "../../src/core/limits.ts";
import { fail, type Result } from "../../src/core/result.ts";
import type * as S from "../../src/store/index.ts";
import { copyByCommits } from "../../src/store/past.ts";
import { nameOf } from "./disk.ts";
import { Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

/**
 * The store as one server meets it: slow, sometimes away, sometimes silent about what it did. The
 * disk behind it is a real store and is never at fault.
 */
export class SimulatedStore implements S.SessionStore {
  readonly contract: S.StoreContract;
  readonly #scene: Scene;
  readonly #disk: S.SessionStore;
  readonly #server: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #bytes = new Map<string, number>();

  constructor(scene: Scene, server: number) {
    this.#scene = scene;
    this.#disk = scene.disk.store;
    this.#server = server;
    this.contract = this.#disk.contract;
  }

  /** The server crashes. It learns nothing of what still arrives. */
  crash() {
    for (const lane of this.#lanes.values()) lane.crash();
    this.#lanes.clear();
  }

  init: S.SessionStore["init"] = (host, config) => this.#disk.init(host, config);
  activate = () => this.#disk.activate();
  deactivate = () => this.#disk.deactivate();
  dispose = () => this.#disk.dispose();

  create(key: S.SessionKey, made: S.NewSession) {
    return this.#write(key, "create", async () => {
      const owned = await this.#disk.create(key, made);
      if (owned.ok) this.#scene.disk.made(key, made);
      return owned;
    });
  }

  open(key: S.SessionKey, holder: S.Holder, audit: readonly S.JournalEntry[]) {
    return this.#write(key, "open", () => this.#disk.open(key, holder, audit));
  }

  seize(key: S.SessionKey, holder: S.Holder, audit: readonly S.JournalEntry[]) {
    return this.#write(key, "seize", () => this.#disk.seize(key, holder, audit));
  }

  async commit(key: S.SessionKey, term: number, commit: S.Commit) {
    const { afterEventId, events } = commit;
    const bytes = events.reduce((sum, { length }) => sum + length, 0);
    this.#weigh(key, bytes);
    const range =
      events.length === 0 ? "" : ` ${afterEventId + 1}..${afterEventId + events.length}`;
    const what = `commit${range}${commit.snapshot ? " snapshot" : ""}`;
    const committed = await this.#write(key, what, async () => {
      const done = await this.#disk.commit(key, term, commit);
      if (!done.ok) return done;
      const isDraft = this.#scene.disk.log(key)?.isDraft ?? true;
      this.#scene.extensions?.judge.wrote(key, commit, isDraft);
      this.#scene.disk.wrote(key, commit);
      return done;
    });
    this.#weigh(key, -bytes);
    return committed;
  }

  copyPast(key: S.SessionKey, term: number, step: S.PastStep) {
    return copyByCommits(this, key, term, step);
  }

  close(key: S.SessionKey, term: number) {
    return this.#write(key, "close", () => this.#disk.close(key, term));
  }

  cutLog(key: S.SessionKey, term: number, cut: S.LogCut) {
    return this.#write(key, "cut", () => this.#disk.cutLog(key, term, cut));
  }

  delete(key: S.SessionKey, holder: S.Holder, audit: readonly S.JournalEntry[]) {
    return this.#write(key, "delete", async () => {
      const deleted = await this.#disk.delete(key, holder, audit);
      if (!deleted.ok) return deleted;
      this.#scene.extensions?.judge.deleted(key);
      this.#scene.disk.deleted(key);
      return deleted;
    });
  }

  readRecord(key: S.SessionKey) {
    return this.#read("record", () => this.#disk.readRecord(key));
  }

  readManifest(key: S.SessionKey) {
    return this.#read("manifest", () => this.#disk.readManifest(key));
  }

  readEvents(key: S.SessionKey, range: S.Range) {
    return this.#read(`events after ${range.after}`, () => this.#disk.readEvents(key, range));
  }

  readTurns(key: S.SessionKey, range: S.BackwardRange) {
    return this.#read("turns", () => this.#disk.readTurns(key, range));
  }

  readMessages(key: S.SessionKey, range: S.Range) {
    return this.#read("messages", () => this.#disk.readMessages(key, range));
  }

  readSlots(key: S.SessionKey) {
    return this.#read("slots", () => this.#disk.readSlots(key));
  }

  list(tenantId: TenantId, filter: S.ListFilter, page: S.ListPage) {
    return this.#read("list", () => this.#disk.list(tenantId, filter, page));
  }

  tenants() {
    return this.#read("tenants", () => this.#disk.tenants());
  }

  removeTenant(tenantId: TenantId, holder: S.Holder) {
    return this.#read("remove tenant", () => this.#disk.removeTenant(tenantId, holder));
  }

  appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    return this.#read("journal", () => this.#disk.appendJournal(tenantId, entries));
  }

  readJournal(tenantId: TenantId, query: S.JournalQuery) {
    return this.#read("journal", () => this.#disk.readJournal(tenantId, query));
  }

  readDocument(tenantId: TenantId, kind: string, key: string) {
    return this.#read("document", () => this.#disk.readDocument(tenantId, kind, key));
  }

  listDocuments(tenantId: TenantId, kind: string, after: string | null) {
    return this.#read("documents", () => this.#disk.listDocuments(tenantId, kind, after));
  }

  writeDocument(tenantId: TenantId, document: S.DocumentWrite) {
    return this.#read("write document", () => this.#disk.writeDocument(tenantId, document));
  }

  writeBlob(tenantId: TenantId, bytes: Uint8Array) {
    return this.#read("write blob", () => this.#disk.writeBlob(tenantId, bytes));
  }

  readBlob(tenantId: TenantId, hash: string) {
    return this.#read("blob", () => this.#disk.readBlob(tenantId, hash));
  }

  #write<Value>(
    key: S.SessionKey,
    action: string,
    act: () => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    const { chance, temper } = this.#scene;
    const isRefused = chance.happens(temper.storeRefuses);
    const isLost = chance.happens(temper.storeLoses);
    const fate = isRefused ? ", refused" : isLost ? ", answer lost" : "";
    const name = nameOf(key);
    const what = `${name} ${action}${fate}`;
    return new Promise((resolve) => {
      let result: Promise<Result<Value>> = Promise.resolve(away());
      const apply = () => {
        if (!isRefused && !this.#scene.isOutage) result = act();
        return result;
      };
      const answer = () => void result.then((done) => resolve(isLost ? away() : done));
      this.#lane(name).push({ what, apply, answer });
    });
  }

  /** What changes nothing has no order; it is answered as it is found when its time comes. */
  #read<Value>(what: string, act: () => Promise<Result<Value>>): Promise<Result<Value>> {
    const { chance, temper, schedule } = this.#scene;
    const isRefused = chance.happens(temper.storeReadFails);
    const inMs = this.#scene.delayMs(temper.storeIsSlow);
    return new Promise((resolve) => {
      const answer = () => {
        if (isRefused || this.#scene.isOutage) resolve(away());
        else void act().then(resolve);
      };
      const reads = `reads ${what}${isRefused ? ", refused" : ""}`;
      schedule.add("store", reads, answer, { inMs, server: this.#server });
    });
  }

  #lane(name: string): Lane {
    const lane = this.#lanes.get(name) ?? new Lane(this.#scene, this.#server);
    this.#lanes.set(name, lane);
    return lane;
  }

  #weigh(key: S.SessionKey, change: number) {
    const name = nameOf(key);
    const bytes = (this.#bytes.get(name) ?? 0) + change;
    this.#bytes.set(name, bytes);
    // A fork has folded turns, each of which is written at once and none before the last is there.
    const isDraft = this.#scene.disk.log(key)?.isDraft ?? false;
    const limit = ACTOR_BYTES_WAITING_MAX + LARGEST_WORD_BYTES;
    this.#scene.judge.holds(
      bytes <= limit || isDraft,
      "P10",
      () => `${name}: ${bytes} bytes in flight`,
    );
  }
}

function away(): Result<never> {
  return fail("store_unavailable", { reason: "simulated" });
}

/** What may come on top of the limit: a few words that were let in just before it was reached. */
const LARGEST_WORD_BYTES = 3 * 1_024 * 1_024;
