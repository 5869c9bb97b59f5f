import type { Refusal } from "../core/error.ts";
import { refusal } from "../core/error.ts";
import { isInRange } from "../core/version.ts";
import type { ExtensionManifest } from "./manifest.ts";

type Dependant = Pick<ExtensionManifest, "id" | "version" | "dependsOn">;

/** In which order extensions come up, and which of them cannot. */
interface StartSequence<Item> {
  readonly order: readonly Item[];
  readonly refused: ReadonlyMap<string, Refusal>;
}

/**
 * What others depend on comes first, ties by name, so that the order is the same in every run. One
 * in a circle, or that depends on what is not there, is refused with the path that leads to the
 * fault; so is all that depends on it. Ids are different from each other.
 */
export function startSequence<Item extends Dependant>(items: readonly Item[]): StartSequence<Item> {
  const known = new Map(items.map((item) => [item.id, item]));
  const names = [...known.keys()].sort();
  const placed = new Set<string>();
  const order: Item[] = [];
  for (;;) {
    const next = names.find((name) => {
      return !placed.has(name) && openDependencies(known, placed, name).length === 0;
    });
    const item = next === undefined ? undefined : known.get(next);
    if (item === undefined) break;
    placed.add(item.id);
    order.push(item);
  }
  const stuck = names.filter((name) => !placed.has(name));
  return { order, refused: new Map(stuck.map((name) => [name, whyNot(known, placed, name)])) };
}

/** What it depends on that is not placed or not of the version it needs, by name. */
function openDependencies(
  known: ReadonlyMap<string, Dependant>,
  placed: ReadonlySet<string>,
  name: string,
): readonly string[] {
  const wanted = Object.entries(known.get(name)?.dependsOn ?? {});
  const open = wanted.filter(([id, range]) => {
    const version = known.get(id)?.version;
    return version === undefined || !placed.has(id) || !isInRange(version, range);
  });
  return open.map(([id]) => id).sort();
}

/** Follows what is open, by name, until it is not there, does not fit, or comes round. */
function whyNot(
  known: ReadonlyMap<string, Dependant>,
  placed: ReadonlySet<string>,
  extension: string,
): Refusal {
  const path = [extension];
  for (;;) {
    const last = path.at(-1) ?? extension;
    const [next = ""] = openDependencies(known, placed, last);
    const isRound = path.includes(next);
    path.push(next);
    const told = path.join(" -> ");
    if (isRound) return refusal("extension_dependency_cycle", { extension, path: told });
    const found = known.get(next)?.version;
    const range = known.get(last)?.dependsOn[next] ?? "";
    if (found !== undefined && isInRange(found, range)) continue;
    const reason =
      found === undefined ? `there is no ${next}` : `${next} is ${found}, not ${range}`;
    return refusal("extension_dependency_missing", { extension, path: told, reason });
  }
}
