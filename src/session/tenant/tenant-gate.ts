import type { TenantId } from "../../core/id.ts";

/**
 * Counts the work for each tenant, and refuses new work for tenants that are being deleted. All
 * work that may write for a tenant in several steps is counted here, so that a deletion can wait
 * for it: work that has ended cannot bring anything back afterwards.
 */
export class TenantGate {
  readonly #working = new Map<TenantId, number>();
  readonly #closed = new Set<TenantId>();
  readonly #emptied = new Map<TenantId, PromiseWithResolvers<void>>();
  /** One abort controller per existing tenant, aborted when its deletion begins. */
  readonly #endings = new Map<TenantId, AbortController>();
  #deletions = 0;
  #otherChanges = 0;

  /**
   * How many deletions have ended here. A caller that was authenticated before the last of them
   * may be of a tenant that is gone since.
   */
  get deletions(): number {
    return this.#deletions;
  }

  /**
   * How often something has changed here about who may come in, and as what: a tenant was deleted,
   * or its members or tokens are others. A caller that was authenticated before the last change
   * has to be authenticated again.
   */
  get changes(): number {
    return this.#deletions + this.#otherChanges;
  }

  /** Members, their roles or tokens have changed. */
  changed() {
    this.#otherChanges += 1;
  }

  isClosed(tenantId: TenantId): boolean {
    return this.#closed.has(tenantId);
  }

  /** Does something for a tenant; null, and it is not done, while that is being deleted. */
  admit<Value>(tenantId: TenantId, act: () => Promise<Value>): Promise<Value> | null {
    return this.isClosed(tenantId) ? null : this.count(tenantId, act());
  }

  /** Counts this as work for the tenant until it has ended. */
  count<Value>(tenantId: TenantId, work: Promise<Value>): Promise<Value> {
    this.#working.set(tenantId, this.#workOf(tenantId) + 1);
    return work.finally(() => this.#ended(tenantId));
  }

  /**
   * Returns a signal that aborts when the deletion of the tenant begins. Work that continues
   * uncounted must stop then: what comes next may be of another tenant with the same id.
   */
  endingOf(tenantId: TenantId): AbortSignal {
    if (this.isClosed(tenantId)) return AbortSignal.abort();
    const ending = this.#endings.get(tenantId) ?? new AbortController();
    this.#endings.set(tenantId, ending);
    return ending.signal;
  }

  /** Refuses new work from now on; false if another deletion has closed it already. */
  close(tenantId: TenantId): boolean {
    if (this.isClosed(tenantId)) return false;
    this.#closed.add(tenantId);
    this.#endings.get(tenantId)?.abort();
    this.#endings.delete(tenantId);
    return true;
  }

  open(tenantId: TenantId) {
    this.#deletions += 1;
    this.#closed.delete(tenantId);
  }

  /** Resolves when no work for this tenant is left, or when it is too late to matter. */
  async empty(tenantId: TenantId, late?: AbortSignal): Promise<void> {
    if (this.#workOf(tenantId) === 0 || late?.aborted) return;
    const emptied = this.#emptied.get(tenantId) ?? Promise.withResolvers<void>();
    this.#emptied.set(tenantId, emptied);
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    late?.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([emptied.promise, isLate]);
  }

  #workOf(tenantId: TenantId): number {
    return this.#working.get(tenantId) ?? 0;
  }

  #ended(tenantId: TenantId) {
    const left = this.#workOf(tenantId) - 1;
    if (left > 0) {
      this.#working.set(tenantId, left);
      return;
    }
    this.#working.delete(tenantId);
    this.#emptied.get(tenantId)?.resolve();
    this.#emptied.delete(tenantId);
  }
}
