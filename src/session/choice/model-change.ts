import type { AgentSession, ModelRefusal } from "../../agent/agent.ts";
import { refusal, sentenceOf } from "../../core/error.ts";
import { DONE, type Result } from "../../core/result.ts";
import { type Actor, type Command, type CommandData, SERVER } from "../../core/session/command.ts";
import { type ModelChange, type ModelPart, partsOf } from "../../core/session/state.ts";
import { givenBy } from "../given-by.ts";
import { readied } from "../life/comeback.ts";
import type { LiveSession } from "../live.ts";
import type { Clock } from "../world.ts";

/**
 * Changes of a session's model and of how it is set: one after the other, in the order in which
 * they were asked for. The agent is asked first, since only it knows what it can be set to; the
 * session then remembers what came of that. A server that dies in between has lost its agent with
 * what that had agreed to.
 */
export class ModelChanges {
  readonly #clock: Clock;
  readonly #last = new WeakMap<LiveSession, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  change(live: LiveSession, change: ModelChange, actor: Actor): Promise<Result<void>> {
    const before = this.#last.get(live) ?? Promise.resolve();
    const work = () => this.#change(live, change, actor);
    const changed = before.then(work, work);
    this.#last.set(live, changed);
    return changed;
  }

  async #change(live: LiveSession, change: ModelChange, actor: Actor): Promise<Result<void>> {
    const parts = partsOf(change);
    const why = live.refusalOf(this.#command({ change }, actor)) ?? (await readied(live));
    if (why !== null) return { ok: false, refusal: why };
    const { agent } = live;
    const refused = await refusalBy(live, agent, parts);
    if (refused !== null) return this.#refused(live, refused, actor);
    const told = this.#command({ change }, actor);
    // Whoever wanted it may have left since; the agent has it, so the session says so (P7).
    const hasLeft = live.refusalOf(told) !== null;
    const outcome = await live.submit(hasLeft ? { ...told, actor: SERVER } : told);
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    if (change.modelId !== undefined && agent !== null) await this.#setRest(live, agent, change);
    return DONE;
  }

  /** It stays as it was, and everybody is told; also of what the agent does not give back. */
  async #refused(live: LiveSession, refused: ModelRefusal, actor: Actor): Promise<Result<void>> {
    const failure = { ...refused.part, reason: sentenceOf(refused.refusal) };
    const outcome = await live.submit(this.#command({ failure }, actor));
    for (const { setting, value, refusal: why } of refused.unrestored) {
      const data = { setting, value, reason: sentenceOf(why) };
      const announcement = { type: "agent_setting_refused", data } as const;
      await live.submit({ type: "announce", ...this.#by(SERVER), announcement });
    }
    return { ok: false, refusal: outcome.refusal ?? refused.refusal };
  }

  /** An agent may go back to its own settings with another model; the session has not (P7). */
  async #setRest(live: LiveSession, agent: AgentSession, change: ModelChange): Promise<void> {
    const all = partsOf(live.session.chosen.modelConfig);
    for (const part of all.filter(({ setting }) => change[setting] === undefined)) {
      const refused = await agent.setModelConfig([part]);
      if (live.agent !== agent || refused?.refusal.code === "agent_gone") return;
      if (refused === null) continue;
      const failure = { ...part, reason: sentenceOf(refused.refusal) };
      await live.submit(this.#command({ failure }, SERVER));
    }
  }

  #command(news: CommandData["model"], actor: Actor): Command<"model"> {
    return { type: "model", ...this.#by(actor), ...news };
  }

  #by(actor: Actor) {
    return givenBy(this.#clock, actor);
  }
}

async function refusalBy(
  live: LiveSession,
  agent: AgentSession | null,
  parts: readonly ModelPart[],
): Promise<ModelRefusal | null> {
  const refused = (await agent?.setModelConfig(parts)) ?? null;
  const [part] = parts;
  // Whoever has taken its place meanwhile has agreed to nothing.
  const isThere = agent !== null && live.agent === agent;
  if (refused !== null || isThere || part === undefined) return refused;
  const gone = refusal("agent_gone", { exit: "while it changed its model" });
  return { part, refusal: gone, unrestored: [] };
}
