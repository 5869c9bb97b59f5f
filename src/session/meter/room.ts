import type { Refusal } from "../../core/error.ts";
import { availableMicro, type CreditScope, tooPoor } from "../../core/ledger.ts";
import type { Allowance } from "./allowance.ts";
import type { TurnOrder } from "./meter.ts";
import { type Sums, usedByUser } from "./sums.ts";
import { usedBeside, usedInAll } from "./use.ts";

/** What one limit leaves. */
interface Room {
  readonly scope: CreditScope;
  readonly leftMicro: number;
}

/**
 * Against what a turn is weighed: all that is used and set aside `now`, or what will be left at
 * the most once everything that is set aside is `settled`, as for a turn that has to wait.
 */
export type Weighing = "now" | "settled";

/** Why so much cannot be set aside, by the limit that leaves the least; null if it can be. */
export function refusalOf(
  sums: Sums,
  allowance: Allowance,
  order: TurnOrder,
  neededMicro: number,
  when: Weighing = "now",
): Refusal | null {
  const [first, ...others] =
    when === "now"
      ? roomsOf(sums, allowance, order)
      : roomsOf(atRest(sums), allowance, { ...order, heldMicro: 0 });
  const { scope, leftMicro } = others.reduce(
    (least, room) => (room.leftMicro < least.leftMicro ? room : least),
    first,
  );
  return neededMicro <= leftMicro ? null : tooPoor(neededMicro, leftMicro, scope);
}

/** Whether nothing limits such a turn: then it is not weighed, and its price may be unknown. */
export function isUnlimited(
  { limit, tenantMicro, userMicro }: Allowance,
  { userId, budgetMicro }: TurnOrder,
): boolean {
  if (budgetMicro !== null || limit !== "unlimited" || tenantMicro !== null) return false;
  return userId === null || !userMicro.has(userId);
}

/** As if everything that is set aside were free again. */
function atRest(sums: Sums): Sums {
  const account = { ...sums.account, openByTurn: new Map(), openMicro: 0 };
  return { ...sums, account, open: new Map() };
}

function roomsOf(sums: Sums, allowance: Allowance, order: TurnOrder): readonly [Room, ...Room[]] {
  const { account } = sums;
  const { key, userId, budgetMicro } = order;
  const limit = allowance.limit ?? "granted";
  const rooms: [Room, ...Room[]] = [
    { scope: "balance", leftMicro: availableMicro({ ...account, limit }) },
  ];
  if (budgetMicro !== null) {
    const turns = { chargedMicro: order.usedMicro, openMicro: order.heldMicro };
    const used = usedInAll(turns, usedBeside(sums, key.sessionId));
    rooms.push({ scope: "session", leftMicro: budgetMicro - used.chargedMicro - used.openMicro });
  }
  const { tenantMicro } = allowance;
  if (tenantMicro !== null) {
    const leftMicro = tenantMicro - account.chargedMicro - account.openMicro;
    rooms.push({ scope: "tenant", leftMicro });
  }
  const ofUser = userId === null ? undefined : allowance.userMicro.get(userId);
  if (userId !== null && ofUser !== undefined) {
    rooms.push({ scope: "user", leftMicro: ofUser - usedByUser(sums, userId) });
  }
  return rooms;
}
