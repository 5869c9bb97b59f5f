import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Refusal, refusal } from "../../core/error.ts";
import { parseSessionId, parseUserId } from "../../core/id.ts";
import { GRANT_NOTE_CHARS_MAX, MICRO_CREDITS_MAX } from "../../core/limits.ts";
import type { Balance } from "../../session/meter/index.ts";
import { type Answer, answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { stewardOf } from "../identity/request.ts";
import { type FieldCodes, readBody } from "../request-schema.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { actorOf } from "../session-request.ts";

/** Money is whole; what is not is refused by its own code, with the largest that there is. */
const AMOUNT_CODES: FieldCodes = { amountMicro: "invalid_amount", budgetMicro: "invalid_amount" };

const grantBody = z.object({
  amountMicro: z.int().min(1).max(MICRO_CREDITS_MAX),
  id: z.string().optional(),
  note: z.string().max(GRANT_NOTE_CHARS_MAX).optional(),
});
const limitBody = z.object({ limit: z.enum(["granted", "unlimited"]) });
const budgetBody = z.object({ budgetMicro: z.int().min(0).max(MICRO_CREDITS_MAX).nullable() });

/** What a tenant has to spend, and what it may (ours). */
export function creditsRoutes(daemon: Daemon): readonly Route[] {
  const { meter } = daemon.world;
  return [
    route({
      method: "GET",
      path: "/credits",
      gate: "caller",
      needs: "credits:read",
      clientId: "ignored",
      body: "json",
      handle: async ({ caller }) => answerTo(await meter.balance(caller.tenantId), told),
    }),
    route({
      method: "POST",
      path: "/credits/grants",
      gate: "caller",
      needs: "credits:write",
      clientId: "ignored",
      body: "json",
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
      path: "/credits/limit",
      gate: "caller",
      needs: "credits:write",
      clientId: "ignored",
      body: "json",
      async handle({ caller, body }) {
        const read = readBody(limitBody, body);
        if (!read.ok) return refused(read.refusal);
        const set = await meter.setLimit(caller.tenantId, read.value.limit, stewardOf(caller));
        return answerTo(set, told);
      },
    }),
    route({
      method: "POST",
      path: "/credits/budgets/:scope",
      gate: "caller",
      needs: "credits:write",
      clientId: "ignored",
      body: "json",
      async handle(request) {
        const read = readBody(budgetBody, request.body, AMOUNT_CODES);
        if (!read.ok) return refused(limited(read.refusal));
        return setBudget(daemon, request, read.value.budgetMicro);
      },
    }),
  ];
}

/** Of the tenant, of `user:NAME`, or of `session:ID`, which is in that session's log. */
async function setBudget(
  daemon: Daemon,
  request: ServerRequest<{ readonly scope: string }>,
  budgetMicro: number | null,
): Promise<Answer> {
  const { meter } = daemon.world;
  const { params, caller } = request;
  const { tenantId } = caller;
  const by = stewardOf(caller);
  const [of, ...rest] = params.scope.split(":");
  const name = rest.join(":");
  if (params.scope === "tenant") {
    return answerTo(await meter.setBudget(tenantId, { of: "tenant" }, budgetMicro, by), told);
  }
  const userId = of === "user" ? parseUserId(name) : null;
  if (userId !== null) {
    const scope = { of: "user", userId } as const;
    return answerTo(await meter.setBudget(tenantId, scope, budgetMicro, by), told);
  }
  const sessionId = of === "session" ? parseSessionId(name) : null;
  if (sessionId === null) {
    const reason = "A budget is that of `tenant`, of `user:NAME` or of `session:ID`.";
    return refused(refusal("invalid_request", { reason }));
  }
  const said = { actor: actorOf(request), atMs: daemon.world.clock.nowMs() };
  const command = { ...said, type: "set_budget", budgetMicro } as const;
  const set = await daemon.runtime.submit({ tenantId, sessionId }, command);
  return answerTo(set, () => json(200, { scope: params.scope, budgetMicro }));
}

function told(balance: Balance): Answer {
  return json(200, balance);
}

/** The sentence for a wrong amount names the largest one. */
function limited(why: Refusal): Refusal {
  return why.code === "invalid_amount" ? refusal(why.code, { limit: MICRO_CREDITS_MAX }) : why;
}
