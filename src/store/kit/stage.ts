import assert from "node:assert/strict";
import { dirname } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type * as S from "../store.ts";
import { value } from "./expect.ts";
import type { ConfigSamples, StoreHarness, World } from "./harness.ts";
import * as sample from "./sample.ts";

/** A world of its own for one check: a place, the stores over it, and a host that remembers. */
export class CheckStage {
  readonly harness: StoreHarness;
  readonly place: string;
  readonly announced: string[] = [];
  readonly env = new Map<string, string>();
  readonly #stores: S.SessionStore[] = [];

  constructor(harness: StoreHarness, place: string) {
    this.harness = harness;
    this.place = place;
  }

  get samples(): ConfigSamples {
    return this.harness.samples(this.place);
  }

  readonly host: S.StoreHost = {
    persistenceSurface: { announce: (storeId) => this.announced.push(storeId) },
    env: { get: (name) => this.env.get(name) },
    audit: () => {},
  };

  /** A store that has not been initialised, and is disposed of when the check is over. */
  store(): S.SessionStore {
    const store = this.harness.store();
    this.#stores.push(store);
    return store;
  }

  /** An active store over this place: the first one, or one more after a restart. */
  async start(config: JsonObject = this.samples.valid): Promise<S.SessionStore> {
    const store = this.store();
    await value(store.init(this.host, config));
    await value(store.activate());
    return store;
  }

  /** Ends a store as a server does that is stopped in good order, and starts another. */
  async restart(store: S.SessionStore): Promise<S.SessionStore> {
    await value(store.deactivate());
    await value(store.dispose());
    return this.start();
  }

  /** A new session, and the hand that writes to it. */
  async session(
    store: S.SessionStore,
    id = "s-1",
    change: Partial<S.NewSession> = {},
    tenant = sample.ACME,
  ): Promise<Writer> {
    const key = sample.keyOf(id, tenant);
    const manifest = sample.manifest(key, store.contract.storeId);
    const owned = await value(store.create(key, sample.newSession(manifest, change)));
    return new Writer(store, key, owned.term);
  }

  world<Ability extends keyof World>(ability: Ability): NonNullable<Partial<World>[Ability]> {
    const found = this.harness.world[ability];
    return found ?? assert.fail(`the harness has no ${ability}`);
  }

  get root(): string {
    return this.world("root")(this.place);
  }

  get aroundRoot(): string {
    return dirname(this.root);
  }

  async clear(): Promise<void> {
    for (const store of this.#stores) await store.dispose();
    await this.harness.clearPlace(this.place);
  }
}

/** A session's owner, as the kit plays it. It asks the store where the log stands. */
export class Writer {
  readonly store: S.SessionStore;
  readonly key: S.SessionKey;
  readonly term: number;

  constructor(store: S.SessionStore, key: S.SessionKey, term: number) {
    this.store = store;
    this.key = key;
    this.term = term;
  }

  /** Without events it has to be told where the log ends, so that is asked before. */
  commit(change: sample.CommitChange, term = this.term) {
    if (change.events === undefined && change.afterEventId === undefined) {
      return this.#commitAtEnd(change, term);
    }
    return this.store.commit(this.key, term, sample.commit(change));
  }

  async #commitAtEnd(change: sample.CommitChange, term: number) {
    const record = await this.store.readRecord(this.key);
    const afterEventId = record.ok ? record.value.lastEventId : 0;
    return this.store.commit(this.key, term, sample.commit({ ...change, afterEventId }));
  }

  /** A snapshot commit on the current revision. */
  async snapshot(change: Partial<S.Snapshot>, rest: sample.CommitChange = {}) {
    const { revision } = await value(this.store.readRecord(this.key));
    return this.commit({ ...rest, snapshot: this.snapshotOf(revision, change) });
  }

  snapshotOf(expectedRevision: number, change: Partial<S.Snapshot> = {}): S.Snapshot {
    return sample.snapshot(this.manifest(), expectedRevision, change);
  }

  manifest(change: Parameters<typeof sample.manifest>[2] = {}) {
    return sample.manifest(this.key, this.store.contract.storeId, change);
  }

  async append(count: number, rest: sample.CommitChange = {}) {
    const { lastEventId } = await value(this.store.readRecord(this.key));
    return this.commit({ ...rest, events: sample.events(lastEventId + 1, count) });
  }

  close() {
    return this.store.close(this.key, this.term);
  }
}
