import type { TenantId } from "../../core/id.ts";
import type { Clock } from "../../session/world.ts";
import type { EventSource } from "../stream/event-stream.ts";
import { WatchedSource } from "./watched-source.ts";

/** Who reads streams of which tenant. */
export class Readers {
  readonly #clock: Clock;
  readonly #open = new Map<TenantId, Set<WatchedSource>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same source, for as long as its reader may read it. */
  watch(tenantId: TenantId, source: EventSource, mayGoOn: () => Promise<boolean>): EventSource {
    const watched = new WatchedSource(source, mayGoOn, this.#clock, () => {
      const open = this.#open.get(tenantId);
      open?.delete(watched);
      if (open?.size === 0) this.#open.delete(tenantId);
    });
    this.#open.set(tenantId, (this.#open.get(tenantId) ?? new Set()).add(watched));
    return watched;
  }

  countOf(tenantId: TenantId): number {
    return this.#open.get(tenantId)?.size ?? 0;
  }

  /** Something has changed about who may do what: nobody reads on until the next look is due. */
  lookAgain(tenantId: TenantId) {
    for (const reader of this.#open.get(tenantId) ?? []) reader.look();
  }
}
