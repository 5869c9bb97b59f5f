import { type Refusal, refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import {
  DISK_FIGURES_HELD_MAX,
  DISK_LOOK_MS,
  DISK_SCARCE_TIMES_MAX,
  DISK_WARNING_PERCENT_MIN,
} from "../../core/limits.ts";
import { isShareUsedUp } from "../../core/share.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { Clock } from "../../platform/clock.ts";
import type { SessionKey } from "../../store/store.ts";

/** Looks at the disk; null is unknown, and then nothing is refused for it. */
export interface DiskLook {
  freeBytes(): Promise<number | null>;
  usedBytes(tenantId: TenantId): Promise<number | null>;
}

export interface DiskBounds {
  /** What the sessions of one tenant may take; null is as much as there is. */
  readonly tenantBytesMax: number | null;
  /** What is kept free, so that turns at work can end. */
  readonly reserveBytes: number;
}

/** How much of its quota a tenant has used. */
export interface DiskFigures {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

interface Looked {
  readonly atMs: number;
  readonly figures: Promise<{ readonly free: number | null; readonly used: number | null }>;
}

/**
 * The share of the disk that each tenant has. New sessions and prompts are refused before the disk
 * is full; turns at work go on in what is kept free. When little is left, those who use most are
 * refused first, so that a tenant with little goes on (P10). None is told of another's use (P8).
 */
export class TenantDisk {
  readonly #look: DiskLook;
  readonly #bounds: DiskBounds;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #looked = new BoundedMap<TenantId, Looked>(DISK_FIGURES_HELD_MAX);

  constructor(look: DiskLook, bounds: DiskBounds, clock: Pick<Clock, "nowMs">) {
    this.#look = look;
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** Why a tenant may begin nothing new; null if it may. */
  async refusalFor(tenantId: TenantId): Promise<Refusal | null> {
    const { free, used } = await this.#figuresOf(tenantId);
    const { tenantBytesMax, reserveBytes } = this.#bounds;
    if (tenantBytesMax !== null && used !== null && used >= tenantBytesMax) {
      const usedBytes = used;
      return refusal("disk_quota_exceeded", { usedBytes, limitBytes: tenantBytesMax });
    }
    if (free === null) return null;
    if (free <= reserveBytes) return refusal("disk_full");
    const isScarce = free <= DISK_SCARCE_TIMES_MAX * reserveBytes;
    return isScarce && isShareUsedUp(used ?? 0, free - reserveBytes, 0)
      ? refusal("disk_full")
      : null;
  }

  /** What of its quota a tenant has used, once that is nearly all; null before. */
  async warningFor(tenantId: TenantId): Promise<DiskFigures | null> {
    const { used } = await this.#figuresOf(tenantId);
    const limitBytes = this.#bounds.tenantBytesMax;
    if (limitBytes === null || used === null) return null;
    const isNearlyAll = used >= (limitBytes / 100) * DISK_WARNING_PERCENT_MIN;
    return isNearlyAll ? { usedBytes: used, limitBytes } : null;
  }

  #figuresOf(tenantId: TenantId): Looked["figures"] {
    const atMs = this.#clock.nowMs();
    const known = this.#looked.get(tenantId);
    if (known !== undefined && atMs - known.atMs < DISK_LOOK_MS) return known.figures;
    const looking = Promise.all([this.#look.freeBytes(), this.#look.usedBytes(tenantId)]);
    const figures = looking.then(([free, used]) => ({ free, used }));
    this.#looked.set(tenantId, { atMs, figures });
    return figures;
  }
}

/** Why nothing new begins for a tenant; its stream is warned before that comes. */
export async function fullDisk(
  { disk }: { readonly disk?: TenantDisk },
  { tenantId }: SessionKey,
  streams: { warnOfDisk(tenantId: TenantId, figures: DiskFigures): void },
): Promise<Refusal | null> {
  if (disk === undefined) return null;
  const figures = await disk.warningFor(tenantId);
  if (figures !== null) streams.warnOfDisk(tenantId, figures);
  return disk.refusalFor(tenantId);
}
