import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Refusal, sentenceOf } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import {
  EXTENSION_CONFIG_BYTES_MAX,
  EXTENSION_MEMORY_LOOK_MS,
  EXTENSION_SLOT_BYTES_MAX,
  EXTENSION_STEP_MS_MAX,
} from "../core/limits.ts";
import { ok, type Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import type { LifeStep } from "../platform/life.ts";
import { lookAt } from "./discovery/discovery.ts";
import { type HookName, type HookVerdict, PASS } from "./hook.ts";
import { type ExtensionInstance, makeInstance } from "./instance.ts";
import { ExtensionLife } from "./life.ts";
import { type ExtensionManifest, readExtensionConfig } from "./manifest.ts";
import type { StoredSlot } from "./slot.ts";
import { ExtensionThread } from "./thread/thread.ts";
import type { StartThread } from "./thread/threads.ts";

/** The session that an extension is played in; each part may be left out. */
export interface PlayedSessionOptions {
  /** What the operator configures it with. */
  readonly config?: JsonObject;
  /** By default the working directory. */
  readonly workspaceCwd?: string;
  /** What an earlier session has stored: with it this one goes on from there. */
  readonly slot?: StoredSlot | null;
  readonly isResumed?: boolean;
}

/**
 * Brings up the extension in a folder, in a thread and within the limits that it has in a server.
 * Rejects with the sentence that an operator would see.
 */
export async function playSession(
  folder: string | URL,
  options: PlayedSessionOptions = {},
): Promise<PlayedSession> {
  const path = resolve(folder instanceof URL ? fileURLToPath(folder) : folder);
  const looked = await lookAt(path, coreVersion());
  if ("why" in looked) throw new Error(sentenceOf(looked.why));
  const { manifest } = looked;
  const module = pathToFileURL(join(path, manifest.main)).href;
  return valueIn(await PlayedSession.open(manifest, module, options, inTest));
}

function valueIn<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new Error(sentenceOf(result.refusal));
}

export function coreVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")).version;
}

/** A test that fails before it ends its session ends all the same: only deadlines hold it up. */
export const PLAY_CLOCK: Pick<Clock, "after"> = {
  after(ms, act) {
    const timer = setTimeout(act, ms);
    if (ms === EXTENSION_MEMORY_LOOK_MS) timer.unref();
    return () => clearTimeout(timer);
  },
};

const inTest: StartThread = (start, options) =>
  ok(new ExtensionThread(start, { ...options, isPlayed: true }));

/** An extension at work, and a session around it that is played by a test. */
export class PlayedSession {
  readonly manifest: ExtensionManifest;
  /** What it has written to the operator's log. */
  readonly logged: string[] = [];
  /** The slots of other owners that it wanted and was refused. */
  readonly denied: string[] = [];
  readonly #module: string;
  readonly #options: PlayedSessionOptions;
  readonly #startThread: StartThread;
  #instance: ExtensionInstance | null = null;
  #life: ExtensionLife | null = null;
  #stored: StoredSlot | null;
  #why: Refusal | null = null;

  private constructor(
    manifest: ExtensionManifest,
    module: string,
    options: PlayedSessionOptions,
    startThread: StartThread,
  ) {
    this.manifest = manifest;
    this.#module = module;
    this.#options = options;
    this.#startThread = startThread;
    this.#stored = options.slot ?? null;
  }

  /** The same for a manifest and the address of a module. */
  static async open(
    manifest: ExtensionManifest,
    module: string,
    options: PlayedSessionOptions,
    startThread: StartThread,
  ): Promise<Result<PlayedSession>> {
    const session = new PlayedSession(manifest, module, options, startThread);
    const why = await session.#bringUp();
    return why === null ? ok(session) : { ok: false, refusal: why };
  }

