import type { Refusal } from "../../core/error.ts";
import { parseUserId, type SessionId, type TenantId, type UserId } from "../../core/id.ts";
import { type JsonObject, objectAt } from "../../core/json.ts";
import {
  type Account,
  availableMicro,
  type BudgetPeriod,
  type CreditLimit,
  tooPoor,
} from "../../core/ledger.ts";
import { MICRO_CREDITS_MAX, SUBMIT_TRIES_MAX, USER_BUDGETS_MAX } from "../../core/limits.ts";
import { addCounts, isCount } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";
import type { ReservationRequest } from "./meter.ts";
import type { MonthUse } from "./month-sums.ts";
import { openOfSession, openOfUser, type Sums, usedByAsides, usedByUser } from "./sums.ts";

/** What a tenant and its users may spend; kept in one document, so that it changes as one. */
export interface Allowance {
  /** Null where no owner has set it: then the server's default holds. */
  readonly limit: Account["limit"] | null;
  /** What the tenant may cost in all; null is no budget. */
  readonly tenantMicro: number | null;
  readonly userMicro: ReadonlyMap<UserId, number>;
  /** What the tenant and its users may cost in each calendar month (UTC). */
  readonly tenantMonthMicro: number | null;
  readonly userMonthMicro: ReadonlyMap<UserId, number>;
}

/** Whose budget it is; without a period it is the one in total. */
export type BudgetScope = { readonly period?: BudgetPeriod } & (
  | { readonly of: "tenant" }
  | { readonly of: "user"; readonly userId: UserId }
);

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
  const isMonthly = scope.period === "month";
  if (scope.of === "tenant") {
    const budget = isMonthly ? { tenantMonthMicro: budgetMicro } : { tenantMicro: budgetMicro };
    return ok({ ...allowance, ...budget });
  }
  const budgets = new Map(isMonthly ? allowance.userMonthMicro : allowance.userMicro);
  if (budgetMicro === null) budgets.delete(scope.userId);
  else budgets.set(scope.userId, budgetMicro);
  if (budgets.size > USER_BUDGETS_MAX) {
    const reason = `A tenant has at most ${USER_BUDGETS_MAX} budgets of users.`;
    return fail("invalid_request", { reason });
  }
  return ok({
    ...allowance,
    ...(isMonthly ? { userMonthMicro: budgets } : { userMicro: budgets }),
  });
}

/** Version 1 had no months; it is read as version 2 without any monthly budget. */
function documentOf({ limit, tenantMicro, tenantMonthMicro, ...users }: Allowance): JsonObject {
  const userMicro = Object.fromEntries(users.userMicro);
  const userMonthMicro = Object.fromEntries(users.userMonthMicro);
  return { v: 2, limit, tenantMicro, userMicro, tenantMonthMicro, userMonthMicro };
}

/** What cannot be understood is as if it had not been said. */
function allowanceOf(value: JsonObject): Allowance {
  const { limit, tenantMicro, tenantMonthMicro } = value;
  const known = limit === "granted" || limit === "unlimited" ? limit : null;
  return {
    limit: known,
    tenantMicro: isAmount(tenantMicro) ? tenantMicro : null,
    userMicro: usersAt(value, "userMicro"),
    tenantMonthMicro: isAmount(tenantMonthMicro) ? tenantMonthMicro : null,
    userMonthMicro: usersAt(value, "userMonthMicro"),
  };
}

function usersAt(value: JsonObject, field: string): ReadonlyMap<UserId, number> {
  const users = Object.entries(objectAt(value, field) ?? {}).flatMap(([name, micro]) => {
    const userId = parseUserId(name);
    return userId !== null && isAmount(micro) ? [[userId, micro] as const] : [];
  });
  return new Map(users);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}

/** What one limit leaves. */
interface Room {
  readonly limit: CreditLimit;
  readonly leftMicro: number;
}

/**
 * Against what a turn is weighed: all that is used and set aside `now`, or what will be left at
 * the most once everything that is set aside is `settled`, as for a turn that has to wait.
 */
export type Weighing = "now" | "settled";

/** What a turn is weighed by. */
export interface Scales {
  readonly sums: Sums;
  readonly allowance: Allowance;
  /** What was charged in this month; null where no monthly budget applies. */
  readonly month: MonthUse | null;
}

/**
 * Why so much cannot be set aside, by the limit that leaves the least; null if it can be. Of two
 * that leave the same, the one in total is named: a new month would not help.
 */
