import { parseSessionId, type TenantId } from "../../src/core/id.ts";
import type { Chunk } from "../../src/session/bus/frame.ts";
import { nameOf } from "./disk.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import { foreignWords } from "./words.ts";

/** A console that watches all sessions of its tenant, at one server until that is gone. */
export class TenantReader {
  readonly tenantId: TenantId;
  readonly server: SimulatedServer;
  readonly #scene: Scene;
  /** The status of each session, as it was told last. */
  readonly statuses = new Map<string, string>();
  isOpen = true;

  constructor(scene: Scene, server: SimulatedServer, tenantId: TenantId) {
    this.#scene = scene;
    this.server = server;
    this.tenantId = tenantId;
  }

  async follow(): Promise<void> {
    const { server } = this;
    const stream = server.runtime.watchTenant({
      tenantId: this.tenantId,
      userId: null,
      role: "owner",
    });
    const gone = server.gone.promise.then(() => null);
    while (stream.ok) {
      const next = await Promise.race([stream.value.next(), gone]);
      if (next === null || next.done) break;
      this.#take(next.value);
    }
    this.isOpen = false;
  }

  #take(chunk: Chunk) {
    for (const { frames } of chunk) for (const { text } of frames) this.#read(text);
  }

  #read(text: string) {
    const { judge, disk } = this.#scene;
    const foreign = foreignWords(text, this.tenantId);
    judge.holds(foreign === null, "P8", () => `a console of ${this.tenantId} shows ${foreign}`);
    const { type, data } = JSON.parse(text);
    if (type === "stream_error") this.isOpen = false;
    if (type !== "session_updated") return;
    const sessionId = made(parseSessionId, data.session.sessionId);
    const name = nameOf({ tenantId: this.tenantId, sessionId });
    judge.holds(disk.known.has(name), "P8", () => `a console shows ${name}, which never was`);
    this.statuses.set(name, data.session.status);
  }
}
