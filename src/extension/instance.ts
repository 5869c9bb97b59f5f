import { type Refusal, refusal, sentenceOf } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import {
  EXTENSION_REASON_CHARS_MAX,
  EXTENSION_STEP_MS_MAX,
  EXTENSION_TOLD_CHARS_MAX,
  EXTENSION_WORK_MS_MAX,
} from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import type { LifeStep } from "../platform/life.ts";
import type { SessionFacts } from "./contract.ts";
import { type HookName, type HookVerdict, PASS, readVerdict } from "./hook.ts";
import { failureOf, type Startable } from "./life.ts";
import type { ExtensionManifest } from "./manifest.ts";
import {
  deliveryOf,
  migratedSlot,
  type SlotBytes,
  type SlotChange,
  type SlotDelivery,
  SlotDraft,
  type StoredSlot,
  slotText,
  type UnstoredSlot,
} from "./slot.ts";
import type { ExtensionAnswer, ThreadNote } from "./thread/messages.ts";
import type { ThreadRequest } from "./thread/thread.ts";
import type { RunningThread, StartThread } from "./thread/threads.ts";

/** What an extension is brought up with in one session. */
export interface InstanceOptions {
  readonly manifest: ExtensionManifest;
  /** The address of its module. */
  readonly module: string;
  readonly config: JsonObject;
  readonly session: SessionFacts;
  /** Its slot as the store has it. */
  readonly stored: SlotBytes | null;
  /** What it kept before it was restarted, where no snapshot has that yet. */
  readonly unstored?: UnstoredSlot;
  /** Aborted when its session does not wait any more for it to come up. */
  readonly timeIsUp?: AbortSignal;
  readonly clock: Pick<Clock, "after">;
  readonly startThread: StartThread;
  /** The text without secrets that are known, which must not be stored (P11). */
  redact(text: string): string;
  /** It said something for the log, or was refused a slot that is not its own. */
  noted(note: ThreadNote): void;
  /** How many bytes its slot may have beside all others of the session. */
  slotBytesMax(): number;
  /** It ended in the middle of its work. */
  dropped(why: Refusal): void;
}

/**
 * Makes an extension for one session: its slot is looked at first, its code is loaded into a
 * thread, and a slot of another version is brought to its own. Refused, nothing of it is left.
 */
export async function makeInstance(options: InstanceOptions): Promise<Result<ExtensionInstance>> {
  const { manifest, stored, unstored = stored } = options;
  const delivery = deliveryOf(manifest, unstored);
  if (delivery.kind === "withheld") return { ok: false, refusal: delivery.refusal };
  const instance = new ExtensionInstance(options, delivery);
  const why = await instance.made(delivery.kind === "to be migrated" ? delivery.stored : null);
  if (why === null) return ok(instance);
  instance.end("it did not come up");
  await instance.gone;
  return { ok: false, refusal: why };
}

/** One extension at work for one session. What it keeps is a draft until a snapshot has it. */
export class ExtensionInstance implements Startable {
  readonly id: string;
  readonly #options: InstanceOptions;
  /** The text of its slot as it is delivered. */
  readonly #delivered: string | null;
  #thread: RunningThread | null = null;
  /** Null if it keeps nothing. */
  readonly slot: SlotDraft | null;
  /** Whether the thread does not know yet what its slot is now. */
  #isSlotNews = false;
  /** Rises when the slot is taken back: what was asked before that does not count any more. */
  #takenBack = 0;
  #isEnding = false;
  /** What it is doing, for the list of what was left out. */
  #work = "make";

  constructor(options: InstanceOptions, delivery: SlotDelivery) {
    const { id, stateSlot } = options.manifest;
    this.id = id;
    this.#options = options;
    const text = delivery.kind === "as it is" ? JSON.stringify(delivery.value) : null;
    this.#delivered = text;
    const isUnstored = options.unstored !== undefined;
    const isOther = delivery.kind === "to be migrated" || isUnstored;
    this.slot = stateSlot && new SlotDraft(stateSlot, isOther ? "another version" : { text });
    if (!isUnstored) return;
    this.slot?.set(text);
    this.slot?.turnBegins();
  }

  /** Has the module loaded, and the slot migrated if that is due; answers why that failed. */
  async made(old: StoredSlot | null): Promise<Refusal | null> {
    const started = this.#started();
    if (!started.ok) return started.refusal;
    this.#thread = started.value;
    const { timeIsUp } = this.#options;
    const end = () => this.end(String(timeIsUp?.reason));
    timeIsUp?.addEventListener("abort", end, { once: true });
    if (timeIsUp?.aborted === true) end();
    const made = await this.#ask({ work: "make", msMax: EXTENSION_STEP_MS_MAX });
    if (!made.ok) return made.refusal;
    return old === null ? null : this.#migrate(old);
  }

  #started(): Result<RunningThread> {
    const { manifest, config, session, module, clock, startThread } = this.#options;
    const noted = (note: ThreadNote) => this.#noted(note);
    const { id, stateSlot, hooks } = manifest;
    const slot = this.#delivered;
    return startThread(
      { module, id, config: JSON.stringify(config), slot, stateSlot, hooks, session },
      { clock, ended: (why) => this.#ended(why), noted },
    );
  }

