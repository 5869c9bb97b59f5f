import { type Refusal, refusal, sentenceOf } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import { EXTENSION_SLOTS_BYTES_MAX, EXTENSION_STEP_MS_MAX } from "../core/limits.ts";
import type { GuardOpinion } from "../core/policy/gate.ts";
import type { Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import type { SessionFacts } from "./contract.ts";
import { type HookName, type HookVerdict, strictestOf } from "./hook.ts";
import { type ExtensionInstance, makeInstance } from "./instance.ts";
import type { Startable, StepEvent } from "./life.ts";
import type { ExtensionManifest } from "./manifest.ts";
import { ExtensionRoster, type LeftOut, type WantedExtension } from "./roster.ts";
import type { SlotBytes } from "./slot.ts";
import type { ThreadNote } from "./thread/messages.ts";

/** An extension that the sessions of a workspace are to have. */
export interface EnabledExtension {
  readonly manifest: ExtensionManifest;
  readonly isCritical: boolean;
  readonly config: JsonObject;
  /** The address of its module, in the server's copy of it. */
  module(): Promise<Result<string>>;
}

/** A slot of an extension, as the store has it and takes it. */
export interface OwnedSlot extends SlotBytes {
  readonly owner: string;
}

export interface SessionExtensionsOptions {
  readonly session: SessionFacts;
  readonly enabled: readonly EnabledExtension[];
  /** Those that were to be there and cannot be loaded, such as code that is not trusted. */
  readonly refused: readonly LeftOut[];
  /** The stored slots, without the server's own. */
  readonly slots: readonly OwnedSlot[];
  /** The owners of slots that cannot be read. */
  readonly damaged: readonly string[];
  readonly clock: Pick<Clock, "after">;
  hasSecret(text: string): boolean;
  noted(extension: string, note: ThreadNote): void;
  told(event: StepEvent): void;
}

/** What a snapshot has to write of the slots. */
export interface ChangedSlots {
  readonly slots: readonly OwnedSlot[];
  readonly removed: readonly string[];
  /** The snapshot is durable. */
  isStored(): void;
}

/**
 * The extensions of one live session, as that session sees them: up before its first turn, asked
 * and told meanwhile, their slots in its snapshots, and down at its end. What of them fails is
 * left out, and the session goes on (P6).
 */
export class SessionExtensions {
  readonly #options: SessionExtensionsOptions;
  readonly #roster: ExtensionRoster;
  readonly #instances = new Map<string, ExtensionInstance>();
  readonly #stored: Map<string, SlotBytes>;
  readonly #telling = new Set<Promise<void>>();
  /** Each resolves when a thread is gone. */
  readonly #threads: Promise<void>[] = [];

  constructor(options: SessionExtensionsOptions) {
    this.#options = options;
    this.#stored = new Map(options.slots.map((slot) => [slot.owner, slot]));
    this.#roster = new ExtensionRoster({
      clock: options.clock,
      stepMsMax: EXTENSION_STEP_MS_MAX,
      tell: (event) => options.told(event),
    });
  }

  /** Brings all up; refused only for one that is critical, and then none is left. */
  async bringUp(): Promise<Result<void>> {
    const up = await this.#roster.bringUp(this.#options.enabled.map((one) => this.#wanted(one)));
    if (!up.ok) await this.takeDown();
    return up;
  }

  /** What was left out, with its reason, by name: extensions, and slots whose owner is not here. */
  get skipped(): readonly { readonly name: string; readonly reason: string }[] {
    const { refused, enabled, damaged } = this.#options;
    const reasons = new Map(
      [...refused, ...this.#roster.leftOut].map(({ id, why }) => [id, sentenceOf(why)]),
    );
    const ids = new Set(enabled.map(({ manifest }) => manifest.id));
    for (const owner of this.#stored.keys()) {
      if (!ids.has(owner) && !reasons.has(owner)) reasons.set(owner, ABSENT);
    }
    for (const owner of damaged) if (!reasons.has(owner)) reasons.set(owner, DAMAGED);
    const names = [...reasons.keys()].sort();
    return names.map((name) => ({ name, reason: reasons.get(name) ?? "" }));
  }

  /** Whether a hook has to be asked at all. */
  has(hook: HookName): boolean {
    return this.#options.enabled.some(({ manifest }) => manifest.hooks.includes(hook));
  }

  /**
   * What all that have this hook say together; null lets it pass. One that fails here, or is not
   * here, cannot have passed: then people are asked.
   */
  async ask(hook: HookName, facts: object): Promise<GuardOpinion | null> {
    const asked = this.#options.enabled.filter(({ manifest }) => manifest.hooks.includes(hook));
    const said = asked.map(async ({ manifest: { id: extension } }) => {
      const answer = await this.#instances.get(extension)?.hook(hook, facts);
      const verdict: HookVerdict = answer?.ok ? answer.value : ABSENT_GUARD;
      return { ...verdict, extension };
    });
    return strictestOf(await Promise.all(said));
  }

  /** Tells those that want to know; what they keep by that is in the next snapshot. */
  tell(type: string, event: object) {
    for (const { manifest } of this.#options.enabled) {
      const instance = this.#instances.get(manifest.id);
      if (instance === undefined || !manifest.events.includes(type)) continue;
      const telling: Promise<void> = instance
        .tell(event)
        .finally(() => this.#telling.delete(telling));
      this.#telling.add(telling);
    }
  }

  /** Resolves when all that was told has been taken in: each has its deadline. */
  async settled(): Promise<void> {
    await Promise.all(this.#telling);
  }

  /** What they keep now and the store does not have. */
  get changes(): ChangedSlots {
    const slots: OwnedSlot[] = [];
    const removed: string[] = [];
    const texts: (readonly [ExtensionInstance, string | null])[] = [];
    for (const [owner, instance] of [...this.#instances]) {
      const { change } = instance;
      if (change === null) continue;
      texts.push([instance, instance.slot?.text ?? null]);
      if (change.kind === "remove") removed.push(owner);
      else slots.push({ owner, ...change.slot });
    }
    const isStored = () => {
      for (const [instance, text] of texts) instance.slot?.isStored(text);
      for (const slot of slots) this.#stored.set(slot.owner, slot);
      for (const owner of removed) this.#stored.delete(owner);
    };
    return { slots, removed, isStored };
  }

  /** The turn came to nothing, and so did what they kept in it. */
  takeBack() {
    for (const instance of this.#instances.values()) instance.takeBack();
  }

  /** Takes all down, in reverse, and waits until their threads are gone; answers what failed. */
  async takeDown(): Promise<readonly Refusal[]> {
    const failures = await this.#roster.takeDown();
    this.#instances.clear();
    await Promise.all(this.#threads);
    return failures;
  }

  #wanted(extension: EnabledExtension): WantedExtension {
    const { manifest, isCritical } = extension;
    return { manifest, isCritical, make: () => this.#made(extension) };
  }

  async #made({ manifest, config, module }: EnabledExtension): Promise<Result<Startable>> {
    const { id } = manifest;
    const { session, clock, damaged, hasSecret, noted } = this.#options;
    if (damaged.includes(id)) return { ok: false, refusal: damagedSlot(id) };
    const address = await module();
    if (!address.ok) return address;
    const made = await makeInstance({
      manifest,
      module: address.value,
      config,
      session,
      stored: this.#stored.get(id) ?? null,
      clock,
      hasSecret,
      slotBytesMax: () => this.#slotBytesMax(id),
      noted: (note) => noted(id, note),
      dropped: (why) => this.#dropped(id, why),
    });
    if (!made.ok) return made;
    this.#instances.set(id, made.value);
    this.#threads.push(made.value.gone);
    return made;
  }

  #dropped(id: string, why: Refusal) {
    this.#instances.delete(id);
    this.#roster.dropped(id, why);
  }

  /** What all others leave of the session's share, by what they keep or have stored. */
  #slotBytesMax(id: string): number {
    const others = new Set([...this.#stored.keys(), ...this.#instances.keys()]);
    others.delete(id);
    const taken = [...others].map((owner) => {
      const draft = this.#instances.get(owner)?.slot?.text ?? "";
      return Math.max(Buffer.byteLength(draft), this.#stored.get(owner)?.payload.byteLength ?? 0);
    });
    return EXTENSION_SLOTS_BYTES_MAX - taken.reduce((sum, bytes) => sum + bytes, 0);
  }
}

const ABSENT_GUARD = { verdict: "ask", reason: "it is not here to judge this" } as const;
const ABSENT = "its owner is not here; it is kept as it is";
const DAMAGED = "it is damaged";

function damagedSlot(extension: string): Refusal {
  return refusal("slot_invalid", { extension, path: "its root", reason: DAMAGED });
}
