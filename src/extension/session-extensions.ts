import { type Refusal, refusal, sentenceOf } from "../core/error.ts";
import {
  EXTENSION_CALLS_WAITING_MAX,
  EXTENSION_SLOTS_BYTES_MAX,
  EXTENSION_STEP_MS_MAX,
  EXTENSIONS_UP_MS_MAX,
} from "../core/limits.ts";
import type { GuardOpinion } from "../core/policy/gate.ts";
import type { Result } from "../core/result.ts";
import type { ToldByExtension } from "../core/session/event.ts";
import type { Clock } from "../platform/clock.ts";
import type { ChosenExtensions, EnabledExtension } from "./catalog.ts";
import type { SessionFacts } from "./contract.ts";
import { type HookName, type HookVerdict, strictestOf } from "./hook.ts";
import { type ExtensionInstance, makeInstance } from "./instance.ts";
import { failureOf, type Startable, type StepEvent } from "./life.ts";
import { planReload, type ReloadPlan } from "./reload.ts";
import { ExtensionRoster, type WantedExtension } from "./roster.ts";
import type { SlotBytes, UnstoredSlot } from "./slot.ts";
import type { ThreadNote } from "./thread/messages.ts";
import type { StartThread } from "./thread/threads.ts";

/** A slot of an extension, as the store has it and takes it. */
export interface OwnedSlot extends SlotBytes {
  readonly owner: string;
}

export interface SessionExtensionsOptions extends ChosenExtensions {
  readonly session: SessionFacts;
  /** The stored slots, without the server's own. */
  readonly slots: readonly OwnedSlot[];
  /** The owners of slots that cannot be read. */
  readonly damaged: readonly string[];
  readonly clock: Pick<Clock, "after">;
  readonly startThread: StartThread;
  redact(text: string): string;
  noted(extension: string, note: ThreadNote): void;
  told(event: StepEvent): void;
  /** One that was at work is not any more. */
  dropped(extension: string, why: Refusal): void;
}

/** What they say to a prompt that goes to work. */
export interface TurnRuling {
  readonly denied: GuardOpinion | null;
  readonly told: readonly ToldByExtension[];
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
  /** What the session is to have. */
  #chosen: ChosenExtensions;
  #comingUp: Promise<Result<void>> | null = null;
  /** While some are taken down and brought up again, nothing is asked, and this is to be told. */
  #restarting: Promise<void> = Promise.resolve();
  #untold: (() => void)[] | null = null;
  /** What those that are restarted keep and no snapshot has. */
  readonly #handedOver = new Map<string, UnstoredSlot>();
  #isOver = false;