export function refusalOf(
  { sums, allowance, month }: Scales,
  order: ReservationRequest,
  neededMicro: number,
  when: Weighing = "now",
): Refusal | null {
  const isNow = when === "now";
  const weighed = isNow ? sums : atRest(sums);
  const whole = roomsInTotal(weighed, allowance, isNow ? order : { ...order, heldMicro: 0 });
  const rooms =
    month === null ? whole : [...whole, ...roomsInMonth(weighed, allowance, order, month)];
  const { limit, leftMicro } = rooms.reduce((least, room) =>
    room.leftMicro < least.leftMicro ? room : least,
  );
  return neededMicro <= leftMicro ? null : tooPoor(neededMicro, leftMicro, limit);
}

/** Whether nothing limits such a turn: then it is not weighed, and its price may be unknown. */
export function isUnlimited(allowance: Allowance, order: ReservationRequest): boolean {
  if (order.budgetMicro !== null || isMonthly(allowance, order)) return false;
  const { limit, tenantMicro, userMicro } = allowance;
  if (limit !== "unlimited" || tenantMicro !== null) return false;
  return order.userId === null || !userMicro.has(order.userId);
}

/** Whether the tenant or any of its users has a budget. */
export function hasBudgets(allowance: Allowance): boolean {
  const { tenantMicro, userMicro, tenantMonthMicro, userMonthMicro } = allowance;
  const isOfTenant = tenantMicro !== null || tenantMonthMicro !== null;
  return isOfTenant || userMicro.size > 0 || userMonthMicro.size > 0;
}

/** Whether a budget of a month limits such a turn. */
export function isMonthly(
  { tenantMonthMicro, userMonthMicro }: Allowance,
  { userId, monthBudgetMicro }: ReservationRequest,
): boolean {
  if (tenantMonthMicro !== null || monthBudgetMicro !== null) return true;
  return userId !== null && userMonthMicro.has(userId);
}

/** As if everything that is set aside were free again. */
function atRest(sums: Sums): Sums {
  const account = { ...sums.account, openByTurn: new Map(), openMicro: 0 };
  return { ...sums, account, open: new Map() };
}

function roomsInTotal(
  sums: Sums,
  allowance: Allowance,
  order: ReservationRequest,
): readonly Room[] {
  const { account } = sums;
  const { key, userId, budgetMicro } = order;
  const limit = allowance.limit ?? "granted";
  const rooms: Room[] = [
    { limit: { scope: "balance" }, leftMicro: availableMicro({ ...account, limit }) },
  ];
  if (budgetMicro !== null) {
    const turns = { chargedMicro: order.usedMicro, openMicro: order.heldMicro };
    const used = usedInAll(turns, usedBeside(sums, key.sessionId));
    const leftMicro = budgetMicro - used.chargedMicro - used.openMicro;
    rooms.push({ limit: { scope: "session" }, leftMicro });
  }
  const { tenantMicro } = allowance;
  if (tenantMicro !== null) {
    const leftMicro = tenantMicro - account.chargedMicro - account.openMicro;
    rooms.push({ limit: { scope: "tenant" }, leftMicro });
  }
  const ofUser = userId === null ? undefined : allowance.userMicro.get(userId);
  if (userId !== null && ofUser !== undefined) {
    rooms.push({ limit: { scope: "user" }, leftMicro: ofUser - usedByUser(sums, userId) });
  }
  return rooms;
}

/** What is set aside counts in this month, whenever that was: it is charged in it, or later. */
function roomsInMonth(
  sums: Sums,
  { tenantMonthMicro, userMonthMicro }: Allowance,
  { key, userId, monthBudgetMicro }: ReservationRequest,
  { month, chargedMicro, userMicro, sessionMicro }: MonthUse,
): readonly Room[] {
  const rooms: Room[] = [];
  if (monthBudgetMicro !== null) {
    const leftMicro = monthBudgetMicro - sessionMicro - openOfSession(sums, key.sessionId);
    rooms.push({ limit: { scope: "session", month }, leftMicro });
  }
  if (tenantMonthMicro !== null) {
    const leftMicro = tenantMonthMicro - chargedMicro - sums.account.openMicro;
    rooms.push({ limit: { scope: "tenant", month }, leftMicro });
  }
  const ofUser = userId === null ? undefined : userMonthMicro.get(userId);
  if (userId !== null && ofUser !== undefined) {
    const leftMicro = ofUser - userMicro - openOfUser(sums, userId);
    rooms.push({ limit: { scope: "user", month }, leftMicro });
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
