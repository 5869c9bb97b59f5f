import type { AgentSession, ModelRefusal } from "../../agent/agent.ts";
import { refusal, sentenceOf } from "../../core/error.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { type Actor, type Command, type CommandData, SERVER } from "../../core/session/command.ts";
import { type ModelChange, type ModelPart, settingsOfModel } from "../../core/session/state.ts";
import type { AgentMode } from "../../core/turn.ts";
import { changeIn } from "../actor/written.ts";
import { agentModes } from "../agent/agent-modes.ts";
import { ensureAgent } from "../eviction.ts";
import type { LiveSession } from "../live.ts";
import { boundCommand } from "../tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

/**
 * Chooses the mode that a session's agent is in from its next turn on; answers the one before.
 * Only the agent knows which modes it has, so one is brought if there is none, and what it does
 * not offer is refused before anything is recorded. Its usual mode every agent has.
 */
export async function changeAgentMode(
  world: SessionWorld,
  live: LiveSession,
  mode: AgentMode,
  actor: Actor,
): Promise<Result<AgentMode>> {
  const command = (): Command<"agent_mode"> => {
    return { type: "agent_mode", ...stampedBy(world.clock, actor), mode };
  };
  const bounded = await boundCommand(world, live, command());
  if (!bounded.ok) return bounded;
  const why = live.refusalOf(bounded.value) ?? (mode === null ? null : await ensureAgent(live));
  if (why !== null) return { ok: false, refusal: why };
  const offered = isOffered(live, mode);
  if (!offered.ok) return offered;
  const outcome = await live.submit(command());
  if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
  const change = changeIn(outcome, "agent_mode_changed");
  return ok(change === null ? mode : change.from);
}

function isOffered({ agent }: LiveSession, mode: AgentMode): Result<void> {
  if (mode === null) return ok(undefined);
  if (agent === null) return fail("agent_gone", { exit: "before its modes were looked at" });
  const { ids } = agentModes(agent.offer);
  if (ids.includes(mode)) return ok(undefined);
  if (ids.length === 0) return fail("agent_unsupported", { method: "any modes" });
  return fail("agent_choice_unknown", { setting: "mode", choices: ids.join(", ") });
}

/**
 * Changes of a session's model and of how it is set: one after the other, in the order in which
 * they were asked for. The agent is asked first, since only it knows what it can be set to; the
 * session then remembers what came of that. A server that dies in between has lost its agent with
 * what that had agreed to.
 */
export class ModelChanges {
  readonly #world: SessionWorld;
  readonly #last = new WeakMap<LiveSession, Promise<unknown>>();

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  change(live: LiveSession, change: ModelChange, actor: Actor): Promise<Result<void>> {
    const before = this.#last.get(live) ?? Promise.resolve();
    const work = () => this.#change(live, change, actor);
    const changed = before.then(work, work);
    this.#last.set(live, changed);
    return changed;
  }

  async #change(live: LiveSession, change: ModelChange, actor: Actor): Promise<Result<void>> {
    const parts = settingsOfModel(change);
    // The agent is not asked for what the policy forbids.
    const bounded = await boundCommand(this.#world, live, this.#command({ change }, actor));
    if (!bounded.ok) return bounded;
    const why = live.refusalOf(bounded.value) ?? (await ensureAgent(live));
    if (why !== null) return { ok: false, refusal: why };
    const { agent } = live;
    const refused = await refusalBy(live, agent, parts);
    if (refused !== null) return this.#refused(live, refused, actor);
    const told = this.#command({ change }, actor);
    // The client may have left since; the agent has the model, so the session says so (P7).
    const hasLeft = live.refusalOf(told) !== null;
    const outcome = await live.submit(hasLeft ? { ...told, actor: SERVER } : told);
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    if (change.modelId !== undefined && agent !== null) await this.#setRest(live, agent, change);
    return DONE;
  }

  /** It stays as it was, and all clients are told; also of what the agent does not take back. */
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
    const all = settingsOfModel(live.session.chosen.modelConfig);
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
    return stampedBy(this.#world.clock, actor);
  }
}

async function refusalBy(
  live: LiveSession,
  agent: AgentSession | null,
  parts: readonly ModelPart[],
): Promise<ModelRefusal | null> {
  const refused = (await agent?.setModelConfig(parts)) ?? null;
  const [part] = parts;
  // An agent that has taken its place meanwhile has agreed to nothing.
  const isThere = agent !== null && live.agent === agent;
  if (refused !== null || isThere || part === undefined) return refused;
  const gone = refusal("agent_gone", { exit: "while it changed its model" });
  return { part, refusal: gone, unrestored: [] };
}
