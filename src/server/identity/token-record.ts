import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { TOKEN_GRACE_MS_MAX } from "../../core/limits.ts";
import { isSecretOf } from "./credential.ts";
import { roleField, userField } from "./request.ts";

const moment = z.number().nullable();

const record = z.object({
  userId: userField,
  role: roleField,
  name: z.string().nullable(),
  /** The member's own, when it was made: it ends with that. */
  membership: z.string(),
  hash: z.string(),
  /** The secret before the last rotation, as long as it is still good. */
  formerHash: z.string().nullable(),
  formerUntilMs: moment,
  createdAtMs: z.number(),
  expiresAtMs: moment,
  lastUsedAtMs: moment,
  revokedAtMs: moment,
});

/** What is kept of a token: everything but its secret. */
export type TokenRecord = z.output<typeof record>;

/** The kind of the documents in which tokens are kept, each under its id. */
export const TOKEN_KIND = "token";

/** Null is no token that we wrote: nobody comes in by it. */
export function readTokenRecord(value: JsonObject): TokenRecord | null {
  return record.safeParse(value).data ?? null;
}

/** Neither revoked nor expired. */
export function isInUse({ revokedAtMs, expiresAtMs }: TokenRecord, nowMs: number): boolean {
  return revokedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs);
}

/** Whether the secret opens it: its own, or for a while the one before. */
export function isOpenedBy(token: TokenRecord, secret: string, nowMs: number): boolean {
  const { hash, formerHash, formerUntilMs } = token;
  const isOwn = isSecretOf(secret, hash);
  const isFormer = isSecretOf(secret, formerHash);
  if (isOwn || !isFormer || formerUntilMs === null) return isOwn;
  // Whatever becomes of the clock, it never has longer than it could have been given.
  const leftMs = formerUntilMs - nowMs;
  return leftMs > 0 && leftMs <= TOKEN_GRACE_MS_MAX;
}
