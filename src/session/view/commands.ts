import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { latestUpdate } from "./latest-update.ts";

/** The slash commands that a session's agent last offered, in the wire's shape. */
export async function availableCommands(
  store: SessionStore,
  key: SessionKey,
): Promise<Result<readonly JsonObject[]>> {
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
