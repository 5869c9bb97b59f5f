import { ok, type Result } from "../../core/result.ts";
import type { LiveSession } from "../live.ts";
import { usedByTurns, usedInAll } from "../meter/allowance.ts";
import type { SessionWorld } from "../world.ts";
import {
  type ContextUsageAnswer,
  contextUsageAnswer,
  type StatsAnswer,
  statsAnswer,
} from "./index.ts";

/** What a session has used and done so far, with what was asked beside it. */
export async function sessionStats(
  { meter, clock }: SessionWorld,
  live: LiveSession,
): Promise<Result<StatsAnswer>> {
  const beside = await meter.usedBeside(live.key);
  if (!beside.ok) return beside;
  const tally = await live.tally();
  if (!tally.ok) return tally;
  const used = usedInAll(usedByTurns(live.session), beside.value);
  return ok(statsAnswer(live.session, tally.value, used, clock.nowMs()));
}

/** How full the agent's context is. */
export async function contextUsage(
  live: LiveSession,
  showDetails: boolean,
): Promise<Result<ContextUsageAnswer>> {
  const tally = await live.tally();
  return tally.ok ? ok(contextUsageAnswer(live.session, tally.value, showDetails)) : tally;
}
