import { z } from "zod";
import { STATEMENT_ROWS_DEFAULT_MAX, STATEMENT_ROWS_MAX } from "../../core/limits.ts";
import {
  ALL_TIME,
  type StatementLine,
  statementCsv,
  USAGE_GROUPINGS,
} from "../../session/meter/index.ts";
import { answerTo, file, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { moment } from "../moment.ts";
import { readQuery } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const whole = z
  .string()
  .regex(/^\d{1,15}$/, "it is a whole number")
  .transform(Number);

const isInOrder = ({ from, to }: { readonly from: number; readonly to: number }) => from <= to;
const NOT_IN_ORDER = { error: "it is after the end of the period", path: ["from"] };

/** `to` itself is not in it. */
const period = { from: moment.default(ALL_TIME.fromMs), to: moment.default(ALL_TIME.beforeMs) };

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

/** What became of a tenant's credits (ours). */
export function creditReportRoutes({ world: { meter } }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/credits/statement",
      gate: "caller",
      needs: "credits:read",
      clientId: "ignored",
      body: "json",
      async handle({ caller, query }) {
        const read = readQuery(statementQuery, query);
        if (!read.ok) return refused(read.refusal);
        const { format, after, limit, from: fromMs, to: beforeMs } = read.value;
        const wish = { after, fromMs, beforeMs };
        if (format === "csv") {
          const pieces = await statementCsv(meter, caller.tenantId, wish);
          return answerTo(pieces, (csv) => file("text/csv; charset=utf-8", csv));
        }
        const page = await meter.statement(caller.tenantId, { ...wish, limit });
        return answerTo(page, ({ lines, nextAfter }) => {
          const more = nextAfter === null ? { hasMore: false } : { hasMore: true, nextAfter };
          return json(200, { v: 1, entries: lines.map(entryOf), ...more });
        });
      },
    }),
    route({
      method: "GET",
      path: "/credits/usage",
      gate: "caller",
      needs: "credits:read",
      clientId: "ignored",
      body: "json",
      async handle({ caller, query }) {
        const read = readQuery(usageQuery, query);
        if (!read.ok) return refused(read.refusal);
        const { by, from: fromMs, to: beforeMs } = read.value;
        const report = await meter.usage(caller.tenantId, { by, fromMs, beforeMs });
        return answerTo(report, (usage) => json(200, { v: 1, ...usage }));
      },
    }),
  ];
}

function entryOf({ atMs, turnId, kind, isPriced, isAside, ...line }: StatementLine) {
  const { seq, n, amountMicro, sessionId, userId, agent, model, tokens, note } = line;
  const whose = { sessionId, userId, ...(isAside && { aside: true }) };
  const used = kind === "charge" ? { agent, model, tokens, priced: isPriced } : {};
  const at = new Date(atMs).toISOString();
  return { seq, at, kind, id: turnId, n, amountMicro, ...whose, ...used, ...(note && { note }) };
}
