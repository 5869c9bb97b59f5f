import type { Refusal } from "../../core/error.ts";
import { availableMicro, type CreditScope, tooPoor } from "../../core/ledger.ts";
import type { Allowance } from "./allowance.ts";
import type { TurnOrder } from "./meter.ts";
import { type Sums, usedByAsides, usedByUser } from "./sums.ts";

/** What one limit leaves. */
interface Room {
  readonly scope: CreditScope;
  readonly leftMicro: number;
}

/** Why so much cannot be set aside, by the limit that leaves the least; null if it can be. */
export function refusalOf(
  sums: Sums,
  allowance: Allowance,
  order: TurnOrder,
  neededMicro: number,
): Refusal | null {
  const [first, ...others] = roomsOf(sums, allowance, order);
  const { scope, leftMicro } = others.reduce(
    (least, room) => (room.leftMicro < least.leftMicro ? room : least),
    first,
  );
  return neededMicro <= leftMicro ? null : tooPoor(neededMicro, leftMicro, scope);
}

function roomsOf(sums: Sums, allowance: Allowance, order: TurnOrder): readonly [Room, ...Room[]] {
  const { account } = sums;
  const { key, userId, budgetMicro, usedMicro } = order;
  const limit = allowance.limit ?? "granted";
  const rooms: [Room, ...Room[]] = [
    { scope: "balance", leftMicro: availableMicro({ ...account, limit }) },
  ];
  if (budgetMicro !== null) {
    const leftMicro = budgetMicro - usedMicro - usedByAsides(sums, key.sessionId);
    rooms.push({ scope: "session", leftMicro });
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
