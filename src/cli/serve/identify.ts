import { ok, type Result } from "../../core/result.ts";
import {
  type Authenticator,
  byToken,
  sharedToken,
  type WayIn,
  withoutToken,
} from "../../server/http/authenticator.ts";
import { Members } from "../../server/identity/members.ts";
import {
  hasStoredTokens,
  StoredWay,
  type Voters,
} from "../../server/identity/token-authenticator.ts";
import type { ServerSettings } from "../../server/settings.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { TenantGate } from "../../session/tenant/tenant-gate.ts";
import type { SessionStore } from "../../store/index.ts";
import type { Chosen } from "./options.ts";
import { serverSettings } from "./settings.ts";

interface Identification {
  readonly settings: ServerSettings;
  readonly authenticator: Authenticator;
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
  readonly jwt: WayIn | null;
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
    new StoredWay(store, new Members(store, SYSTEM_CLOCK), SYSTEM_CLOCK, tenants, voters),
    ...(jwt === null ? [] : [jwt]),
  ];
  return ok({ settings: settings.value, authenticator: byToken(ways) });
}
