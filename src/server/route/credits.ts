import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Refusal, refusal } from "../../core/error.ts";
import { parseSessionId, parseUserId } from "../../core/id.ts";
import { BUDGET_PERIODS } from "../../core/ledger.ts";
import {
  GRANT_NOTE_CHARS_MAX,
  MICRO_CREDITS_MAX,
  STATEMENT_ROWS_DEFAULT_MAX,
  STATEMENT_ROWS_MAX,
} from "../../core/limits.ts";
import { isPermitted } from "../../core/permission.ts";
import {
  ALL_TIME,
  type Balance,
  discreetLines,
  discreetUsage,
  type StatementLine,
  statementCsv,
  USAGE_GROUPINGS,
} from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, file, json, refused } from "../http/answer.ts";
import {
  type FieldCodes,
  readBody,
  readQuery,
  stewardOf,
  timeField,
} from "../http/request-schema.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";
import { ABOUT_CREDITS } from "./about/credits.ts";
import { actorOf } from "./session-request.ts";

/** Amounts are integers. A wrong one has its own code, and the refusal names the maximum. */
const AMOUNT_CODES: FieldCodes = { amountMicro: "invalid_amount", budgetMicro: "invalid_amount" };

const grantBody = z.object({
  amountMicro: z.int().min(1).max(MICRO_CREDITS_MAX),
  id: z.string().optional(),
  note: z.string().max(GRANT_NOTE_CHARS_MAX).optional(),
});
const limitBody = z.object({ limit: z.enum(["granted", "unlimited"]) });
const revocationBody = z.object({ note: z.string().max(GRANT_NOTE_CHARS_MAX).optional() });
const budgetBody = z.object({
  budgetMicro: z.int().min(0).max(MICRO_CREDITS_MAX).nullable(),
  period: z.enum(BUDGET_PERIODS).default("total"),
});
type BudgetRequest = z.output<typeof budgetBody>;

/** Balance, grants, limits and budgets of the caller's tenant. Ours. */
export function creditsRoutes(daemon: Daemon): readonly Route[] {
  const { meter } = daemon;
  return [
    route({
      method: "GET",
      path: "/credits",
      about: ABOUT_CREDITS.balance,
      needs: "credits:read",
      handle: async ({ caller }) => answerTo(await meter.balance(caller.tenantId), balanceAnswer),
    }),
    route({
      method: "POST",
      path: "/credits/grants",
      about: ABOUT_CREDITS.grant,
      needs: "credits:write",
      fields: grantBody,
      async handle({ caller, body }) {
        const read = readBody(grantBody, body, AMOUNT_CODES);
        if (!read.ok) return refused(limited(read.refusal));
        const { id = randomUUID(), amountMicro, note = null } = read.value;
        const grant = { id, amountMicro, note, by: stewardOf(caller) };
        const granted = await meter.grant(caller.tenantId, grant);
        return answerTo(granted, (balance) => json(200, { id, ...balance }));
      },
    }),
    route({
      method: "POST",
      path: "/credits/grants/:id/revocation",
      about: ABOUT_CREDITS.revoke,
      needs: "credits:write",
      fields: revocationBody,
      async handle({ caller, body, params: { id } }) {
        const read = readBody(revocationBody, body);
        if (!read.ok) return refused(read.refusal);
        const { note = null } = read.value;
        const revocation = { id, note, by: stewardOf(caller) };
        const revoked = await meter.revoke(caller.tenantId, revocation);
        return answerTo(revoked, (balance) => json(200, { id, ...balance }));
      },
    }),
    route({
      method: "POST",
      path: "/credits/limit",
      about: ABOUT_CREDITS.limit,
      needs: "credits:write",
      fields: limitBody,
      async handle({ caller, body }) {
        const read = readBody(limitBody, body);
        if (!read.ok) return refused(read.refusal);
        const set = await meter.setLimit(caller.tenantId, read.value.limit, stewardOf(caller));
        return answerTo(set, balanceAnswer);
      },
    }),
    route({
      method: "POST",
      path: "/credits/budgets/:scope",
      about: ABOUT_CREDITS.budget,
      needs: "credits:write",
      fields: budgetBody,
      async handle(request) {
        const read = readBody(budgetBody, request.body, AMOUNT_CODES);
        if (!read.ok) return refused(limited(read.refusal));
        return setBudget(daemon, request, read.value);
      },
    }),
  ];
}

/**
 * Sets the budget of the tenant, of `user:NAME`, or of `session:ID`, which is in that session's
 * log.
 */
