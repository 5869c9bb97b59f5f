import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { type JsonObject, objectAt } from "../../core/json.ts";
import type { Account } from "../../core/ledger.ts";
import { MICRO_CREDITS_MAX, SUBMIT_TRIES_MAX, USER_BUDGETS_MAX } from "../../core/limits.ts";
import { isCount } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";

/** What a tenant and its users may spend; kept in one document, so that it changes as one. */
export interface Allowance {
  /** Null where nobody has said anything: then it is as the server is set. */
  readonly limit: Account["limit"] | null;
  /** What the tenant may cost in all; null is no budget. */
  readonly tenantMicro: number | null;
  readonly userMicro: ReadonlyMap<UserId, number>;
}

export type BudgetScope = { readonly of: "tenant" } | { readonly of: "user"; userId: UserId };

const PLACE = { kind: "credits", key: "allowance" } as const;

/** As it stands; nothing of it is said where nobody has said anything. */
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
