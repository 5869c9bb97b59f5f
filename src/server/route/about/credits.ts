import { z } from "zod";
import { BUDGET_PERIODS } from "../../../core/ledger.ts";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { count, flag, maybeText, one, text, time } from "./plain-shapes.ts";

const micro = () => z.int();
const period = () => z.enum(BUDGET_PERIODS);

const month = () => z.object({ name: text(), chargedMicro: micro(), renewsAt: time() });

const budget = named("Budget", () =>
  z.object({
    scope: text(),
    period: period(),
    budgetMicro: micro(),
    usedMicro: micro(),
    leftMicro: micro(),
    renewsAt: time().optional(),
  }),
);

const balanceFields = () => ({
  limit: z.enum(["granted", "unlimited"]).nullable(),
  availableMicro: micro().nullable(),
  grantedMicro: micro(),
  chargedMicro: micro(),
  openMicro: micro(),
  openTurns: count(),
  month: month(),
  budgets: z.array(budget()),
});

const balance = named("Balance", () => z.object(balanceFields()));
const afterGrant = () => z.object({ id: text(), ...balanceFields() });

const tokens = () => z.record(z.string(), z.number());

const entry = named("StatementEntry", () =>
  z.object({
    seq: z.int(),
    at: time(),
    kind: text(),
    id: text(),
    n: z.int(),
    amountMicro: micro(),
    sessionId: maybeText(),
    userId: maybeText(),
    aside: z.literal(true).optional(),
    agent: maybeText().optional(),
    model: maybeText().optional(),
    tokens: tokens().nullable().optional(),
    priced: flag().optional(),
    usage: z.literal("unknown").optional(),
    note: text().optional(),
  }),
);

const group = () =>
  z.object({
    name: maybeText(),
    turns: count(),
    chargedMicro: micro(),
    unpricedTurns: count(),
    unknownTurns: count(),
    tokens: tokens(),
  });

export const ABOUT_CREDITS = {
  balance: () => ({
    task: "credits",
    summary: "Has the tenant's balance, its open reservations and its budgets.",
    answers: { 200: balance() },
    example: {},
  }),
  grant: () => ({
    task: "credits",
    summary: "Grants micro-credits. The same id with the same amount is the same grant.",
    answers: { 200: afterGrant() },
    refusals: ["invalid_amount", "grants_too_large", "credit_grant_revoked", "ledger_conflict"],
    example: { body: { amountMicro: 5_000_000, id: "grant-2", note: "November" } },
  }),
  revoke: () => ({
    task: "credits",
    summary: "Takes all of a grant back. What was spent of it stays charged.",
    answers: { 200: afterGrant() },
    refusals: ["credit_grant_not_found"],
    example: { body: { note: "A mistake" } },
  }),
  limit: () => ({
    task: "credits",
    summary: "Says whether the tenant spends what it was granted, or without limit.",
    answers: { 200: balance() },
    example: { body: { limit: "unlimited" } },
  }),
  budget: () => ({
    task: "credits",
    summary: "Sets what the tenant, a user or a session may cost in all or in a month.",
    more: "Null removes the budget.",
    answers: {
      200: z.union([
        balance(),
        z.object({ scope: text(), period: period(), budgetMicro: micro().nullable() }),
      ]),
    },
    refusals: ["invalid_amount", "session_not_found"],
    example: { body: { budgetMicro: 20_000_000, period: "month" } },
  }),
  own: () => ({
    task: "credits",
    summary: "Says what the caller was charged, and what their tightest budget leaves.",
    answers: {
      200: z.object({
        user: maybeText(),
        month: month(),
        total: z.object({ chargedMicro: micro() }),
        openMicro: micro(),
        budgets: z.array(budget()),
        leftMicro: micro().nullable(),
      }),
    },
    example: {},
  }),
  statement: () => ({
    task: "credits",
    summary: "Lists the entries of the ledger, oldest first, or has them as a file.",
    answers: {
      200: {
        media: {
          "application/json": z.object({
            v: one(),
            entries: z.array(entry()),
            hasMore: flag(),
            nextAfter: z.int().optional(),
          }),
          "text/csv": z.string(),
        },
      },
    },
    refusals: ["file_limit_exceeded"],
    example: { query: { limit: "100" } },
  }),
  usage: () => ({
    task: "credits",
    summary: "Sums up turns and charges, by user, session, agent, model, day or month.",
    answers: { 200: z.object({ v: one(), by: text(), groups: z.array(group()) }) },
    example: { query: { by: "model" } },
  }),
} satisfies Descriptions;
