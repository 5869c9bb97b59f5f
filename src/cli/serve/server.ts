import type { Result } from "../../core/result.ts";
import { SecretGuard } from "../../store/index.ts";
import { readAgentProfiles } from "./agents.ts";
import type { RunningServer } from "./assemble.ts";
import { mayHaveTokens, readJwtAuthenticator } from "./identity.ts";
import { openLog } from "./log.ts";
import { readPriceFile } from "./meter.ts";
import type { ServeOptions } from "./options.ts";
import { checkWorkspaces, ownFolders, serverSettings } from "./settings.ts";
import { dataFolder, openStore } from "./store.ts";
import { readMcpConfig } from "./tools.ts";

/**
 * Starts a server: store, agents, sessions and network. It refuses bad options before it touches
 * anything. The threads of the store start while the rest of the program is being loaded.
 */
export async function startServer(
  options: ServeOptions,
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<Result<RunningServer>> {
  const folder = dataFolder(options, env);
  const jwt = await readJwtAuthenticator(options);
  if (!jwt.ok) return jwt;
  const mayKnowCallers = jwt.value !== null || mayHaveTokens(options, folder);
  const settings = await serverSettings(options, mayKnowCallers);
  if (!settings.ok) return settings;
  const own = await ownFolders(folder, env);
  const fault = await checkWorkspaces(settings.value, own);
  if (fault !== null) return fault;
  const agents = await readAgentProfiles(options);
  if (!agents.ok) return agents;
  const mcp = await readMcpConfig(options, env);
  if (!mcp.ok) return mcp;
  const prices = await readPriceFile(options);
  if (!prices.ok) return prices;
  const guard = new SecretGuard();
  const { token } = settings.value;
  if (token !== null) guard.know(token);
  const log = openLog(options["log-level"], guard);
  const opening = openStore(options, folder, guard, log);
  const [store, { assemble }] = await Promise.all([opening, import("./assemble.ts")]);
  if (!store.ok) return store;
  const parts = {
    options,
    ...agents.value,
    mcp: mcp.value,
    jwt: jwt.value,
    prices: prices.value,
    folder,
    own,
    guard,
    log,
    version,
  };
  return assemble({ ...parts, store: store.value });
}
