import { importsOf, type Sources, targetOf } from "./imports.ts";

/**
 * The import cycles, each as `a.ts -> b.ts -> a.ts`. Type-only imports are left out: they are
 * erased, so they can neither load a module nor find it half loaded.
 */
export function importCycles(sources: Sources): readonly string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();

  function visit(path: string, trail: readonly string[]): void {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(" -> "));
    if (start >= 0 || finished.has(path)) return;
    for (const target of loadedBy(path, sources)) visit(target, [...trail, path]);
    finished.add(path);
  }

  for (const path of sources.keys()) visit(path, []);
  return cycles;
}

function loadedBy(path: string, sources: Sources): readonly string[] {
  return importsOf(path, sources.get(path) ?? "").flatMap((found) => {
    const target = found.isTypeOnly ? undefined : targetOf(found);
    return target !== undefined && sources.has(target) ? [target] : [];
  });
}
