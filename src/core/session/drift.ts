import type { Drift } from "./event.ts";
import type { Chosen, Surroundings } from "./state.ts";

/**
 * What is not as it was when the session last had an agent. What somebody chose meanwhile is no
 * drift, and neither is what could not be seen, then or now.
 */
export function driftSince(
  before: Surroundings | null,
  now: Surroundings | null,
  { modelConfig }: Pick<Chosen, "modelConfig">,
): readonly Drift[] {
  if (before === null || now === null) return [];
  const changes: readonly (Drift | null)[] = [
    change("agent", before.agent, now.agent),
    now.model === modelConfig.modelId ? null : change("model", before.model, now.model),
    change("skills", before.skills, now.skills),
    change("persona", before.persona, now.persona),
    change("mcp_servers", before.mcpServers.join(", "), now.mcpServers.join(", ")),
  ];
  return changes.filter((one) => one !== null);
}

function change(what: Drift["what"], from: string | null, to: string | null): Drift | null {
  return from === null || to === null || from === to ? null : { what, from, to };
}
