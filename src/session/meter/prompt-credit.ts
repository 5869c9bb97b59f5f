import type { Refusal } from "../../core/error.ts";
import type { UserId } from "../../core/id.ts";
import { DONE, type Result } from "../../core/result.ts";
import { type Command, type TurnStart, userOf } from "../../core/session/command.ts";
import { firstAnswer } from "../../core/session/decide/prompt.ts";
import { pendingCount, type Session, type WaitingPrompt } from "../../core/session/state.ts";
import { type BuiltInName, readSlash, slashTextOf } from "../../core/slash/commands.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import type { TurnCredit } from "./meter.ts";
import { isUnknown, turnOrder } from "./session-credit.ts";

/** What a prompt is said with: what it begins with at once, or why it cannot be paid for. */
type Paid = Pick<Command<"prompt">, "start" | "unpaid" | "unpaidNow">;

/**
 * What a new prompt can begin with at once; nothing, if it has to wait its turn anyway. It is
 * refused if nobody could pay for it: one that has to wait, if nobody could even if all that is
 * set aside by then were free again. Nothing is set aside for one that waits. Whether another has
 * come before it in the meantime only the session knows, so that one is told both.
 */
export function promptStart(
  world: SessionWorld,
  { key, session }: LiveSession,
  command: Command<"prompt">,
): Paid | Promise<Paid> {
  const turnId = world.ids.turn();
  const order = turnOrder(key, session, { turnId, userId: userOf(command.actor) });
  const { meter } = world;
  const weighed = async (refused: Refusal | null): Promise<Paid> => {
    const can = await meter.afford(order, "settled");
    if (!can.ok) return { unpaid: can.refusal };
    return refused === null ? {} : { unpaidNow: refused };
  };
  if (!meter.isFree(order)) {
    // A repeat is answered as it was the first time, whatever there is to spend by now; and what
    // a line with a slash means, and whether that costs anything, is found out when it is next.
    const isNew = firstAnswer(session, command, command.idempotency) === null;
    if (!isNew || slashTextOf(command.content) !== null) return {};
    // Nobody knows yet what it will cost by then.
    if (isRepriced(session, order.userId)) return {};
    if (pendingCount(session) > 0) return weighed(null);
    if (session.connection.sessionState !== "ready") {
      return meter.afford(order).then((can) => (can.ok ? {} : weighed(can.refusal)));
    }
  }
  const start = (credit: Result<TurnCredit>) =>
    credit.ok ? { start: { turnId, ...credit.value } } : weighed(credit.refusal);
  const credit = meter.reserve(order);
  return credit instanceof Promise ? credit.then(start) : start(credit);
}

/** Whether somebody has told the session to take another model or agent, and it has not yet. */
function isRepriced({ queue }: Session, userId: UserId | null): boolean {
  return queue.some((prompt) => {
    const text = prompt.userId === userId ? slashTextOf(prompt.content) : null;
    return text !== null && REPRICING.has(readSlash(text)?.name ?? "");
  });
}

const REPRICING: ReadonlySet<string> = new Set(["model", "agent"] satisfies BuiltInName[]);

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

/** The same of a line with a slash, when it is next and has turned out to be a turn. */
export async function slashPaid(
  { ids, meter }: SessionWorld,
  { key, session }: LiveSession,
  { userId }: WaitingPrompt,
): Promise<Result<void>> {
  const order = turnOrder(key, session, { turnId: ids.turn(), userId });
  return meter.isFree(order) ? DONE : meter.afford(order, "settled");
}

/** What was set aside for a prompt that did not begin with it is free again. */
export async function promptStarted(
  { meter }: SessionWorld,
  { key }: LiveSession,
  start: TurnStart | undefined,
  refused: Refusal | null,
): Promise<void> {
  if (start === undefined || start.reservedMicro === 0) return;
  if (refused !== null && isUnknown(refused)) meter.leave(start.turnId);
  else await meter.giveBackUnbegun(key, start.turnId);
}
