import { stringAt } from "../../core/json.ts";
import { AGENT_COMMANDS_MS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { readied } from "../life/comeback.ts";
import type { LiveSession } from "../live.ts";
import { availableCommands } from "../view/agent-state.ts";
import type { Clock, SessionWorld } from "../world.ts";

/**
 * The names of the commands that a session's agent has said are its own; without an agent nobody
 * knows. An agent often says so a moment after it has come: one that has just come and said
 * nothing gets that moment.
 */
export async function agentCommands(
  { store, clock }: SessionWorld,
  live: LiveSession,
): Promise<Result<readonly string[]>> {
  const why = await readied(live);
  if (why !== null) return { ok: false, refusal: why };
  const untilMs = (live.agentSinceMs ?? clock.nowMs()) + AGENT_COMMANDS_MS_MAX;
  while (true) {
    const offered = await availableCommands(store, live);
    if (!offered.ok) return offered;
    const leftMs = untilMs - clock.nowMs();
    if (offered.value.length > 0 || leftMs <= 0) {
      return ok(offered.value.flatMap((command) => stringAt(command, "name") ?? []));
    }
    await changeWithin(clock, leftMs, live);
  }
}

function changeWithin(clock: Clock, ms: number, live: LiveSession): Promise<void> {
  return new Promise((resolve) => {
    const callOff = clock.after(ms, resolve);
    void live.changed().then(() => {
      callOff();
      resolve();
    });
  });
}
