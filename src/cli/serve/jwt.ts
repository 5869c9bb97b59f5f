import { existsSync } from "node:fs";
import { fail, ok, type Result } from "../../core/result.ts";
import type { WayIn } from "../../server/gate/authenticator.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { Chosen } from "./options.ts";
import { STORES, sessionsFolder } from "./store.ts";

/** In by JWT, where keys were chosen. Whose word they are must be said with them. */
export async function jwtWayOf(chosen: Chosen): Promise<Result<WayIn | null>> {
  const { "jwt-jwks": keySet, "jwt-issuer": issuer, "jwt-audience": audience } = chosen;
  if (keySet === null && issuer === null && audience === null) return ok(null);
  if (keySet === null || issuer === null || audience === null) {
    const reason = "keys, issuer and audience are given together";
    const path = "--jwt-jwks, --jwt-issuer and --jwt-audience";
    return fail("invalid_server_config", { path, reason });
  }
  const tenantClaim = chosen["jwt-tenant-claim"] ?? "tenant_id";
  const roleClaim = chosen["jwt-role-claim"] ?? "role";
  const { openJwtWay } = await import("../../server/identity/jwt-way.ts");
  return openJwtWay({ keySet, issuer, audience, tenantClaim, roleClaim }, SYSTEM_CLOCK);
}

/** Whether there is a store that could have tokens in it: only a look inside can tell. */
export function mayHaveTokens({ store }: Chosen, folder: string): boolean {
  return STORES[store].isLasting && existsSync(sessionsFolder(folder));
}
