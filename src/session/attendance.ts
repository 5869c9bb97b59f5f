import type { ClientId } from "../core/id.ts";

/**
 * Who has been at a session since this server opened it. It is observed and never stored, and
 * begins at nothing after a restart.
 */
export class Attendance {
  /** How often somebody joined who had not made the session. */
  attachCount = 0;
  /** Whoever made it was gone before the answer; it is ended when nobody else is there. */
  spawnOwnerWantedKill = false;
  readonly #seenMs = new Map<ClientId, number>();
  #activeMs: number;

  /** When this server began with it, or the last that happened in it before. */
  readonly openedMs: number;

  constructor(nowMs: number, openedMs: number) {
    this.#activeMs = nowMs;
    this.openedMs = openedMs;
  }

  /** One of those who joined has gone. */
  left() {
    this.attachCount = Math.max(0, this.attachCount - 1);
  }

  /** Somebody has shown a sign of life; who, is known only if they gave a name. */
  saw(clientId: ClientId | null, nowMs: number) {
    this.#activeMs = nowMs;
    if (clientId !== null) this.#seenMs.set(clientId, nowMs);
  }

  forget(clientId: ClientId) {
    this.#seenMs.delete(clientId);
  }

  seenMs(clientId: ClientId): number | null {
    return this.#seenMs.get(clientId) ?? null;
  }

  get present(): readonly ClientId[] {
    return [...this.#seenMs.keys()];
  }

  /** The last heartbeat or prompt, or else the beginning. */
  get activeMs(): number {
    return this.#activeMs;
  }
}
