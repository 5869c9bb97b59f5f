import { z } from "zod";
import { parseUserId, type UserId } from "../../core/id.ts";
import { ROLES } from "../../core/permission.ts";
import type { Steward } from "../../session/audit/entries.ts";
import type { Caller } from "../route.ts";

/** A user's id and a role, as bodies have them. */
export const userField = z.string().transform((text, context): UserId => {
  const userId = parseUserId(text);
  if (userId !== null) return userId;
  context.addIssue({ code: "custom", message: "a user's id is of letters, digits and . _ : -" });
  return z.NEVER;
});

export const roleField = z.enum(ROLES);

/** The caller, as the audit is told of them. */
export function stewardOf({ userId }: Caller): Steward {
  return { kind: "client", userId };
}
