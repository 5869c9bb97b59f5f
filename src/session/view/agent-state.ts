import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { choicesOf, objectsIn } from "../agent/agent-modes.ts";
import { readOffer, type ShownOffer } from "../agent/offers.ts";
import type { LiveSession } from "../live.ts";
import { latestUpdate } from "./log-search.ts";

/** What a session's agent can be set to, as ACP answers new, load and resume. */
export interface AgentState {
  readonly models?: JsonObject;
  readonly modes?: JsonObject;
  readonly configOptions?: readonly JsonObject[];
}

/** Returns the state as the agent has it now; without an agent, as it was when there was one. */
export async function agentState(
  store: Pick<SessionStore, "readBlob">,
  { agent, key, session }: Pick<LiveSession, "agent" | "key" | "session">,
): Promise<AgentState> {
  if (agent !== null) return stateOf(agent.offer);
  return stateOf(await readOffer(store, key.tenantId, session.agentOffer ?? null));
}

function stateOf({ modes, models: listed = null, configOptions }: ShownOffer): AgentState {
  const models = modelsIn(configOptions) ?? listed;
  return {
    ...(models !== null && { models }),
    ...(modes !== null && { modes }),
    ...(configOptions.length > 0 && { configOptions }),
  };
}

/** Clients read models where ACP once had them; most agents offer them as an option now. */
function modelsIn(configOptions: readonly JsonObject[]): JsonObject | null {
  const option = configOptions.find(({ category }) => category === "model");
  const currentModelId = option === undefined ? null : stringAt(option, "currentValue");
  if (option === undefined || currentModelId === null) return null;
  return { currentModelId, availableModels: choicesOf(option.options).flatMap(modelOf) };
}

/** Returns the ids of the models that an agent offers. */
export function modelIds({ models: listed, configOptions }: ShownOffer): readonly string[] {
  const models = modelsIn(configOptions) ?? listed;
  return objectsIn(models?.availableModels).flatMap((model) => stringAt(model, "modelId") ?? []);
}

function modelOf(choice: JsonObject): readonly JsonObject[] {
  const modelId = stringAt(choice, "value");
  if (modelId === null) return [];
  const description = stringAt(choice, "description");
  const name = stringAt(choice, "name") ?? modelId;
  return [{ modelId, name, ...(description !== null && { description }) }];
}

/**
 * Returns the slash commands that a session's agent offers: those of the connected agent, or the
 * last ones in the log. The log of a new agent has those of its predecessor, which do not count.
 */
export async function availableCommands(
  store: SessionStore,
  { agent, agentSide, key }: Pick<LiveSession, "agent" | "agentSide" | "key">,
): Promise<Result<readonly JsonObject[]>> {
  const isNew = agent?.context === "new" || agent?.context === "seeded";
  const commands = agentSide.link?.commands ?? [];
  if (commands.length > 0 || isNew) return ok(commands.flatMap(commandOf));
  const latest = await latestUpdate(store, key, "available_commands_update");
  if (!latest.ok) return latest;
  const offered = latest.value?.availableCommands;
  return ok(Array.isArray(offered) ? offered.flatMap(commandOf) : []);
}

/** Keeps the command as the agent has it, with an explicit null for no input. */
function commandOf(command: unknown): readonly JsonObject[] {
  if (!isObject(command) || stringAt(command, "name") === null) return [];
  return [{ ...command, input: command.input ?? null }];
}
