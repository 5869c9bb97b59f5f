import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import { latestUpdate } from "./latest-update.ts";

type Speaker = Pick<LiveSession, "agent" | "agentCommands" | "key">;

/**
 * The slash commands that a session's agent offers, in the wire's shape: as it has said since it
 * came, or as the log has it. What stands there of a new agent's predecessor is not its own.
 */
export async function availableCommands(
  store: SessionStore,
  { agent, agentCommands, key }: Speaker,
): Promise<Result<readonly JsonObject[]>> {
  const isNewcomer = agent?.context === "new" || agent?.context === "seeded";
  if (agentCommands.length > 0 || isNewcomer) return ok(agentCommands.flatMap(commandOf));
  const latest = await latestUpdate(store, key, "available_commands_update");
  if (!latest.ok) return latest;
  const offered = latest.value?.availableCommands;
  return ok(Array.isArray(offered) ? offered.flatMap(commandOf) : []);
}

/** Kept as the agent has it; only that there is no input is said outright. */
function commandOf(command: unknown): readonly JsonObject[] {
  if (!isObject(command) || stringAt(command, "name") === null) return [];
  return [{ ...command, input: command.input ?? null }];
}
