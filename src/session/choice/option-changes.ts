import type { AgentSession } from "../../agent/agent.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Actor, type Command, SERVER } from "../../core/session/command.ts";
import type { ModelSetting } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import { choicesOf } from "../agent/agent-modes.ts";
import { ensureAgent } from "../eviction.ts";
import type { LiveSession } from "../live.ts";
import { boundCommand } from "../tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { changeAgentMode, type ModelChanges } from "./agent-changes.ts";

/** An option of the agent's own, by the id that the agent gives it. */
export interface OptionChange {
  readonly configId: string;
  readonly value: string | boolean;
}

/**
 * Changes of the options that an agent offers. Those that are its model, a setting of that, or its
 * mode are what the session has fields of its own for, and change as these do (P7). Any other is
 * set at the agent first, and then remembered for when the agent comes back.
 */
export class OptionChanges {
  readonly #world: SessionWorld;
  readonly #models: ModelChanges;

  constructor(world: SessionWorld, models: ModelChanges) {
    this.#world = world;
    this.#models = models;
  }

  async change(
    live: LiveSession,
    change: OptionChange,
    actor: Actor,
  ): Promise<Result<readonly JsonObject[]>> {
    const why = await ensureAgent(live);
    if (why !== null) return { ok: false, refusal: why };
    const { agent } = live;
    if (agent === null) return fail("agent_gone", { exit: "before its options were looked at" });
    const option = offeredOption(agent, change.configId);
    const configId = option === undefined ? null : stringAt(option, "id");
    if (option === undefined || configId === null) return unknownOption(agent);
    const named = { ...change, configId };
    const allowed = isChoice(option, named);
    if (!allowed.ok) return allowed;
    const changed = await this.#changed(live, agent, { ...named, option }, actor);
    return changed.ok ? ok(agent.offer.configOptions) : changed;
  }

  async #changed(
    live: LiveSession,
    agent: AgentSession,
    { configId, value, option }: OptionChange & { readonly option: JsonObject },
    actor: Actor,
  ): Promise<Result<unknown>> {
    const setting = agent.modelSettingOf(configId);
    if (setting !== null) return this.#models.change(live, modelChange(setting, value), actor);
    const category = stringAt(option, "category");
    if (category === "mode") return changeAgentMode(this.#world, live, String(value), actor);
    const command = this.#command({ configId, value, category }, actor);
    // The agent is not asked for what the policy forbids.
    const bounded = await boundCommand(this.#world, live, command);
    if (!bounded.ok) return bounded;
    const why = live.refusalOf(bounded.value);
    if (why !== null) return { ok: false, refusal: why };
    const set = await agent.setConfigOption(configId, value);
    if (!set.ok) return set;
    // The client may have left since; the agent has the option, so the session says so (P7).
    const hasLeft = live.refusalOf(command) !== null;
    const { refusal } = await live.submit(hasLeft ? { ...command, actor: SERVER } : command);
    return refusal === null ? ok(undefined) : { ok: false, refusal };
  }

  #command(
    change: OptionChange & { readonly category: string | null },
    actor: Actor,
  ): Command<"agent_option"> {
    return { type: "agent_option", ...stampedBy(this.#world.clock, actor), ...change };
  }
}

/** Upstream's clients name only this, also if the agent has another id for its option. */
const REASONING = "reasoning_effort";

function offeredOption(agent: AgentSession, configId: string): JsonObject | undefined {
  const { configOptions } = agent.offer;
  const named = configOptions.find(({ id }) => id === configId);
  if (named !== undefined || configId !== REASONING) return named;
  const isIt = ({ id }: JsonObject) =>
    typeof id === "string" && agent.modelSettingOf(id) === "reasoning";
  return configOptions.find(isIt);
}

function modelChange(setting: ModelSetting, value: string | boolean) {
  if (typeof value === "boolean") return { [setting]: value ? "on" : "off" };
  return { [setting]: setting === "temperature" ? Number(value) : value };
}

function unknownOption({ offer }: AgentSession): Result<never> {
  const ids = offer.configOptions.flatMap((option) => stringAt(option, "id") ?? []);
  if (ids.length === 0) return fail("agent_unsupported", { method: "any options" });
  return unknownChoice("configId", ids);
}

/** Whether the agent offers the value; of a list without choices it may take any. */
function isChoice(option: JsonObject, { configId, value }: OptionChange): Result<void> {
  const isSwitch = option.type === "boolean" || typeof option.currentValue === "boolean";
  if (isSwitch) {
    return typeof value === "boolean" ? ok(undefined) : unknownChoice(configId, ["true", "false"]);
  }
  const choices = choicesOf(option.options).flatMap((one) => stringAt(one, "value") ?? []);
  const isOffered = choices.length === 0 || choices.some((choice) => choice === value);
  const isText = typeof value === "string";
  return isText && isOffered ? ok(undefined) : unknownChoice(configId, choices);
}

function unknownChoice(setting: string, choices: readonly string[]): Result<never> {
  const all = cutText(choices.join(", "), ERROR_MESSAGE_CHARS_MAX);
  return fail("agent_choice_unknown", { setting, choices: all });
}