  constructor(options: SessionExtensionsOptions) {
    this.#options = options;
    this.#chosen = { enabled: options.enabled, refused: options.refused };
    this.#stored = new Map(options.slots.map((slot) => [slot.owner, slot]));
    this.#roster = new ExtensionRoster({
      clock: options.clock,
      stepMsMax: EXTENSION_STEP_MS_MAX,
      upMsMax: EXTENSIONS_UP_MS_MAX,
      tell: (event) => options.told(event),
    });
  }

  /**
   * Brings all up. A new session is refused for one that is critical and missing, and then none is
   * left; a session that is there goes on without it (P6).
   */
  async bringUp(): Promise<Result<void>> {
    const { session } = this.#options;
    const { enabled, refused } = this.#chosen;
    const missing = refused.find(({ isCritical }) => isCritical);
    if (missing !== undefined && !session.isResumed) return { ok: false, refusal: missing.why };
    this.#comingUp = this.#roster.bringUp(
      enabled.map((one) => this.#wanted(one, !session.isResumed)),
    );
    const up = await this.#comingUp;
    if (!up.ok) await this.#takenDown();
    return up;
  }

  /** What was left out, with its reason, by name: extensions, and slots whose owner is not here. */
  get skipped(): readonly { readonly name: string; readonly reason: string }[] {
    const { damaged } = this.#options;
    const { enabled, refused } = this.#chosen;
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
    return this.#having(hook).length > 0;
  }

  /** Those that have it, here or not. */
  #having(hook: HookName): readonly string[] {
    const { enabled, refused } = this.#chosen;
    return [
      ...enabled.filter(({ manifest }) => manifest.hooks.includes(hook)).map(idOfEnabled),
      ...refused.filter(({ hooks }) => hooks.includes(hook)).map(({ id }) => id),
    ];
  }

  /** Whether any is told what happens in a turn. */
  get follows(): boolean {
    if (this.#untold !== null) return true;
    return this.#chosen.enabled.some(({ manifest: { id, events, hooks } }) => {
      const isTold = events.length > 0 || hooks.some((hook) => hook.startsWith("after_"));
      return isTold && this.#instances.has(id);
    });
  }

  /**
   * What all that have this hook say together; null lets it pass. One that fails here, or is not
   * here, cannot have passed: then people are asked.
   */
  async ask(hook: HookName, facts: object): Promise<GuardOpinion | null> {
    return strictestOf(await this.#said(hook, facts));
  }

  /**
   * Whether one of them denies a turn, and what the agent is told in front of it. Before a turn
   * there are no people to ask: who sent the prompt is one, so it begins (P6).
   */
  async askTurn(facts: object): Promise<TurnRuling> {
    const said = await this.#said("before_turn", facts);
    const denied = strictestOf(said.filter(({ verdict }) => verdict === "deny"));
    const told = said.flatMap(({ extension, verdict, context: text = "" }) => {
      return verdict === "pass" && text !== "" ? [{ extension, text }] : [];
    });
    return { denied, told };
  }

  async #said(hook: HookName, facts: object) {
    await this.#restarting;
    const said = this.#having(hook).map(async (extension) => {
      const answer = await this.#instances.get(extension)?.hook(hook, facts);
      const verdict: HookVerdict = answer?.ok ? answer.value : ABSENT_GUARD;
      return { ...verdict, extension };
    });
    return Promise.all(said);
  }

  /** Tells those that want to know; what they keep by that is in the next snapshot. */
  tell(type: string, event: object) {
    if (this.#untold !== null) return this.#later(() => this.tell(type, event));
    for (const { manifest } of this.#chosen.enabled) {
      const instance = this.#instances.get(manifest.id);
      if (instance !== undefined && manifest.events.includes(type)) {
        this.#follow(instance.tell(event));
      }
    }
  }

  /** Tells those that have a hook of something that is over: their verdict counts for nothing. */
  note(hook: HookName, facts: object) {
    if (this.#untold !== null) return this.#later(() => this.note(hook, facts));
    for (const id of this.#having(hook)) {
      const instance = this.#instances.get(id);
      if (instance !== undefined) this.#follow(instance.hook(hook, facts));
    }
  }

  /** What is told while some are restarted waits for that. */
  #later(tell: () => void) {
    const isFull = (this.#untold?.length ?? 0) >= EXTENSION_CALLS_WAITING_MAX;
    if (!isFull) this.#untold?.push(tell);
  }

  #follow(work: Promise<unknown>) {
    const telling: Promise<void> = work.then(() => void this.#telling.delete(telling));
    this.#telling.add(telling);
  }

  /** Resolves when all that was told has been taken in: each has its deadline. */
  async settled(): Promise<void> {
    await this.#restarting;
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
    const handedOver = [...this.#handedOver];
    for (const [owner, slot] of handedOver) {
      if (slot === null) removed.push(owner);
      else slots.push({ owner, ...slot });
    }
    const isStored = () => {
      for (const [owner] of handedOver) this.#handedOver.delete(owner);
      for (const [instance, text] of texts) instance.slot?.isStored(text);
      for (const slot of slots) this.#stored.set(slot.owner, slot);
      for (const owner of removed) this.#stored.delete(owner);
    };
    return { slots, removed, isStored };
  }

  /** What they keep from here on is of a turn. */
  turnBegins() {
    for (const instance of this.#instances.values()) instance.turnBegins();
  }

  /** The turn came to nothing, and so did what they kept in it. */
  takeBack() {
    for (const instance of this.#instances.values()) instance.takeBack();
  }

  /** What would change if the session was to have these. */
  planReload(next: ChosenExtensions): ReloadPlan {
    return planReload(this.#chosen, next, new Set(this.#roster.active));
  }

  /**
   * Takes down what is to be another, and brings up what is to be there; answers what failed. What
   * they keep goes along. What is asked and told meanwhile waits for the end of that.
   */
  async restart(next: ChosenExtensions): Promise<readonly Refusal[]> {
    while (this.#untold !== null) await this.#restarting;
    const untold: (() => void)[] = [];
    this.#untold = untold;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#restarting = promise;
    const failures = await this.#restarted(next);
    this.#untold = null;
    for (const tell of untold) tell();
    resolve();
    return failures;
  }

  async #restarted(next: ChosenExtensions): Promise<readonly Refusal[]> {
    await this.#comingUp;
    const { chosen, restarted } = this.planReload(next);
    const failures = await this.#roster.takeSomeDown(new Set(restarted));
    for (const id of restarted) this.#handOver(id);
    this.#chosen = chosen;
    if (this.#isOver) return failures;
    this.#comingUp = this.#roster.bringUp(chosen.enabled.map((one) => this.#wanted(one, false)));
    await this.#comingUp;
    return failures;
  }

  #handOver(id: string) {
    const instance = this.#instances.get(id);
    this.#instances.delete(id);
    const change = instance?.change ?? null;
    if (change === null) return;
    this.#handedOver.set(id, change.kind === "write" ? change.slot : null);
  }

  /** Takes all down, in reverse, and waits until their threads are gone; answers what failed. */
  async takeDown(): Promise<readonly Refusal[]> {
    this.#isOver = true;
    await this.#restarting;
    await this.#comingUp;
    return this.#takenDown();
  }

  async #takenDown(): Promise<readonly Refusal[]> {
    const failures = await this.#roster.takeDown();
    this.#instances.clear();
    await Promise.all(this.#threads);
    return failures;
  }

  #wanted(extension: EnabledExtension, isNew: boolean): WantedExtension {
    const { manifest } = extension;
    const isCritical = extension.isCritical && isNew;
    return { manifest, isCritical, make: (timeIsUp) => this.#made(extension, timeIsUp) };
  }

  async #made(
    { manifest, config, module }: EnabledExtension,
    timeIsUp: AbortSignal,
  ): Promise<Result<Startable>> {
    const { id } = manifest;
    const { session, clock, startThread, damaged, redact, noted } = this.#options;
    if (this.#isOver) return { ok: false, refusal: failureOf(id, "make", "the session is over") };
    if (damaged.includes(id)) return { ok: false, refusal: damagedSlot(id) };
    const address = await module();
    if (!address.ok) return address;
    const unstored = this.#handedOver.get(id);
    const made = await makeInstance({
      manifest,
      module: address.value,
      config,
      session,
      stored: this.#stored.get(id) ?? null,
      ...(unstored !== undefined && { unstored }),
      timeIsUp,
      clock,
      startThread,
      redact,
      slotBytesMax: () => this.#slotBytesMax(id),
      noted: (note) => noted(id, note),
      dropped: (why) => this.#dropped(id, why),
    });
    if (!made.ok) return made;
    this.#handedOver.delete(id);
    this.#instances.set(id, made.value);
    this.#threads.push(made.value.gone);
    return made;
  }

  #dropped(id: string, why: Refusal) {
    this.#instances.delete(id);
    this.#roster.dropped(id, why);
    this.#options.dropped(id, why);
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

function idOfEnabled({ manifest }: EnabledExtension): string {
  return manifest.id;
}

const ABSENT_GUARD = { verdict: "ask", reason: "it is not here to judge this" } as const;
/** What is said of a slot whose owner is not configured. */
export const ABSENT = "its owner is not here; it is kept as it is";
const DAMAGED = "it is damaged";

function damagedSlot(extension: string): Refusal {
  return refusal("slot_invalid", { extension, path: "its root", reason: DAMAGED });
}
