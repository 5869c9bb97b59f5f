import type { SessionId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { TENANT_SUBSCRIBERS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Notice } from "./frame.ts";
import { notice } from "./notice.ts";
import { type ListSessions, TenantSubscription } from "./tenant-subscription.ts";

/** The whole state of a session, as lists show it. */
export interface SessionSummary {
  readonly sessionId: SessionId;
  readonly state: JsonObject;
}

/** Whole states, so that hearing one twice does no harm, and hearing only the last is enough. */
export function sessionUpdated({ state }: SessionSummary): Notice {
  return notice("session_updated", { session: state });
}

/**
 * Tells a tenant's consoles what its sessions are doing: all of them to begin with, and then each
 * that changes. Its frames have no ids and cannot be resumed; whoever comes back begins again.
 * What is told is durable (P1): it is given here when it has been published.
 */
export class TenantStream {
  readonly #subscriptions = new Set<TenantSubscription>();
  #isEnded = false;

  get subscriberCount(): number {
    return this.#subscriptions.size;
  }

  /** A session is like this now. If nobody listens, nothing is written. */
  update(summary: SessionSummary) {
    if (this.#subscriptions.size === 0) return;
    const updated = sessionUpdated(summary);
    for (const one of this.#subscriptions) one.changed(summary.sessionId, updated);
  }

  /** A session is there no more. */
  remove(sessionId: SessionId) {
    const removed = notice("session_deleted", { sessionId });
    for (const one of this.#subscriptions) one.changed(sessionId, removed);
  }

  subscribe(list: ListSessions): Result<TenantSubscription> {
    const limit = TENANT_SUBSCRIBERS_MAX;
    if (this.#subscriptions.size >= limit) return fail("subscriber_limit_exceeded", { limit });
    const subscription = new TenantSubscription(list, () => {
      this.#subscriptions.delete(subscription);
    });
    if (this.#isEnded) subscription.end(null);
    else this.#subscriptions.add(subscription);
    return ok(subscription);
  }

  /** The server stops, or the tenant is gone: each stream gets a last word, if there is one. */
  end(last: Notice | null) {
    this.#isEnded = true;
    for (const one of this.#subscriptions) one.end(last);
  }
}
