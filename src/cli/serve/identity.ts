import { existsSync } from "node:fs";
import { fail, ok, type Result } from "../../core/result.ts";
import {
  type Authenticator,
  byToken,
  type RequestAuthenticator,
  sharedToken,
  withoutToken,
} from "../../server/http/authenticator.ts";
import { Members } from "../../server/identity/members.ts";
import {
  hasStoredTokens,
  TokenAuthenticator,
  type Voters,
} from "../../server/identity/token-authenticator.ts";
import type { ServerSettings } from "../../server/settings.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { TenantGate } from "../../session/tenant/tenant-gate.ts";
import type { SessionStore } from "../../store/index.ts";
import type { Chosen } from "./options.ts";
import { serverSettings } from "./settings.ts";
import { STORES, sessionsFolder } from "./store.ts";

interface Identification {
  readonly settings: ServerSettings;
  readonly authenticator: RequestAuthenticator;
}

/**
 * How callers say who they are. Once anybody has a token, a key set is named or `--token` is given,
 * everybody needs one; else whoever reaches the server owns it, and it must be this machine only.
 */
export async function identify({
  chosen,
  jwt,
  store,
  tenants,
  voters,
}: {
  readonly chosen: Chosen;
  readonly jwt: Authenticator | null;
  readonly store: SessionStore;
  readonly tenants: TenantGate;
  readonly voters: Voters;
}): Promise<Result<Identification>> {
  const hasTokens = await hasStoredTokens(store);
  if (!hasTokens.ok) return hasTokens;
  const settings = await serverSettings(chosen, jwt !== null || hasTokens.value);
  if (!settings.ok) return settings;
  const { token, hasIdentities } = settings.value;
  if (token === null && !hasIdentities) {
    return ok({ settings: settings.value, authenticator: withoutToken() });
  }
  const ways = [
    ...(token === null ? [] : [sharedToken(token)]),
    new TokenAuthenticator(store, new Members(store, SYSTEM_CLOCK), SYSTEM_CLOCK, tenants, voters),
    ...(jwt === null ? [] : [jwt]),
  ];
  return ok({ settings: settings.value, authenticator: byToken(ways) });
}

/** In by JWT, where keys were chosen. Whose word they are must be said with them. */
export async function jwtAuthenticatorOf(chosen: Chosen): Promise<Result<Authenticator | null>> {
  const { "jwt-jwks": keySet, "jwt-issuer": issuer, "jwt-audience": audience } = chosen;
  if (keySet === null && issuer === null && audience === null) return ok(null);
  if (keySet === null || issuer === null || audience === null) {
    const reason = "keys, issuer and audience are given together";
    const path = "--jwt-jwks, --jwt-issuer and --jwt-audience";
    return fail("invalid_server_config", { path, reason });
  }
  const tenantClaim = chosen["jwt-tenant-claim"] ?? "tenant_id";
  const roleClaim = chosen["jwt-role-claim"] ?? "role";
  const { openJwtAuthenticator } = await import("../../server/identity/jwt.ts");
  return openJwtAuthenticator({ keySet, issuer, audience, tenantClaim, roleClaim }, SYSTEM_CLOCK);
}

/** Whether there is a store that could have tokens in it: only a look inside can tell. */
export function mayHaveTokens({ store }: Chosen, folder: string): boolean {
  return STORES[store].isLasting && existsSync(sessionsFolder(folder));
}