  async #bringUp(): Promise<Refusal | null> {
    const { config = {}, workspaceCwd = process.cwd(), slot = null, isResumed } = this.#options;
    const { manifest } = this;
    const checked = readExtensionConfig(manifest, config, EXTENSION_CONFIG_BYTES_MAX);
    if (!checked.ok) return checked.refusal;
    const made = await makeInstance({
      manifest,
      module: this.#module,
      config: checked.value,
      session: { sessionId: "played", workspaceCwd, isResumed: isResumed ?? slot !== null },
      stored: slot && {
        version: slot.version,
        payload: new TextEncoder().encode(JSON.stringify(slot.value)),
      },
      clock: PLAY_CLOCK,
      startThread: this.#startThread,
      redact: (text) => text,
      slotBytesMax: () => EXTENSION_SLOT_BYTES_MAX,
      noted: ({ kind, text }) => (kind === "log" ? this.logged : this.denied).push(text),
      dropped: (why) => {
        this.#why = why;
      },
    });
    if (!made.ok) return made.refusal;
    this.#instance = made.value;
    const rules = { clock: PLAY_CLOCK, stepMsMax: EXTENSION_STEP_MS_MAX, tell: () => {} };
    this.#life = new ExtensionLife(made.value, rules);
    const why = (await this.#life.take("init")) ?? (await this.#life.take("activate"));
    if (why === null) return null;
    await this.#takeDown(["dispose"]);
    return why;
  }

  /** What it answers to a hook; rejects if it fails. One that its manifest has not is a pass. */
  async hook(hook: HookName, facts: object): Promise<HookVerdict> {
    if (!this.manifest.hooks.includes(hook)) return PASS;
    return valueIn(await this.#running.hook(hook, facts));
  }

  /**
   * Tells it of an event of the session, as docs/protocol.md has them. It is told of those that its
   * manifest names; an update of an agent goes by the name that ACP has for it.
   */
  async tell(event: { readonly type: string; readonly data: JsonObject }): Promise<void> {
    const { update } = event.data;
    const name = event.type === "session_update" ? Object(update).sessionUpdate : event.type;
    if (!this.manifest.events.includes(name)) return;
    await this.#running.tell(event);
    if (this.#why !== null) throw new Error(sentenceOf(this.#why));
  }

  /** Tells it of an update of the agent, such as its plan. */
  update(update: JsonObject): Promise<void> {
    return this.tell({ type: "session_update", data: { update } });
  }

  /**
   * A turn with this prompt, answered with the verdict on it. What is kept by its end is stored; if
   * what happens in it rejects, the turn comes to nothing and that is taken back.
   */
  async turn(text: string, during: () => Promise<void> = async () => {}): Promise<HookVerdict> {
    const instance = this.#running;
    const prompt = { promptId: "prompt", text };
    const verdict = await this.hook("before_turn", prompt);
    if (verdict.verdict === "deny") return verdict;
    instance.turnBegins();
    try {
      await during();
      await this.hook("after_turn", { ...prompt, turnId: "turn", outcome: "completed" });
    } catch (thrown) {
      instance.takeBack();
      throw thrown;
    }
    this.#stored = this.slot;
    return verdict;
  }

  /** What it keeps by now; null if nothing. */
  get slot(): StoredSlot | null {
    const text = this.#instance?.slot?.text ?? null;
    const version = this.manifest.stateSlot?.slotVersion ?? "";
    return text === null ? null : { version, value: JSON.parse(text) };
  }

  /** Ends this session, and goes on in a new one with what the last turn has stored. */
  async resume(): Promise<PlayedSession> {
    await this.end();
    const options = { ...this.#options, slot: this.#stored, isResumed: true };
    const { manifest } = this;
    return valueIn(await PlayedSession.open(manifest, this.#module, options, this.#startThread));
  }

  /** Takes it down; rejects if it fails at that. */
  async end(): Promise<void> {
    const why = await this.#takeDown(["deactivate", "dispose"]);
    if (why !== null) throw new Error(sentenceOf(why));
  }

  async #takeDown(steps: readonly LifeStep[]): Promise<Refusal | null> {
    const failures: (Refusal | null | undefined)[] = [];
    if (this.#why === null) for (const step of steps) failures.push(await this.#life?.take(step));
    this.#instance?.end("the session is over");
    await this.#instance?.gone;
    return failures.find((why) => why != null) ?? null;
  }

  get #running(): ExtensionInstance {
    if (this.#instance === null || this.#why !== null) {
      throw new Error(this.#why === null ? "it is not at work" : sentenceOf(this.#why));
    }
    return this.#instance;
  }
}