async function setBudget(
  daemon: Daemon,
  request: ServerRequest<{ readonly scope: string }>,
  { budgetMicro, period }: BudgetRequest,
): Promise<Answer> {
  const { meter } = daemon;
  const { params, caller } = request;
  const { tenantId } = caller;
  const by = stewardOf(caller);
  const [of, ...rest] = params.scope.split(":");
  const name = rest.join(":");
  if (params.scope === "tenant") {
    const scope = { of: "tenant", period } as const;
    return answerTo(await meter.setBudget(tenantId, scope, budgetMicro, by), balanceAnswer);
  }
  const userId = of === "user" ? parseUserId(name) : null;
  if (userId !== null) {
    const scope = { of: "user", userId, period } as const;
    return answerTo(await meter.setBudget(tenantId, scope, budgetMicro, by), balanceAnswer);
  }
  if (of !== "session" || parseSessionId(name) === null) {
    const reason = "A budget belongs to `tenant`, `user:NAME` or `session:ID`.";
    return refused(refusal("invalid_request", { reason }));
  }
  const change = { type: "set_budget", budgetMicro, period } as const;
  const found = await daemon.sessions.find(caller, name);
  if (!found.ok) return refused(found.refusal);
  const set = await found.value.command(actorOf(request), change);
  return answerTo(set, () => json(200, { scope: params.scope, period, budgetMicro }));
}

function balanceAnswer(balance: Balance): Answer {
  return json(200, balance);
}

/** Adds the maximum to the refusal of a wrong amount. */
function limited(why: Refusal): Refusal {
  return why.code === "invalid_amount" ? refusal(why.code, { limit: MICRO_CREDITS_MAX }) : why;
}

const whole = z
  .string()
  .regex(/^\d{1,15}$/, "it must be a whole number")
  .transform(Number);

const isInOrder = ({ from, to }: { readonly from: number; readonly to: number }) => from <= to;
const NOT_IN_ORDER = { error: "it is after the end of the period", path: ["from"] };

/** `to` is exclusive. */
const period = {
  from: timeField.default(ALL_TIME.fromMs),
  to: timeField.default(ALL_TIME.beforeMs),
};

const statementQuery = z
  .object({
    ...period,
    format: z.enum(["json", "csv"]).default("json"),
    after: whole.default(0),
    limit: whole.pipe(z.int().min(1).max(STATEMENT_ROWS_MAX)).default(STATEMENT_ROWS_DEFAULT_MAX),
  })
  .refine(isInOrder, NOT_IN_ORDER);

const usageQuery = z
  .object({
    by: z.enum(USAGE_GROUPINGS).default("day"),
    ...period,
  })
  .refine(isInOrder, NOT_IN_ORDER);

/** The caller's own use, and the statement and usage report of their tenant. Ours. */
export function creditReportRoutes({ meter, sessions }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/credits/me",
      about: ABOUT_CREDITS.own,
      needs: null,
      async handle({ caller: { tenantId, userId, role } }) {
        // A caller that is no user gets the figures of the tenant, which not every role may read.
        if (userId === null && !isPermitted(role, "credits:read")) {
          const reason = "This token belongs to no user, so it has no budget or use of its own.";
          return refused(refusal("invalid_request", { reason }));
        }
        return answerTo(await meter.ownUse(tenantId, userId), (use) => json(200, use));
      },
    }),
    route({
      method: "GET",
      path: "/credits/statement",
      about: ABOUT_CREDITS.statement,
      query: statementQuery,
      needs: "credits:read",
      async handle({ caller, query }) {
        const read = readQuery(statementQuery, query);
        if (!read.ok) return refused(read.refusal);
        const { format, after, limit, from: fromMs, to: beforeMs } = read.value;
        const range = { after, fromMs, beforeMs };
        const sight = sessions.sightOf(caller);
        const shown = (lines: readonly StatementLine[]) => discreetLines(lines, sight);
        if (format === "csv") {
          const pieces = await statementCsv(meter, caller.tenantId, range, shown);
          return answerTo(pieces, (csv) => file("text/csv; charset=utf-8", csv));
        }
        const page = await meter.statement(caller.tenantId, { ...range, limit });
        if (!page.ok) return refused(page.refusal);
        const { lines, nextAfter } = page.value;
        const more = nextAfter === null ? { hasMore: false } : { hasMore: true, nextAfter };
        return json(200, { v: 1, entries: (await shown(lines)).map(entryOf), ...more });
      },
    }),
    route({
      method: "GET",
      path: "/credits/usage",
      about: ABOUT_CREDITS.usage,
      query: usageQuery,
      needs: "credits:read",
      async handle({ caller, query }) {
        const read = readQuery(usageQuery, query);
        if (!read.ok) return refused(read.refusal);
        const { by, from: fromMs, to: beforeMs } = read.value;
        const report = await meter.usage(caller.tenantId, { by, fromMs, beforeMs });
        if (!report.ok) return refused(report.refusal);
        const usage = await discreetUsage(report.value, sessions.sightOf(caller));
        return json(200, { v: 1, ...usage });
      },
    }),
  ];
}

function entryOf({ atMs, turnId, kind, isPriced, isAside, isUsageKnown, ...line }: StatementLine) {
  const { seq, n, amountMicro, sessionId, userId, agent, model, tokens, note } = line;
  const whose = { sessionId, userId, ...(isAside && { aside: true }) };
  const unknown = isUsageKnown ? {} : { usage: "unknown" };
  const used = kind === "charge" ? { agent, model, tokens, priced: isPriced, ...unknown } : {};
  const at = new Date(atMs).toISOString();
  return { seq, at, kind, id: turnId, n, amountMicro, ...whose, ...used, ...(note && { note }) };
}
