import type { TenantId } from "../core/id.ts";
import { SNAPSHOTS_KNOWN_BYTES_MAX } from "../core/limits.ts";
import type { Persona } from "../core/persona.ts";
import type { SkillSnapshot } from "../core/skill/skill.ts";
import { WeightedMap } from "../platform/weighted-map.ts";

/** Snapshots of one kind by tenant and hash. What is in here is in the store of that tenant. */
export class SnapshotMemory<Snapshot> {
  readonly #known = new WeightedMap<string, Snapshot>(SNAPSHOTS_KNOWN_BYTES_MAX);

  use(tenantId: TenantId, hash: string): Snapshot | undefined {
    return this.#known.use(nameOf(tenantId, hash));
  }

  stored(tenantId: TenantId, hash: string, snapshot: Snapshot, chars: number) {
    this.#known.set(nameOf(tenantId, hash), snapshot, chars * BYTES_PER_CHAR);
  }

  forget(tenantId: TenantId) {
    const prefix = nameOf(tenantId, "");
    for (const name of this.#known.keys()) if (name.startsWith(prefix)) this.#known.delete(name);
  }
}

/**
 * The skills and personas of late, so that sessions that know the same share them, and none is
 * written or read again that a session has had before.
 */
export class KnownSnapshots {
  readonly skills = new SnapshotMemory<SkillSnapshot>();
  readonly persona = new SnapshotMemory<Persona>();

  /** Nothing of this tenant may be in its store any more. */
  forget(tenantId: TenantId) {
    this.skills.forget(tenantId);
    this.persona.forget(tenantId);
  }
}

const BYTES_PER_CHAR = 2;

/** No id of a tenant has a space in it. */
function nameOf(tenantId: TenantId, hash: string): string {
  return `${tenantId} ${hash}`;
}
