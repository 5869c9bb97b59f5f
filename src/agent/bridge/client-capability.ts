import type { JsonObject } from "../../core/json.ts";
import { CLIENT_METHODS } from "../../wire/acp.ts";
import type { ClientAbility } from "../profile/profile.ts";

/**
 * What we can do for an agent, less what its profile withholds from it. There is no page that a
 * person could be sent to, so no `url`.
 */
export function clientCapabilities(withhold: readonly ClientAbility[]): JsonObject {
  const has = (ability: ClientAbility) => !withhold.includes(ability);
  return {
    fs: { readTextFile: has("fs.read"), writeTextFile: has("fs.write") },
    terminal: has("terminal"),
    ...(has("elicitation") && { elicitation: { form: {} } }),
  };
}

/** Whether a method is one that the agent was not offered, and asks for all the same. */
export function isWithheld(method: string, withhold: readonly ClientAbility[]): boolean {
  const ability = ABILITY_OF[method];
  return ability !== undefined && withhold.includes(ability);
}

const ABILITY_OF: Readonly<Record<string, ClientAbility>> = {
  [CLIENT_METHODS.readTextFile]: "fs.read",
  [CLIENT_METHODS.writeTextFile]: "fs.write",
  [CLIENT_METHODS.createTerminal]: "terminal",
  [CLIENT_METHODS.terminalOutput]: "terminal",
  [CLIENT_METHODS.waitForTerminalExit]: "terminal",
  [CLIENT_METHODS.killTerminal]: "terminal",
  [CLIENT_METHODS.releaseTerminal]: "terminal",
  [CLIENT_METHODS.createElicitation]: "elicitation",
};
