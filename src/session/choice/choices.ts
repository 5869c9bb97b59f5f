import { unknownAgent } from "../../core/agent-name.ts";
import type { JsonObject } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import type { ModelChange } from "../../core/session/state.ts";
import { personaDifference, skillDifference } from "../../core/skill/snapshot.ts";
import type { Reload } from "../../core/slash/reply.ts";
import type { AgentMode } from "../../core/turn.ts";
import type { SessionKey } from "../../store/store.ts";
import { retryIfEvicted } from "../eviction.ts";
import { NO_KNOWLEDGE, PERSONA, readKnowledge, SKILLS, take } from "../knowledge.ts";
import type { LiveSession } from "../live.ts";
import { SessionNames } from "../name/session-names.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { changeAgentMode, ModelChanges } from "./agent-changes.ts";
import { type OptionChange, OptionChanges } from "./option-changes.ts";

export type ReloadType = "reload_skills" | "reload_persona";

/**
 * Reads skill and persona files again, on a command. Reloads of one session come one
 * after the other, so that each tells the difference to the one before it.
 */
export class Reloads {
  readonly #world: SessionWorld;
  readonly #last = new WeakMap<LiveSession, Promise<unknown>>();

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  /** Reads them again and sets the session to what was found. */
  now(live: LiveSession, type: ReloadType, actor: Actor): Promise<Result<Reload>> {
    return this.inOrder(live, async () => {
      const by = stampedBy(this.#world.clock, actor);
      // Nothing is read for a client that may not, or in the middle of a turn.
      const why = live.refusalOf({ ...by, type, hash: "", difference: "" });
      if (why !== null) return { ok: false, refusal: why };
      const reload = await this.prepare(live, type);
      if (!reload.ok) return reload;
      const { to, difference } = reload.value;
      const { refusal } = await live.submit({ ...by, type, hash: to.hash, difference });
      return refusal === null ? reload : { ok: false, refusal };
    });
  }

  /** What a reload would come to now. The files are read and kept; the session is as it was. */
  async prepare(live: LiveSession, type: ReloadType): Promise<Result<Reload>> {
    const { skills, persona } = live.session.chosen;
    const found = await (type === "reload_skills" ? this.#skills(live) : this.#persona(live));
    if (!found.ok) return found;
    const { hash, difference } = found.value;
    const from = type === "reload_skills" ? skills : persona;
    return ok({ from, to: { version: from.version + 1, hash }, difference });
  }

  /** Runs this when the reloads before it are done. */
  inOrder<Answer>(live: LiveSession, work: () => Promise<Answer>): Promise<Answer> {
    const before = this.#last.get(live) ?? Promise.resolve();
    const done = before.then(work, work);
    this.#last.set(live, done);
    return done;
  }

  async #skills(live: LiveSession): Promise<Result<Found>> {
    const taken = await take(this.#world, placeOf(live), SKILLS);
    if (!taken.ok) return taken;
    const { hash, snapshot } = taken.value;
    return ok({ hash, difference: skillDifference((await this.#before(live)).skills, snapshot) });
  }

  async #persona(live: LiveSession): Promise<Result<Found>> {
    const taken = await take(this.#world, placeOf(live), PERSONA);
    if (!taken.ok) return taken;
    const { hash, snapshot } = taken.value;
    return ok({
      hash,
      difference: personaDifference((await this.#before(live)).persona, snapshot),
    });
  }

  /** What cannot be read any more is replaced all the same, and differs from nothing (P6). */
  async #before({ key, session }: LiveSession) {
    const known = await readKnowledge(this.#world, key.tenantId, session.chosen);
    return known.ok ? known.value : NO_KNOWLEDGE;
  }
}

interface Found {
  readonly hash: string;
  readonly difference: string;
}

function placeOf({ key, session }: LiveSession) {
  return { tenantId: key.tenantId, workspaceCwd: session.fixed.workspaceCwd };
}

/** Finds the session, for a client that is present by asking for it. */
type Find = (key: SessionKey, actor: Actor) => Promise<Result<LiveSession>>;

/**
 * What a session is set to: it changes by a command and never otherwise, one thing at a
 * time (P7).
 */
export class Choices {
  readonly #world: SessionWorld;
  readonly #find: Find;
  readonly #models: ModelChanges;
  readonly #options: OptionChanges;
  readonly reloads: Reloads;
  readonly names: SessionNames;

  constructor(world: SessionWorld, find: Find) {
    this.#world = world;
    this.#find = find;
    this.#models = new ModelChanges(world);
    this.#options = new OptionChanges(world, this.#models);
    this.reloads = new Reloads(world);
    this.names = new SessionNames(world);
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
    return retryIfEvicted(async () => {
      const found = await this.#find(key, actor);
      return found.ok ? changeAgentMode(this.#world, found.value, mode, actor) : found;
    });
  }

  /** Sets an option of the agent's own; answers all of its options as they are then. */
  async changeAgentOption(
    key: SessionKey,
    change: OptionChange,
    actor: Actor,
  ): Promise<Result<readonly JsonObject[]>> {
    return retryIfEvicted(async () => {
      const found = await this.#find(key, actor);
      return found.ok ? this.#options.change(found.value, change, actor) : found;
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
    if (!agentNames.includes(to)) return unknownAgent(to, agentNames);
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
