import type { Refusal } from "../../core/error.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { type Command, type TurnStart, userOf } from "../../core/session/command.ts";
import { firstAnswer } from "../../core/session/decide/prompt.ts";
import { pendingCount } from "../../core/session/state.ts";
import { slashTextOf } from "../../core/slash/line.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { isUnknown, turnOrder } from "./session-credit.ts";

/**
 * What a new prompt can begin with at once; nothing, if it has to wait its turn anyway. It is
 * refused if nobody could pay for it: one that has to wait, if nobody could even if all that is
 * set aside by then were free again. Nothing is set aside for one that waits.
 */
export function promptStart(
  world: SessionWorld,
  { key, session }: LiveSession,
  command: Command<"prompt">,
): Result<TurnStart | null> | Promise<Result<TurnStart | null>> {
  const turnId = world.ids.turn();
  const order = turnOrder(key, session, { turnId, userId: userOf(command.actor) });
  const start = <Credit>(credit: Result<Credit>) =>
    credit.ok ? ok({ turnId, ...credit.value }) : credit;
  const { meter } = world;
  if (!meter.isFree(order)) {
    // A repeat is answered as it was the first time, whatever there is to spend by now; and what
    // a line with a slash means, and whether that costs anything, is found out when it is next.
    const isNew = firstAnswer(session, command, command.idempotency) === null;
    if (!isNew || slashTextOf(command.content) !== null) return ok(null);
    const isNext = pendingCount(session) === 0;
    if (!isNext || session.connection.sessionState !== "ready") {
      const weighed = meter.afford(order, isNext ? "now" : "settled");
      return weighed.then((can) => (can.ok ? ok(null) : can));
    }
  }
  const credit = meter.reserve(order);
  return credit instanceof Promise ? credit.then(start) : start(credit);
}

/** The same of words to an agent at work, if it cannot take them and they wait as a prompt. */
export async function steerPaid(
  { ids, meter }: SessionWorld,
  { key, session }: LiveSession,
  { actor, prompt }: Command<"steer">,
): Promise<Result<void>> {
  const order = turnOrder(key, session, { turnId: ids.turn(), userId: userOf(actor) });
  const isFree = meter.isFree(order) || slashTextOf(prompt.content) !== null;
  return isFree ? DONE : meter.afford(order, "settled");
}

/** What was set aside for a prompt that did not begin with it is free again. */
export async function promptStarted(
  { meter }: SessionWorld,
  { key }: LiveSession,
  start: TurnStart | null,
  refused: Refusal | null,
): Promise<void> {
  if (start === null || start.reservedMicro === 0) return;
  if (refused !== null && isUnknown(refused)) meter.leave(start.turnId);
  else await meter.giveBackUnbegun(key, start.turnId);
}
