import { type Refusal, refusal } from "../core/error.ts";
import { ok, type Result } from "../core/result.ts";
import type { Actor } from "../core/session/command.ts";
import { sentenceOf } from "./actor/agent-link.ts";
import type { LiveSession } from "./live.ts";
import type { Clock } from "./world.ts";

/**
 * Changes of a session's model: one after the other, in the order in which they were asked for.
 * The agent is asked first, since only it knows its models; the session then remembers what came
 * of that. A server that dies in between has lost its agent with what that had agreed to.
 */
export class ModelChanges {
  readonly #clock: Clock;
  readonly #last = new WeakMap<LiveSession, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  change(live: LiveSession, modelId: string, actor: Actor): Promise<Result<void>> {
    const before = this.#last.get(live) ?? Promise.resolve();
    const change = before.then(() => this.#change(live, modelId, actor));
    this.#last.set(live, change);
    return change;
  }

  async #change(live: LiveSession, modelId: string, actor: Actor): Promise<Result<void>> {
    const command = (failure: string | null) =>
      ({ type: "model", atMs: this.#clock.nowMs(), actor, modelId, failure }) as const;
    const why = live.refusalOf(command(null)) ?? (await live.activated());
    if (why !== null) return { ok: false, refusal: why };
    const failure = await refusalBy(live, modelId);
    const told = command(failure === null ? null : sentenceOf(failure));
    // Whoever wanted it may have left since; the agent has it, so the session says so (P7).
    const hasLeft = failure === null && live.refusalOf(told) !== null;
    const outcome = await live.submit(hasLeft ? { ...told, actor: { kind: "server" } } : told);
    return outcome.refusal === null ? ok(undefined) : { ok: false, refusal: outcome.refusal };
  }
}

async function refusalBy(live: LiveSession, modelId: string): Promise<Refusal | null> {
  const { agent } = live;
  const set = await agent?.setModel(modelId);
  if (set?.ok === false) return set.refusal;
  // Whoever has taken its place meanwhile has agreed to nothing.
  const isThere = agent !== null && live.agent === agent;
  return isThere ? null : refusal("agent_gone", { exit: "while it changed its model" });
}
