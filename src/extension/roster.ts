import { type Refusal, refusal } from "../core/error.ts";
import { EXTENSIONS_ACTIVE_MAX } from "../core/limits.ts";
import { DONE, type Result } from "../core/result.ts";
import { ExtensionLife, failureOf, type LifeOptions, type Startable } from "./life.ts";
import type { ExtensionManifest } from "./manifest.ts";
import { startSequence } from "./sequence.ts";

/** An extension that a session is to have. */
export interface WantedExtension {
  readonly manifest: Pick<ExtensionManifest, "id" | "version" | "dependsOn">;
  /** A new session is not made without it. A session that is there goes on all the same. */
  readonly isCritical: boolean;
  /**
   * Makes what its steps are taken by; refused, it is left out. When time is up for all of them it
   * is ended where it is, with the signal's reason.
   */
  make(timeIsUp: AbortSignal): Promise<Result<Startable>>;
}

interface RosterOptions extends LifeOptions {
  /** For all together. */
  readonly upMsMax: number;
}

/** One that was left out, and why. */
export interface LeftOut {
  readonly id: string;
  readonly why: Refusal;
}

/**
 * The extensions of one session. They come up in the order of what they depend on, and are taken
 * down in the exact reverse of the order in which they came up. One that does not come up is left
 * out, with all that depends on it.
 */
export class ExtensionRoster {
  readonly #options: RosterOptions;
  readonly #up: ExtensionLife[] = [];
  readonly #leftOut = new Map<string, Refusal>();

  constructor(options: RosterOptions) {
    this.#options = options;
  }

  /** Those at work, in the order in which they came up. */
  get active(): readonly string[] {
    return this.#up.map(({ id }) => id);
  }

  get leftOut(): readonly LeftOut[] {
    return [...this.#leftOut].map(([id, why]) => ({ id, why }));
  }

  /**
   * Brings up those that are not up, as far as the time for all goes. If a critical one does not
   * come up, all are taken down again and the answer is why.
   */
  async bringUp(wanted: readonly WantedExtension[]): Promise<Result<void>> {
    const byId = new Map(wanted.map((one) => [one.manifest.id, one]));
    const { order, refused } = startSequence(wanted.map(({ manifest }) => manifest));
    for (const [id, why] of refused) this.#leftOut.set(id, why);
    const ordered = order.flatMap(({ id }) => byId.get(id) ?? []);
    await this.#startAll(ordered.filter(({ manifest }) => !this.active.includes(manifest.id)));
    const critical = wanted.find(({ manifest, isCritical }) => {
      return isCritical && this.#leftOut.has(manifest.id);
    });
    const why = critical && this.#leftOut.get(critical.manifest.id);
    if (why === undefined) return DONE;
    await this.takeDown();
    return { ok: false, refusal: why };
  }

  /** One that was ended in the middle of its work is left out from here on. */
  dropped(id: string, why: Refusal) {
    const at = this.#up.findIndex((life) => life.id === id);
    if (at >= 0) this.#up.splice(at, 1);
    this.#leftOut.set(id, why);
  }

  /** Takes all down, each of them even if others fail; answers all that failed, together. */
  async takeDown(): Promise<readonly Refusal[]> {
    const failures: Refusal[] = [];
    for (let life = this.#up.pop(); life !== undefined; life = this.#up.pop()) {
      failures.push(...(await ended(life)));
    }
    return failures;
  }

  /** Takes these down, in the same order; none that is not among them may depend on one. */
  async takeSomeDown(ids: ReadonlySet<string>): Promise<readonly Refusal[]> {
    const failures: Refusal[] = [];
    for (const life of this.#up.filter(({ id }) => ids.has(id)).reverse()) {
      this.#up.splice(this.#up.indexOf(life), 1);
      failures.push(...(await ended(life)));
    }
    for (const id of ids) this.#leftOut.delete(id);
    return failures;
  }

  /** One after the other; not further than to a critical one that fails. */
  async #startAll(ordered: readonly WantedExtension[]): Promise<void> {
    const { clock, upMsMax } = this.#options;
    const reason = `all extensions of the session together took longer than ${upMsMax} ms`;
    let current = new AbortController();
    const callOff = clock.after(upMsMax, () => current.abort(reason));
    for (const one of ordered) {
      const { id } = one.manifest;
      this.#leftOut.delete(id);
      // What is up by then has nothing to do with the signal any more.
      if (!current.signal.aborted) current = new AbortController();
      const why = await this.#start(one, current.signal);
      if (why === null) continue;
      this.#leftOut.set(id, why);
      if (one.isCritical) break;
    }
    callOff();
  }

  async #start(
    { manifest, make }: WantedExtension,
    timeIsUp: AbortSignal,
  ): Promise<Refusal | null> {
    const missing = this.#missing(manifest) ?? this.#crowded();
    if (missing !== null) return missing;
    if (timeIsUp.aborted) return failureOf(manifest.id, "make", String(timeIsUp.reason));
    const made = await madeBy(() => make(timeIsUp), manifest.id);
    if (!made.ok) return made.refusal;
    const life = new ExtensionLife(made.value, this.#options);
    const why = (await life.take("init")) ?? (await life.take("activate"));
    if (why === null) this.#up.push(life);
    else await life.take("dispose");
    return why;
  }

  #crowded(): Refusal | null {
    if (this.#up.length < EXTENSIONS_ACTIVE_MAX) return null;
    const active = this.active.join(", ");
    return refusal("extension_cardinality", {
      kind: "extension",
      limit: EXTENSIONS_ACTIVE_MAX,
      active,
    });
  }

  /** What it depends on is there and of its version, but did not come up. */
  #missing({ id, dependsOn }: WantedExtension["manifest"]): Refusal | null {
    const active = new Set(this.active);
    const absent = Object.keys(dependsOn).find((name) => !active.has(name));
    if (absent === undefined) return null;
    const path = `${id} -> ${absent}`;
    const reason = `${absent} did not come up`;
    return refusal("extension_dependency_missing", { extension: id, path, reason });
  }
}

/** The system may have no thread for it, and no session fails for that (P6). */
async function madeBy(
  make: () => Promise<Result<Startable>>,
  id: string,
): Promise<Result<Startable>> {
  try {
    return await make();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return { ok: false, refusal: failureOf(id, "make", reason) };
  }
}

async function ended(life: ExtensionLife): Promise<readonly Refusal[]> {
  const deactivated = life.phase === "active" ? await life.take("deactivate") : null;
  const disposed = await life.take("dispose");
  return [deactivated, disposed].filter((why) => why !== null);
}
