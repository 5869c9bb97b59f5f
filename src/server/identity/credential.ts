import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { parseTenantId, type TenantId } from "../../core/id.ts";

/** What a presented token says: whose it is, which one, and what only its holder knows. */
export interface Credential {
  readonly tenantId: TenantId;
  readonly tokenId: string;
  readonly secret: string;
}

/** The last two parts have no underscore in them, so a tenant's name may. */
const SHAPE = /^fmt_(.{1,128})_([0-9a-f]{16})_([0-9a-f]{64})$/;

/** As it is shown to its holder, once. */
export function credentialText({ tenantId, tokenId, secret }: Credential): string {
  return `fmt_${tenantId}_${tokenId}_${secret}`;
}

/** Null is no token of ours. */
export function parseCredential(text: string): Credential | null {
  const [, tenant = "", tokenId = "", secret = ""] = SHAPE.exec(text) ?? [];
  const tenantId = parseTenantId(tenant);
  return tenantId === null ? null : { tenantId, tokenId, secret };
}

export function freshTokenId(): string {
  return randomBytes(8).toString("hex");
}

/** As much as SHA-256 can tell apart: nobody guesses it, so the hash needs no salt. */
export function freshSecret(): string {
  return randomBytes(32).toString("hex");
}

export function isTokenId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}

/** What is kept of a secret. */
export function hashOfSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Takes as long for a wrong secret as for the right one. */
export function isSecretOf(secret: string, hash: string | null): boolean {
  const given = Buffer.from(hashOfSecret(secret));
  const expected = Buffer.from(hash ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
