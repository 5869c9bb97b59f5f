import type { Refusal } from "../../core/error.ts";
import { parseUserId, type SessionId, type TenantId, type UserId } from "../../core/id.ts";
import { type JsonObject, objectAt } from "../../core/json.ts";
import { type Account, availableMicro, type CreditScope, tooPoor } from "../../core/ledger.ts";
import { MICRO_CREDITS_MAX, SUBMIT_TRIES_MAX, USER_BUDGETS_MAX } from "../../core/limits.ts";
import { addCounts, isCount } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";
import type { ReservationRequest } from "./meter.ts";
import { type Sums, usedByAsides, usedByUser } from "./sums.ts";

/** What a tenant and its users may spend; kept in one document, so that it changes as one. */
export interface Allowance {
  /** Null where no owner has set it: then the server's default holds. */
  readonly limit: Account["limit"] | null;
  /** What the tenant may cost in all; null is no budget. */
  readonly tenantMicro: number | null;
  readonly userMicro: ReadonlyMap<UserId, number>;
}

export type BudgetScope = { readonly of: "tenant" } | { readonly of: "user"; userId: UserId };

const PLACE = { kind: "credits", key: "allowance" } as const;

/** As it stands; empty where no owner has set anything. */
export async function readAllowance(
  store: SessionStore,
  tenantId: TenantId,
): Promise<Result<Allowance & { readonly version: number }>> {
  const found = await store.readDocument(tenantId, PLACE.kind, PLACE.key);
  if (!found.ok) return found;
  const { value = {}, version = 0 } = found.value ?? {};
  return ok({ ...allowanceOf(value), version });
}

/**
 * Changes it, however many others do the same: each changes what the one before has left. The
 * audit is told in the same commit, so that it knows of all that has changed and of nothing else.
 */
export async function changeAllowance(
  store: SessionStore,
  tenantId: TenantId,
  change: (allowance: Allowance) => Result<Allowance>,
  audit: JournalEntry,
): Promise<Result<Allowance>> {
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const before = await readAllowance(store, tenantId);
    if (!before.ok) return before;
    const after = change(before.value);
    if (!after.ok) return after;
    const expectedVersion = before.value.version;
    const value = documentOf(after.value);
    const document = { ...PLACE, expectedVersion, value, entries: [audit] };
    const written = await store.writeDocument(tenantId, document);
    if (written.ok) return after;
    if (written.refusal.code !== "document_conflict") return written;
  }
  return fail("server_busy");
}

/** With another budget; null takes it away. */
export function withBudget(
  allowance: Allowance,
  scope: BudgetScope,
  budgetMicro: number | null,
): Result<Allowance> {
  if (budgetMicro !== null && !isCount(budgetMicro)) {
    return fail("invalid_amount", { limit: MICRO_CREDITS_MAX });
  }
  if (scope.of === "tenant") return ok({ ...allowance, tenantMicro: budgetMicro });
  const userMicro = new Map(allowance.userMicro);
  if (budgetMicro === null) userMicro.delete(scope.userId);
  else userMicro.set(scope.userId, budgetMicro);
  if (userMicro.size > USER_BUDGETS_MAX) {
    const reason = `A tenant has at most ${USER_BUDGETS_MAX} budgets of users.`;
    return fail("invalid_request", { reason });
  }
  return ok({ ...allowance, userMicro });
}

function documentOf({ limit, tenantMicro, userMicro }: Allowance): JsonObject {
  return { v: 1, limit, tenantMicro, userMicro: Object.fromEntries(userMicro) };
}

/** What cannot be understood is as if it had not been said. */
function allowanceOf(value: JsonObject): Allowance {
  const { limit, tenantMicro } = value;
  const known = limit === "granted" || limit === "unlimited" ? limit : null;
  const users = Object.entries(objectAt(value, "userMicro") ?? {}).flatMap(([name, micro]) => {
    const userId = parseUserId(name);
    return userId !== null && isAmount(micro) ? [[userId, micro] as const] : [];
  });
  return {
    limit: known,
    tenantMicro: isAmount(tenantMicro) ? tenantMicro : null,
    userMicro: new Map(users),
  };
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}

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
  order: ReservationRequest,
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
  { userId, budgetMicro }: ReservationRequest,
): boolean {
  if (budgetMicro !== null || limit !== "unlimited" || tenantMicro !== null) return false;
  return userId === null || !userMicro.has(userId);
}

/** As if everything that is set aside were free again. */
function atRest(sums: Sums): Sums {
  const account = { ...sums.account, openByTurn: new Map(), openMicro: 0 };
  return { ...sums, account, open: new Map() };
}

function roomsOf(
  sums: Sums,
  allowance: Allowance,
  order: ReservationRequest,
): readonly [Room, ...Room[]] {
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

/** What was used of a budget: charged for good, or set aside for now. */
export interface Use {
  readonly chargedMicro: number;
  readonly openMicro: number;
}

/** What the turns of a session have used, as its own log tells. */
export function usedByTurns({ totals, connection }: Session): Use {
  const openMicro = connection.turn.currentReservation?.reservedMicro ?? 0;
  return { chargedMicro: totals.chargedMicro, openMicro };
}

/** What was asked beside a session has used, which only the ledger knows. */
export function usedBeside(sums: Sums, sessionId: SessionId): Use {
  const chargedMicro = sums.asidesBySession.get(sessionId) ?? 0;
  return { chargedMicro, openMicro: usedByAsides(sums, sessionId) - chargedMicro };
}

/**
 * The one figure of what a session has used of its budget: by it turns are weighed and people are
 * warned, and it is what the session's own statistics show.
 */
export function usedInAll(turns: Use, beside: Use): Use {
  return {
    chargedMicro: addCounts(turns.chargedMicro, beside.chargedMicro),
    openMicro: addCounts(turns.openMicro, beside.openMicro),
  };
}
