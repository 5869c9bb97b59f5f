import type { CommandResult } from "../../session/event.ts";
import { done, failed, leftOut, listed, section, shownName } from "./answer.ts";

/** `/agent` alone, or `/agent list`: those that are configured, the active one marked. */
export function agentListed(active: string, agents: readonly string[]): CommandResult {
  const lines = listed(agents).map((name) =>
    name === active ? `* ${shownName(name)} (active)` : `  ${shownName(name)}`,
  );
  const more = agents.includes(active)
    ? []
    : [`The active agent, ${shownName(active)}, is not configured here any more.`];
  const text = [...section("Agents:", [...lines, ...leftOut(agents)]), ...more].join("\n");
  return done("agent_listed", text, { active, agents: listed(agents) });
}

export function agentSet(from: string, to: string): CommandResult {
  const message =
    from === to
      ? `The active agent is ${shownName(to)} already.`
      : `The active agent is now ${shownName(to)}; it was ${shownName(from)}.`;
  return done("agent_set", message, { from, to });
}

export function agentNotFound(name: string, agents: readonly string[]): CommandResult {
  const shown = shownName(name);
  const known = listed(agents).map(shownName);
  const names = [...known, ...leftOut(agents)].join(", ") || "none";
  const message = `Error: there is no agent "${shown}". The configured agents are: ${names}.`;
  return failed("agent_not_found", message, { agent: shown, agents: known });
}