  async #migrate(old: StoredSlot): Promise<Refusal | null> {
    const { manifest } = this.#options;
    const about = JSON.stringify(old);
    const asked = await this.#ask({ work: "migrate", about, msMax: EXTENSION_WORK_MS_MAX });
    if (!asked.ok) {
      const details = { extension: this.id, stored: old.version, reason: reasonIn(asked.refusal) };
      return refusal("slot_migration_failed", details);
    }
    const migrated = migratedSlot(manifest, old.version, parsed(asked.value.text));
    if (!migrated.ok) return migrated.refusal;
    this.slot?.set(JSON.stringify(migrated.value));
    this.#isSlotNews = true;
    return null;
  }

  async take(step: LifeStep): Promise<void> {
    const answer = await this.#ask({ work: step });
    if (!answer.ok) throw new Error(reasonIn(answer.refusal));
  }

  /** What it says to a hook that its manifest has. One that fails here is ended. */
  async hook(hook: HookName, facts: object): Promise<Result<HookVerdict>> {
    const about = JSON.stringify(facts);
    if (about.length > EXTENSION_TOLD_CHARS_MAX) return ok(UNJUDGED);
    const asked = await this.#ask({ work: "hook", hook, about, msMax: EXTENSION_WORK_MS_MAX });
    if (!asked.ok) return this.#failed(asked.refusal);
    // What is over cannot be judged any more.
    if (hook.startsWith("after_")) return ok(PASS);
    // Before its reason is cut: half a secret is not known for one.
    const verdict = readVerdict(parsed(this.#options.redact(asked.value.text)));
    if (verdict !== null) return ok(verdict);
    return this.#failed(failureOf(this.id, hook, "what it answered is no verdict"));
  }

  /** Tells it of an event. One that fails at that is ended. */
  async tell(event: object): Promise<void> {
    const about = JSON.stringify(event);
    if (about.length > EXTENSION_TOLD_CHARS_MAX) return;
    const asked = await this.#ask({ work: "event", about, msMax: EXTENSION_WORK_MS_MAX });
    if (!asked.ok) this.#failed(asked.refusal);
  }

  /** What it keeps from here on is of a turn. */
  turnBegins() {
    this.slot?.turnBegins();
  }

  /** The turn came to nothing, and so did what it kept in it. */
  takeBack() {
    this.#takenBack += 1;
    this.slot?.takeBack();
    this.#isSlotNews = true;
  }

  /** What the next snapshot has to write of its slot; a secret that became known since ends it. */
  get change(): SlotChange | null {
    const text = this.slot?.text ?? null;
    if (text === null || !this.#hasSecret(text)) return this.slot?.change ?? null;
    this.#failed(refusal("secret_leak", { paths: `slot ${this.id}` }));
    return null;
  }

  end(why: string) {
    this.#isEnding = true;
    this.#thread?.end(why);
  }

  /** Resolves when its thread is gone. */
  get gone(): Promise<void> {
    return this.#thread?.gone ?? Promise.resolve();
  }

  async #ask(request: ThreadRequest): Promise<Result<ExtensionAnswer>> {
    const work = request.hook ?? request.work;
    this.#work = work;
    const slot = this.#isSlotNews ? { slot: this.slot?.text ?? null } : {};
    this.#isSlotNews = false;
    const takenBack = this.#takenBack;
    try {
      const answer = await this.#thread?.ask({ ...request, ...slot });
      if (answer === undefined) return this.#failed(failureOf(this.id, work, "it has no thread"));
      const isCurrent = answer.slot !== undefined && takenBack === this.#takenBack;
      const kept = isCurrent ? this.#keep(answer.slot ?? null) : null;
      return kept === null ? ok(answer) : { ok: false, refusal: kept };
    } catch (thrown) {
      const said = thrown instanceof Error ? thrown.message : "";
      return { ok: false, refusal: this.#failureOf(work, said) };
    }
  }

  /** Takes what it keeps from now on; the thread has checked it, but nothing depends on that. */
  #keep(text: string | null): Refusal | null {
    const checked = text === null ? ok(null) : this.#checked(text);
    if (checked.ok) this.slot?.set(checked.value);
    return checked.ok ? null : this.#failed(checked.refusal).refusal;
  }

  #hasSecret(text: string): boolean {
    return this.#options.redact(text) !== text;
  }

  #checked(text: string): Result<string> {
    if (this.#hasSecret(text)) return fail("secret_leak", { paths: `slot ${this.id}` });
    const limit = this.#options.slotBytesMax();
    if (Buffer.byteLength(text) > limit) {
      return fail("slot_too_large", { extension: this.id, limit });
    }
    return slotText(this.#options.manifest, parsed(text));
  }

  #failed(why: Refusal): { readonly ok: false; readonly refusal: Refusal } {
    if (!this.#isEnding) {
      this.end(why.code);
      this.#options.dropped(why);
    }
    return { ok: false, refusal: why };
  }

  #ended(why: string) {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#options.dropped(this.#failureOf(this.#work, why));
  }

  /** What it says is cut as the reason of a failure is. */
  #noted({ kind, text }: ThreadNote) {
    const { redact, noted } = this.#options;
    noted({ kind, text: redact(text).slice(0, EXTENSION_REASON_CHARS_MAX).toWellFormed() });
  }

  /** In its own words, which are cut when secrets are out of them: half of one is not known. */
  #failureOf(work: string, said: string): Refusal {
    return failureOf(this.id, work, this.#options.redact(said));
  }
}

const UNJUDGED: HookVerdict = { verdict: "ask", reason: "it is too large to be judged" };

/** A refusal as the reason of another one. */
function reasonIn(why: Refusal): string {
  const { reason } = why.details;
  return typeof reason === "string" ? reason : sentenceOf(why);
}

/** Undefined if it is no JSON text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
