import type { Refusal } from "../../core/error.ts";
import { ok, type Result } from "../../core/result.ts";
import { type Command, type TurnStart, userOf } from "../../core/session/command.ts";
import { firstAnswer } from "../../core/session/decide/prompt.ts";
import { pendingCount } from "../../core/session/state.ts";
import { slashTextOf } from "../../core/slash/line.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { isUnknown, turnOrder } from "./session-credit.ts";

/**
 * What a new prompt can begin with at once; nothing, if it has to wait its turn anyway. It is
 * refused if nobody could pay for it; one that waits behind others finds that out when it is next.
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
    const isNext = pendingCount(session) === 0 && slashTextOf(command.content) === null;
    // A repeat is answered as it was the first time, whatever there is to spend by now.
    const isNew = firstAnswer(session, command, command.idempotency) === null;
    if (!isNext || !isNew) return ok(null);
    if (session.connection.sessionState !== "ready") {
      return meter.afford(order).then((can) => (can.ok ? ok(null) : can));
    }
  }
  const credit = meter.reserve(order);
  return credit instanceof Promise ? credit.then(start) : start(credit);
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
