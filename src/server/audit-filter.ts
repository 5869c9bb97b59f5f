import { z } from "zod";
import { parseClientId, parseSessionId, parseUserId } from "../core/id.ts";
import { AUDIT_ACTS_MAX } from "../core/limits.ts";
import { type AuditFilter, WHOLE_AUDIT } from "../session/audit/audit-view.ts";
import { AUDIT_ACTS } from "../session/audit/audited.ts";
import { moment } from "./moment.ts";
import { listOf } from "./request-schema.ts";

/** One that there is not would be found nowhere, as if nothing had been done. */
const actName = z.enum(AUDIT_ACTS, { error: `it is one of ${AUDIT_ACTS.join(", ")}` });

/** What entries of an audit can be chosen by, as people write it: in a query, or as options. */
export const auditFilterFields = z.object({
  session: idBy(parseSessionId).optional(),
  user: idBy(parseUserId).optional(),
  client: idBy(parseClientId).optional(),
  /** Several are separated by commas. */
  act: z
    .string()
    .transform((text): unknown[] => text.split(","))
    .pipe(listOf(actName, AUDIT_ACTS_MAX))
    .optional(),
  accepted: z.enum(["true", "false"]).optional(),
  from: moment.optional(),
  to: moment.optional(),
});

export function auditFilterOf(fields: z.output<typeof auditFilterFields>): AuditFilter {
  const { session, user, client, act, accepted, from, to } = fields;
  return {
    sessionId: session ?? null,
    userId: user ?? null,
    clientId: client ?? null,
    acts: act ?? null,
    isAccepted: accepted === undefined ? null : accepted === "true",
    fromMs: from ?? WHOLE_AUDIT.fromMs,
    toMs: to ?? WHOLE_AUDIT.toMs,
  };
}

function idBy<Id extends string>(parse: (text: string) => Id | null) {
  return z.string().transform((text, context): Id => {
    const id = parse(text);
    if (id !== null) return id;
    context.addIssue({ code: "custom", message: "it is an id, of letters, digits and . _ : -" });
    return z.NEVER;
  });
}
