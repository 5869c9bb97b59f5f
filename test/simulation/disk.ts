import { hostname } from "node:os";
import type { Holder, SessionKey, SessionStore } from "../../src/store/index.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Judge } from "./judge.ts";
import { StoredLog } from "./stored-log.ts";

/** What outlives servers: a real store, and beside it a second account of what it was given. */
export class Disk {
  readonly store: SessionStore;
  readonly logs = new Map<string, StoredLog>();
  readonly #judge: Judge;

  private constructor(store: SessionStore, judge: Judge) {
    this.store = store;
    this.#judge = judge;
  }

  static async open(judge: Judge): Promise<Disk> {
    const store = memoryStore();
    const host = {
      persistenceSurface: { announce: () => {} },
      env: { get: () => undefined },
      audit: () => {},
    };
    await store.init(host, { active: true });
    await store.activate();
    return new Disk(store, judge);
  }

  wrote(key: SessionKey, texts: readonly string[]) {
    const log = this.log(key) ?? new StoredLog(key, this.#judge);
    this.logs.set(key.sessionId, log);
    log.append(texts);
  }

  log({ sessionId }: SessionKey): StoredLog | undefined {
    return this.logs.get(sessionId);
  }
}

/**
 * Who owns sessions in a server's name. It claims to be of an earlier boot, so that the next server
 * finds it gone: simulated servers live one after the other, never side by side.
 */
export function holderOf(server: number): Holder {
  const label = `server ${server}`;
  return { host: hostname(), bootId: "simulated", pid: server, startedAt: "0", label };
}
