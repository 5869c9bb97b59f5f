import { stringAt } from "../../core/json.ts";
import { AGENT_COMMANDS_MS_MAX } from "../../core/limits.ts";
import type { LiveSession } from "../live.ts";
import { availableCommands } from "../view/commands.ts";
import type { Clock, SessionWorld } from "../world.ts";

/**
 * The names of the commands that a session's agent has said are its own. An agent says so only
 * when it is there, and often a moment later: who has just come and said nothing gets that moment.
 */
export async function agentCommands(
  { store, clock }: SessionWorld,
  live: LiveSession,
): Promise<readonly string[]> {
  if ((await live.activated()) !== null) return [];
  const untilMs = (live.agentSinceMs ?? clock.nowMs()) + AGENT_COMMANDS_MS_MAX;
  while (true) {
    const offered = await availableCommands(store, live.key);
    const commands = offered.ok ? offered.value : [];
    const leftMs = untilMs - clock.nowMs();
    if (commands.length > 0 || leftMs <= 0) {
      return commands.flatMap((command) => stringAt(command, "name") ?? []);
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
