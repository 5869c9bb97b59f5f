import type { TenantId, TurnId } from "../../src/core/id.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { OfferedTool } from "../../src/tool/toolbox.ts";
import type { Word } from "./agent-words.ts";
import type { Chance } from "./chance.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedToolbox, SimulatedToolboxes } from "./simulated-toolboxes.ts";

/** Observes what agents that delegate are answered. */
export interface DelegationWatch {
  delegated(tenantId: TenantId, callId: string, answer: string): void;
}

interface DelegatorPart {
  readonly scene: Scene;
  readonly chance: Chance;
  readonly toolboxes: SimulatedToolboxes;
  readonly toolbox: SimulatedToolbox;
  readonly watch: DelegationWatch;
  readonly tenantId: TenantId;
  readonly server: number;
  /** A child is offered the tool as well, and has no children. */
  readonly isChild: boolean;
}

/** The side of an agent that has others work for it. What it delegates is up to chance. */
export class Delegator {
  readonly #part: DelegatorPart;
  readonly #tool: OfferedTool | null;
  #last: { readonly turnId: TurnId; readonly callId: string } | null = null;

  constructor(part: DelegatorPart) {
    this.#part = part;
    this.#tool = part.toolbox.tools.find(({ name }) => name === "delegate") ?? null;
  }

  /** What the agent means to do, and to delegate meanwhile. */
  among(words: readonly Word[]): readonly Word[] {
    const { chance, isChild } = this.#part;
    if (isChild && chance.happens(0.9)) return words;
    return words.flatMap((word): Word[] => {
      if (!chance.happens(0.5)) return [word];
      const calls = Array.from({ length: chance.pick([1, 1, 2, 4]) }, (): Word => {
        return chance.pick(["delegate", "delegate aside", "delegate aside"]);
      });
      return [...calls, word];
    });
  }

  /** Resolves with the answer, or when the call is not wanted any more. */
  async delegate(turnId: TurnId, gone: AbortSignal): Promise<void> {
    const { chance, scene } = this.#part;
    const last = this.#last?.turnId === turnId ? this.#last : null;
    const isRepeat = last !== null && chance.happens(0.15);
    // It says of which turn it is, for those who read the log.
    const callId = isRepeat ? last.callId : `${turnId}/${scene.ids.text("call")}`;
    this.#last = { turnId, callId };
    const input = this.#task();
    const calls = [this.#call(callId, input, gone)];
    if (chance.happens(0.15)) calls.push(this.#call(callId, input, gone));
    await Promise.all(calls);
  }

  /** A call that is on its way when its turn ends. */
  async late(turnId: TurnId, gone: AbortSignal): Promise<void> {
    const { chance, toolbox } = this.#part;
    if (!chance.happens(0.4)) return;
    const { travelling, signal } = toolbox;
    const inMs = chance.pick([0, 5, 60, 300]);
    const arrived = this.#later("has its call come in late", inMs, gone);
    const isOver = Promise.race([arrived, aborted(signal), aborted(gone)]).then(() => {
      travelling.delete(isOver);
    });
    travelling.add(isOver);
    await arrived;
    await this.delegate(turnId, gone);
  }

  #task(): JsonObject {
    const { chance, scene, tenantId } = this.#part;
    const task = scene.words.text("task", tenantId);
    const agent = chance.happens(0.05) ? { agent: "unknown" } : {};
    const model = chance.happens(0.2) ? { model: "model-b" } : {};
    return chance.happens(0.02)
      ? { task: " " }
      : { task, ...agent, ...model, readOnly: chance.happens(0.2) };
  }

  async #call(callId: string, input: JsonObject, gone: AbortSignal): Promise<void> {
    const { chance, scene, toolbox, toolboxes, watch, tenantId, isChild } = this.#part;
    if (this.#tool === null) return;
    const withdrawal = new AbortController();
    const signal = AbortSignal.any([withdrawal.signal, toolbox.signal, gone]);
    if (signal.aborted) return;
    scene.schedule.say("an agent", `delegates by ${callId}`);
    const over = new AbortController();
    const ends = AbortSignal.any([signal, over.signal]);
    if (chance.happens(0.1)) {
      const inMs = chance.pick([0, 1, 5, 40]);
      void this.#later(`takes ${callId} back`, inMs, ends).then(() => withdrawal.abort());
    }
    const use = { callId, meta: {}, signal, progress: () => {} };
    const called = this.#tool.call(input, use);
    const answer = await Promise.race([toolboxes.asked(callId, called, signal), aborted(signal)]);
    const isWanted = !signal.aborted;
    over.abort();
    if (answer === null || !isWanted) return;
    scene.schedule.say("an agent", `is answered by ${callId}: ${answer.text}`);
    const isRefused = answer.isError && !answer.text.startsWith("{");
    scene.judge.holds(!isChild || isRefused, "P10", () => `a child has delegated: ${answer.text}`);
    if (!isRefused) watch.delegated(tenantId, callId, answer.text);
  }

  /** Something that it does not do any more when it is gone. */
  #later(what: string, inMs: number, gone: AbortSignal): Promise<void> {
    const { scene, server } = this.#part;
    return new Promise((resolve) => {
      const callOff = scene.schedule.add("an agent", what, resolve, { inMs, server });
      gone.addEventListener("abort", callOff);
    });
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null)));
}
