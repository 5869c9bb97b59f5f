import { existsSync } from "node:fs";
import { fail, ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import type { Authenticator } from "../../server/http/authenticator.ts";
import type { ServeOptions } from "./options.ts";
import { isLasting, sessionsFolder } from "./store.ts";

/** What is known of the callers of a server before its store is open. */

/** Accepts JWTs if the operator names a key set; issuer and audience are then required. */
export async function readJwtAuthenticator(
  options: ServeOptions,
): Promise<Result<Authenticator | null>> {
  const { "jwt-jwks": keySet, "jwt-issuer": issuer, "jwt-audience": audience } = options;
  if (keySet === null && issuer === null && audience === null) return ok(null);
  if (keySet === null || issuer === null || audience === null) {
    const reason = "give all three, or none";
    const path = "--jwt-jwks, --jwt-issuer and --jwt-audience";
    return fail("invalid_server_config", { path, reason });
  }
  const tenantClaim = options["jwt-tenant-claim"] ?? "tenant_id";
  const roleClaim = options["jwt-role-claim"] ?? "role";
  const { openJwtAuthenticator } = await import("../../server/identity/jwt.ts");
  return openJwtAuthenticator({ keySet, issuer, audience, tenantClaim, roleClaim }, SYSTEM_CLOCK);
}

/** Whether a store exists that may hold tokens; of one that is not bundled that is not known. */
export function mayHaveTokens(options: ServeOptions, folder: string): boolean {
  if (options.store !== "sqlite") return isLasting(options);
  return existsSync(sessionsFolder(folder));
}
