import type { ClientId } from "../../src/core/id.ts";
import type { Chunk } from "../../src/session/bus/frame.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { Witness } from "./witness.ts";

/** A reader of one session's events, which comes back with its last id whenever it is cut off. */
export class Subscriber {
  readonly key: SessionKey;
  readonly name: string;
  readonly #clientId: ClientId | null;
  readonly #scene: Scene;
  readonly #witness: Witness;
  readonly #server: () => SimulatedServer;
  /** The last event that it has. */
  lastId: number;
  /** It is read no more from when this is set. */
  hasLeft = false;
  #leave: (() => void) | null = null;

  constructor(
    witness: Witness,
    key: SessionKey,
    server: () => SimulatedServer,
    { clientId, after }: { readonly clientId: ClientId | null; readonly after: number },
  ) {
    this.#clientId = clientId;
    this.#scene = witness.scene;
    this.#witness = witness;
    this.key = key;
    this.#server = server;
    this.lastId = after;
    this.name = this.#scene.ids.text("reader");
  }

  /** Reads until it leaves; servers come and go meanwhile. */
  async follow(): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX && !this.hasLeft; tries += 1) {
      await this.#read();
      await this.#scene.schedule.beat(this.name, "comes back", { inMs: 100 });
    }
    this.hasLeft = true;
  }

  leave() {
    this.hasLeft = true;
    this.#leave?.();
  }

  async #read(): Promise<void> {
    const server = this.#server();
    if (!server.isUp || server.isStopping) return;
    const gone = server.gone.promise.then(() => null);
    const epoch = this.#scene.disk.log(this.key)?.epoch ?? null;
    const request = { after: this.lastId, epoch, clientId: this.#clientId };
    const stream = await Promise.race([server.runtime.subscribe(this.key, request), gone]);
    if (stream === null) return;
    if (!stream.ok) {
      this.hasLeft ||= stream.refusal.code === "session_not_found";
      return;
    }
    const isKnown = this.#scene.disk.known.has(nameOf(this.key));
    this.#scene.judge.holds(isKnown, "P8", () => `${this.name} reads what never was`);
    if (this.hasLeft) return stream.value.cancel();
    this.#leave = () => stream.value.cancel();
    for (;;) {
      // A server that is gone does not even end its streams.
      const next = await Promise.race([stream.value.next(), gone]);
      if (next === null || next.done || this.hasLeft) return;
      this.#take(next.value);
      const inMs = this.#scene.chance.pick([0, 0, 1, 10, 1_000]);
      await this.#scene.schedule.beat(this.name, `has read to ${this.lastId}`, { inMs });
    }
  }

  #take(chunk: Chunk) {
    const { judge, disk } = this.#scene;
    for (const { frames } of chunk) {
      for (const { id, text } of frames) {
        if (id === null) {
          this.#resync(text);
          continue;
        }
        const next = this.lastId + 1;
        const isNext = id === next;
        judge.holds(isNext, "P3", () => `${this.name} got ${id} in place of ${next}`);
        const log = disk.log(this.key);
        const isSame = log === undefined || log.texts[id - 1] === text;
        judge.holds(isSame, "P1", () => `${this.name} got ${id}, which is not stored so`);
        this.#witness.held.sent(this.key, this.#clientId, text);
        this.lastId = id;
      }
    }
  }

  /** Only what has been trimmed away may be missing, and it is said. */
  #resync(text: string) {
    if (!text.includes(`"state_resync_required"`)) return;
    const { data } = JSON.parse(text);
    const { judge, disk } = this.#scene;
    const { eventsKeptMax } = this.#server().settings;
    const { lastId = 0, copiedThrough = 0 } = disk.log(this.key) ?? {};
    const trimmable = Math.max(copiedThrough, lastId - eventsKeptMax);
    const isMissed = data.earliestAvailableId > this.lastId + 1;
    const isTrimmed = isMissed && data.earliestAvailableId <= trimmable + 1;
    judge.holds(isTrimmed, "P3", () => `${this.name} is at ${this.lastId} and told: ${text}`);
    this.lastId = Math.max(this.lastId, data.earliestAvailableId - 1);
  }
}

/** A reader that comes back for ever would keep a life from ending. */
const TRIES_MAX = 200;
