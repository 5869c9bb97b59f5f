import type { Log } from "../../core/log.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
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
import type { TenantGate } from "../../session/tenant/tenant-gate.ts";
import type { SessionStore } from "../../store/index.ts";
import type { ServeOptions } from "./options.ts";
import { serverSettings } from "./settings.ts";

/**
 * Chooses how callers authenticate. If there is any stored token, a key set or `--token`, every
 * caller needs a token or a JWT. Otherwise every caller is the owner, and only this machine may
 * connect.
 */
export async function openAuthenticator({
  options,
  jwt,
  localToken,
  store,
  tenants,
  voters,
  log,
}: {
  readonly options: ServeOptions;
  readonly jwt: Authenticator | null;
  /** For the commands of the server's own user; null where there are none. */
  readonly localToken: string | null;
  readonly store: SessionStore;
  readonly tenants: TenantGate;
  readonly voters: Voters;
  readonly log: Log;
}): Promise<
  Result<{ readonly settings: ServerSettings; readonly authenticator: RequestAuthenticator }>
> {
  const hasTokens = await hasStoredTokens(store);
  if (!hasTokens.ok) return hasTokens;
  const settings = await serverSettings(options, jwt !== null || hasTokens.value);
  if (!settings.ok) return settings;
  const { token, hasIdentities } = settings.value;
  if (token === null && !hasIdentities) {
    return ok({ settings: settings.value, authenticator: withoutToken(log) });
  }
  const rooted = await requireRoots(store, settings.value);
  if (!rooted.ok) return rooted;
  const ways = [
    ...(token === null ? [] : [sharedToken(token)]),
    ...(localToken === null ? [] : [sharedToken(localToken, { isGuessable: false })]),
    new TokenAuthenticator(store, new Members(store, SYSTEM_CLOCK), SYSTEM_CLOCK, tenants, voters),
    ...(jwt === null ? [] : [jwt]),
  ];
  return ok({ settings: settings.value, authenticator: byToken(ways) });
}

/**
 * Several tenants need a directory for their workspaces: otherwise the owner of one can register a
 * directory of another, and read it through an agent (P8).
 */
async function requireRoots(
  store: SessionStore,
  { workspaceRoots }: ServerSettings,
): Promise<Result<void>> {
  if (workspaceRoots.length > 0) return DONE;
  const all = await store.tenants();
  if (!all.ok || all.value.length < 2) return all.ok ? DONE : all;
  const named = all.value.slice(0, TENANTS_NAMED_MAX).join(", ");
  const others = all.value.length > TENANTS_NAMED_MAX ? ", …" : "";
  const reason =
    `there are ${all.value.length} tenants (${named}${others}), and without it the owner of one ` +
    "can register a directory of another; add --workspace-root DIR, below which tenants may " +
    "register workspaces, or delete a tenant with fermata tenants delete";
  return fail("invalid_server_config", { path: "--workspace-root", reason });
}

/** Tenants that the refusal names. */
const TENANTS_NAMED_MAX = 5;
