import type { AgentOffer, AgentSession, ModelRefusal } from "../../agent/agent.ts";
import { refusal, sentenceOf } from "../../core/error.ts";
import { stringAt } from "../../core/json.ts";
import { type AgentAsking, wantsAsks } from "../../core/policy/asking.ts";
import { hasWord } from "../../core/policy/risk.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { type Actor, type Command, type CommandData, SERVER } from "../../core/session/command.ts";
import { type ModelChange, type ModelPart, partsOf } from "../../core/session/model-config.ts";
import type { Session } from "../../core/session/state.ts";
import type { AgentMode } from "../../core/turn.ts";
import { changeIn } from "../actor/written.ts";
import { readied } from "../life/clients.ts";
import type { LiveSession } from "../live.ts";
import { choicesOf, objectsIn } from "../view/context.ts";
import { type Clock, givenBy } from "../world.ts";

/** An agent's own modes: the one that it says it is in, and all that it offers, in its order. */
export interface AgentModes {
  readonly current: string | null;
  readonly ids: readonly string[];
}

/** Agents tell them as ACP's modes, or as an option like any other. */
export function agentModes({
  modes,
  configOptions,
}: Pick<AgentOffer, "modes" | "configOptions">): AgentModes {
  if (modes !== null) {
    const current = stringAt(modes, "currentModeId");
    return { current, ids: namesIn(modes.availableModes, "id") };
  }
  const option = configOptions.find(({ category }) => category === "mode");
  if (option === undefined) return { current: null, ids: [] };
  const current = stringAt(option, "currentValue");
  return { current, ids: namesIn(choicesOf(option.options), "value") };
}

/**
 * The mode that an agent is in when nobody has chosen one: the one that it first came in. One that
 * remembers may come back in any, so then it is the one that was known before. If none was, it is
 * the one that it comes in, unless that has a word of the wire, by which it may have been chosen.
 * Where the agent asks in one of its modes and is wanted to, it is that one.
 */
export function usualMode(
  { context, offer }: Pick<AgentSession, "context" | "offer">,
  known: string | null,
  asking: string | null = null,
): string | null {
  if (asking !== null) return asking;
  const { current, ids } = agentModes(offer);
  const isRemembered = context === "resumed" || context === "loaded";
  if (!isRemembered || current === null) return current;
  if (known !== null && ids.includes(known)) return known;
  return hasWord(current) ? (ids.find((id) => !hasWord(id)) ?? current) : current;
}

/** The mode in which it asks, if its profile names one, it has that, and the session wants it. */
export function askingMode(
  { offer }: Pick<AgentSession, "offer">,
  { mode }: AgentAsking,
  { securityMode }: Session["fixed"],
): string | null {
  const isOffered = mode !== null && agentModes(offer).ids.includes(mode);
  return isOffered && wantsAsks(securityMode) ? mode : null;
}

/**
 * The mode that an agent which has just come is put into; null leaves it in the one it is in. What
 * it went into by itself is its own affair as long as nobody has chosen anything, unless it asks
 * in one of its modes only.
 */
export function modeOnArrival(
  { offer }: Pick<AgentSession, "offer">,
  { connection, agentModeChoices = 0, agentUsualMode = null }: Session,
  usual: string | null,
  asking: string | null = null,
): string | null {
  if (connection.agentMode !== null) return connection.agentMode;
  if (asking !== null) return agentModes(offer).current === asking ? null : asking;
  const isKept = agentModeChoices === 0 && agentUsualMode !== null;
  return isKept || agentModes(offer).current === usual ? null : usual;
}

function namesIn(list: unknown, field: string): readonly string[] {
  return objectsIn(list).flatMap((one) => stringAt(one, field) ?? []);
}

/**
 * Chooses the mode that a session's agent is in from its next turn on; answers the one before.
 * Only the agent knows which modes it has, so one is brought if there is none, and what it does
 * not offer is refused before anything is recorded. Its usual mode every agent has.
 */
export async function changeAgentMode(
  clock: Clock,
  live: LiveSession,
  mode: AgentMode,
  actor: Actor,
): Promise<Result<AgentMode>> {
  const command = (): Command<"agent_mode"> => {
    return { type: "agent_mode", atMs: clock.nowMs(), actor, mode };
  };
  const why = live.refusalOf(command()) ?? (mode === null ? null : await readied(live));
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
    for (const { setting, value, refusal: why } of refused.adrift) {
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
  return { part, refusal: gone, adrift: [] };
}
