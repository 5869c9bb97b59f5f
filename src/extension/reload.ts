import { isDeepStrictEqual } from "node:util";
import type { ChosenExtensions, EnabledExtension } from "./catalog.ts";

/** How the extensions of a live session become those that it is to have. */
export interface ReloadPlan {
  /** What it has by then. */
  readonly chosen: ChosenExtensions;
  /** What is taken down, brought up, or both. */
  readonly restarted: readonly string[];
  /** What would be another by now and stays as it is while the session is live. */
  readonly kept: readonly string[];
  /** Whether it need not wait for the end of a turn. */
  readonly isInTurn: boolean;
}

type ById = ReadonlyMap<string, EnabledExtension>;

/**
 * What has other code, another configuration or none any more is restarted, with all that depends
 * on it; so is what did not come up before. What says `never` of itself stays while it is at work,
 * with all that it depends on.
 */
export function planReload(
  now: ChosenExtensions,
  next: ChosenExtensions,
  active: ReadonlySet<string>,
): ReloadPlan {
  const before = byId(now);
  const after = byId(next);
  const ids = new Set([...before.keys(), ...after.keys()]);
  const isChanged = (id: string) => !active.has(id) || !isSame(before.get(id), after.get(id));
  const changed = [...ids].filter(isChanged);
  const fixed = [...withDependents(changed, before)].filter((id) => {
    return active.has(id) && before.get(id)?.manifest.reloadBehavior === "never";
  });
  const kept = withDependencies(fixed, before);
  const free = changed.filter((id) => !kept.has(id));
  const restarted = [...withDependents(free, before)];
  return {
    chosen: {
      enabled: [...ids].flatMap((id) => (kept.has(id) ? before : after).get(id) ?? []),
      refused: next.refused.filter(({ id }) => !kept.has(id)),
    },
    restarted,
    kept: changed.filter((id) => kept.has(id)),
    isInTurn: restarted.every((id) => {
      const one = active.has(id) ? before.get(id) : after.get(id);
      return one === undefined || one.manifest.reloadBehavior === "in-turn";
    }),
  };
}

function byId({ enabled }: ChosenExtensions): ById {
  return new Map(enabled.map((one) => [one.manifest.id, one]));
}

function isSame(one: EnabledExtension | undefined, other: EnabledExtension | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const isSameCode = one.code === other.code && isDeepStrictEqual(one.manifest, other.manifest);
  return isSameCode && isDeepStrictEqual(one.config, other.config);
}

/** With all that depend on them, directly or by way of others. */
function withDependents(ids: readonly string[], all: ById): ReadonlySet<string> {
  const found = new Set(ids);
  for (const id of found) {
    for (const [other, { manifest }] of all) {
      if (Object.hasOwn(manifest.dependsOn, id)) found.add(other);
    }
  }
  return found;
}

/** With all that they depend on. */
function withDependencies(ids: readonly string[], all: ById): ReadonlySet<string> {
  const found = new Set(ids);
  for (const id of found) {
    for (const other of Object.keys(all.get(id)?.manifest.dependsOn ?? {})) found.add(other);
  }
  return found;
}
