import type { Result } from "../../core/result.ts";
import { SecretGuard } from "../../store/index.ts";
import { chooseAgents } from "./agents.ts";
import type { RunningServer } from "./assemble.ts";
import { jwtAuthenticatorOf, mayHaveTokens } from "./identity.ts";
import { openLog } from "./log.ts";
import { choosePrices } from "./meter.ts";
import type { Chosen } from "./options.ts";
import { ownFolders, serverSettings, workspaceFault } from "./settings.ts";
import { dataFolder, openStore } from "./store.ts";
import { chooseMcp } from "./tools.ts";

/**
 * A whole server: its store, its agents, its sessions, and the network in front of them. What
 * makes no sense is refused before anything is touched. The store's threads start while the rest
 * of the program is still being loaded.
 */
export async function startServer(
  chosen: Chosen,
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<Result<RunningServer>> {
  const folder = dataFolder(chosen, env);
  const jwt = await jwtAuthenticatorOf(chosen);
  if (!jwt.ok) return jwt;
  const mayKnowCallers = jwt.value !== null || mayHaveTokens(chosen, folder);
  const settings = await serverSettings(chosen, mayKnowCallers);
  if (!settings.ok) return settings;
  const own = await ownFolders(folder, env);
  const fault = await workspaceFault(settings.value, own);
  if (fault !== null) return fault;
  const choice = await chooseAgents(chosen);
  if (!choice.ok) return choice;
  const mcp = await chooseMcp(chosen, env);
  if (!mcp.ok) return mcp;
  const prices = await choosePrices(chosen);
  if (!prices.ok) return prices;
  const guard = new SecretGuard();
  const { token } = settings.value;
  if (token !== null) guard.know(token);
  const log = openLog(chosen["log-level"], guard);
  const opening = openStore(chosen, folder, guard, log);
  const [store, { assemble }] = await Promise.all([opening, import("./assemble.ts")]);
  if (!store.ok) return store;
  const kit = {
    chosen,
    ...choice.value,
    mcp: mcp.value,
    jwt: jwt.value,
    prices: prices.value,
    folder,
    own,
    guard,
    log,
    version,
  };
  return assemble({ ...kit, store: store.value });
}
