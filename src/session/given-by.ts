import type { Actor } from "../core/session/command.ts";
import type { Clock } from "./world.ts";

/** What every command has: when it was given, and by whom. */
export function givenBy<By extends Actor>(clock: Pick<Clock, "nowMs">, actor: By) {
  return { atMs: clock.nowMs(), actor };
}
