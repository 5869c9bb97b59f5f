import { LOADS_KEPT_BYTES_MAX } from "../core/limits.ts";
import type { Persona } from "../core/persona.ts";
import type { Result } from "../core/result.ts";
import { WeightedMap } from "../platform/weighted-map.ts";
import { Footprint } from "./footprint.ts";
import type { FoundSkills } from "./found-skills.ts";

/** What loaders remember of the files, for as long as those stay as they are. */
export class LoaderMemory {
  readonly skills = new KeptLoads<Result<FoundSkills>>();
  readonly personas = new KeptLoads<Persona>();
}

interface KeptLoad<Value> {
  readonly footprint: Footprint;
  readonly value: Value;
}

/** A load at work, and the one that comes after it, for those who asked meanwhile. */
interface LoadAtWork<Value> {
  readonly ended: Promise<void>;
  next: Promise<Value> | null;
}

/**
 * What was loaded of late, by name. A load is used again only when a look at every file that it saw
 * finds each as it was, and that look begins after the request: what a request gets is decided by
 * the files at that moment.
 */
class KeptLoads<Value> {
  readonly #kept = new WeightedMap<string, KeptLoad<Value>>(LOADS_KEPT_BYTES_MAX);
  readonly #atWork = new Map<string, LoadAtWork<Value>>();

  /** Those who ask while a load is at work share the next one. */
  of(name: string, load: (seen: Footprint) => Promise<Value>): Promise<Value> {
    const atWork = this.#atWork.get(name);
    if (atWork === undefined) return this.#begin(name, load);
    atWork.next ??= atWork.ended.then(() => this.#begin(name, load));
    return atWork.next;
  }

  #begin(name: string, load: (seen: Footprint) => Promise<Value>): Promise<Value> {
    const value = this.#load(name, load);
    const ended = value.then(
      () => this.#ended(name),
      () => this.#ended(name),
    );
    this.#atWork.set(name, { ended, next: null });
    return value;
  }

  #ended(name: string) {
    if (this.#atWork.get(name)?.next === null) this.#atWork.delete(name);
  }

  async #load(name: string, load: (seen: Footprint) => Promise<Value>): Promise<Value> {
    const kept = this.#kept.use(name);
    if (kept !== undefined && (await kept.footprint.isUnchanged())) return kept.value;
    this.#kept.delete(name);
    const footprint = new Footprint();
    const value = await load(footprint);
    if (await footprint.isSettled()) this.#kept.set(name, { footprint, value }, footprint.bytes);
    return value;
  }
}
