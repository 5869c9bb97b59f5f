import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import type { ModelChange } from "../../core/session/state.ts";
import type { Reload } from "../../core/slash/reply.ts";
import type { AgentMode } from "../../core/turn.ts";
import type { SessionKey } from "../../store/store.ts";
import { unlessLetGo } from "../life/comeback.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { changeAgentMode } from "./agent-mode-change.ts";
import { ModelChanges } from "./model-change.ts";
import { Reloads } from "./reload.ts";

/** The session, for somebody who has shown a sign of life by asking for it. */
type Find = (key: SessionKey, actor: Actor) => Promise<Result<LiveSession>>;

/**
 * What a session is set to: it changes when somebody says so and never otherwise, one thing at a
 * time (P7).
 */
export class Choices {
  readonly #world: SessionWorld;
  readonly #find: Find;
  readonly #models: ModelChanges;
  readonly reloads: Reloads;

  constructor(world: SessionWorld, find: Find) {
    this.#world = world;
    this.#find = find;
    this.#models = new ModelChanges(world.clock);
    this.reloads = new Reloads(world);
  }

  /** Sets the model and its settings at the agent, and then in the session, if it took them all. */
  async changeModel(key: SessionKey, change: ModelChange, actor: Actor): Promise<Result<void>> {
    const found = await this.#find(key, actor);
    return found.ok ? this.#models.change(found.value, change, actor) : found;
  }

  /** Chooses the agent's own mode for the next turn, if it is one that the agent offers. */
  async changeAgentMode(
    key: SessionKey,
    mode: AgentMode,
    actor: Actor,
  ): Promise<Result<AgentMode>> {
    return unlessLetGo(async () => {
      const found = await this.#find(key, actor);
      return found.ok ? changeAgentMode(this.#world.clock, found.value, mode, actor) : found;
    });
  }

  async reloadSkills(key: SessionKey, actor: Actor): Promise<Result<Reload>> {
    const found = await this.#find(key, actor);
    return found.ok ? this.reloads.now(found.value, "reload_skills", actor) : found;
  }

  async reloadPersona(key: SessionKey, actor: Actor): Promise<Result<Reload>> {
    const found = await this.#find(key, actor);
    return found.ok ? this.reloads.now(found.value, "reload_persona", actor) : found;
  }

  /** Gives the session to another agent, which is told the conversation with the next prompt. */
  async changeAgent(key: SessionKey, to: string, actor: Actor): Promise<Result<AgentChange>> {
    const { agentNames } = this.#world.settings;
    if (!agentNames.includes(to)) {
      return fail("agent_unknown", { profile: to, known: agentNames.join(", ") });
    }
    const found = await this.#find(key, actor);
    if (!found.ok) return found;
    const from = found.value.session.chosen.activeAgent;
    const atMs = this.#world.clock.nowMs();
    const { refusal } = await found.value.submit({ type: "change_agent", atMs, actor, to });
    return refusal === null ? ok({ from, to }) : { ok: false, refusal };
  }
}

export interface AgentChange {
  readonly from: string;
  readonly to: string;
}
