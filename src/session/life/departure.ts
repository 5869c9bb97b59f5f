import type { ClientId } from "../../core/id.ts";
import { DONE, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionStreams } from "../streams.ts";
import type { SessionWorld } from "../world.ts";

interface DepartureParts {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  readonly streams: SessionStreams;
}

/** What becomes of a session when somebody leaves it. */
export class Departures {
  readonly #parts: DepartureParts;

  constructor(parts: DepartureParts) {
    this.#parts = parts;
  }

  /** Nobody who is registered has been seen here, nobody watches, and nothing waits or runs. */
  isLeft(live: LiveSession): boolean {
    return live.present().length === 0 && !live.isBusy && !this.#parts.streams.isWatched(live);
  }

  /** Takes a client's registration back. The last one to leave lets the session rest. */
  async detach(live: LiveSession, clientId: ClientId, actor: Actor): Promise<Result<void>> {
    const { attendance } = live;
    const left = await this.#unregister(live, clientId, actor);
    if (!left.ok) return left;
    // Who was not there cannot leave, and takes nothing away from those who are.
    if (left.value) attendance.left();
    const isUnwanted = attendance.attachCount === 0 && attendance.spawnOwnerWantedKill;
    if (isUnwanted && !live.isBusy) await this.#remove(live);
    else if (this.isLeft(live)) await this.#parts.registry.evict(live, "last_client_detached");
    return DONE;
  }

  /**
   * The answer to whoever made this session could not be delivered. If nobody has joined, it is
   * removed as if it had not been made; else when the last one who joined has left.
   */
  async ownerVanished(live: LiveSession, actor: Actor): Promise<void> {
    const isAlone = live.attendance.attachCount === 0;
    live.attendance.spawnOwnerWantedKill = true;
    const clientId = actor.kind === "client" ? actor.clientId : null;
    if (clientId !== null) await this.#unregister(live, clientId, actor);
    if (isAlone) await this.#remove(live);
  }

  /** Whether it was registered. */
  async #unregister(live: LiveSession, clientId: ClientId, actor: Actor): Promise<Result<boolean>> {
    const atMs = this.#parts.world.clock.nowMs();
    const outcome = await live.submit({ atMs, actor, type: "detach", clientId });
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    if (!live.session.clients.has(clientId)) live.attendance.forget(clientId);
    return { ok: true, value: outcome.isNews };
  }

  /**
   * Unless somebody has come meanwhile, or has worked in it: what people have done is theirs, and
   * only the instance ends.
   */
  async #remove(live: LiveSession): Promise<void> {
    const { world, registry, streams } = this.#parts;
    if (live.session.totals.promptCount > 0) {
      if (this.isLeft(live)) await registry.evict(live, "last_client_detached");
      return;
    }
    await registry.evict(live, "killed", async () => {
      if (live.attendance.attachCount > 0 || live.session.totals.promptCount > 0) return;
      const deleted = await world.store.delete(live.key, world.holder, []);
      if (deleted.ok) streams.deleted(live.key);
    });
  }
}
