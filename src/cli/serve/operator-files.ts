import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type AgentProfile, modelAliases } from "../../agent/profile/profile.ts";
import { MCP_CONFIG_BYTES_MAX, PRICE_FILE_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { fileFault } from "../../platform/file-fault.ts";
import type { Authenticator } from "../../server/http/authenticator.ts";
import { PriceTable } from "../../session/meter/price-table.ts";
import type { McpServer } from "../../tool/mcp/config.ts";
import { homeOf, isMissingFile } from "../home.ts";
import type { ServeOptions } from "./options.ts";

/** Files that the operator has written, besides that of the options. */

/** The configured MCP servers, and the folder of their file, in which commands run. */
export interface McpConfig {
  readonly servers: readonly McpServer[];
  readonly folder: string;
}

/** The default file may be missing; a file that the operator names must exist. */
export async function readMcpConfig(
  { "mcp-config": named }: ServeOptions,
  env: NodeJS.ProcessEnv,
): Promise<Result<McpConfig>> {
  const path = resolve(named ?? join(homeOf(env), "mcp.json"));
  const folder = dirname(path);
  try {
    const { size } = await stat(path);
    if (size > MCP_CONFIG_BYTES_MAX) {
      const reason = `it has more than ${MCP_CONFIG_BYTES_MAX} bytes`;
      return fail("invalid_server_config", { path: `MCP file ${path}`, reason });
    }
    const { readMcpServers } = await import("../../tool/mcp/config.ts");
    const servers = readMcpServers(await readFile(path, "utf8"), path);
    return servers.ok ? ok({ servers: servers.value, folder }) : servers;
  } catch (thrown) {
    if (named === null && isMissingFile(thrown)) return ok({ servers: [], folder });
    const reason = fileFault(thrown);
    return fail("invalid_server_config", { path: `MCP file ${path}`, reason });
  }
}

/** The default prices, overridden by those of `--prices`. */
export async function readPriceFile(
  prices: string | null,
  profiles: ReadonlyMap<string, AgentProfile>,
): Promise<Result<PriceTable>> {
  const aliases = (agent: string) => {
    const profile = profiles.get(agent);
    return profile === undefined ? new Map<string, string>() : modelAliases(profile, process.env);
  };
  if (prices === null) return ok(new PriceTable({}, aliases));
  try {
    const { size } = await stat(prices);
    const reason = `the file has more than ${PRICE_FILE_BYTES_MAX} bytes`;
    if (size > PRICE_FILE_BYTES_MAX) {
      return fail("invalid_server_config", { path: "--prices", reason });
    }
    const { readPrices } = await import("../../session/meter/price-file.ts");
    return readPrices(await readFile(prices, "utf8"), aliases);
  } catch (thrown) {
    const reason = `${prices}: ${fileFault(thrown)}`;
    return fail("invalid_server_config", { path: "--prices", reason });
  }
}

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
