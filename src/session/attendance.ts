import type { ClientId } from "../core/id.ts";

/**
 * Who has been at a session since this server opened it. It is observed and never stored, and
 * begins at nothing after a restart.
 */
export class Attendance {
  /** How many clients joined that had not made the session. */
  attachCount = 0;
  /** Its maker was gone before the answer: it ends when no other client is there. */
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

  /** A client has shown a sign of life; its id is known only if it sent one. */
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
