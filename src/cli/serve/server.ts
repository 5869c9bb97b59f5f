import { randomUUID } from "node:crypto";
import { ok, type Result } from "../../core/result.ts";
import { activityOf } from "../../server/activity.ts";
import type { Daemon } from "../../server/daemon.ts";
import { LOCAL_TENANT } from "../../server/gate/authenticator.ts";
import { allRoutes } from "../../server/routes.ts";
import { HttpServer } from "../../server/server.ts";
import { StoredWorkspaces } from "../../server/stored-workspaces.ts";
import { SessionRuntime } from "../../session/runtime.ts";
import { RANDOM_IDS, SYSTEM_CLOCK } from "../../session/system.ts";
import { SecretGuard, thisHolder } from "../../store/index.ts";
import { chooseAgents, dataFolder, openHands, openStore } from "./adapters.ts";
import { openLog } from "./log.ts";
import type { Chosen } from "./options.ts";
import { serverSettings, sessionSettings } from "./settings.ts";

/** That it fails is no harm: whoever makes a session is told why. */
async function preheat({ world, workspaces }: Daemon, agent: string): Promise<void> {
  const known = await workspaces.of(LOCAL_TENANT);
  const [first] = known.ok ? known.value : [];
  if (first !== undefined) await world.agents.preheat(LOCAL_TENANT, agent, first.cwd);
}

export interface RunningServer {
  /** Where it can be reached. */
  readonly url: string;
  readonly defaultAgent: string;
  /** Ends it in order; in a hurry, without waiting for turns. */
  stop(hurry: AbortSignal): Promise<void>;
}

/** A whole server: its store, its agents, its sessions, and the network in front of them. */
export async function startServer(
  chosen: Chosen,
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<Result<RunningServer>> {
  const settings = await serverSettings(chosen);
  if (!settings.ok) return settings;
  const chosenAgents = await chooseAgents(chosen);
  if (!chosenAgents.ok) return chosenAgents;
  const { profiles, defaultAgent } = chosenAgents.value;
  const guard = new SecretGuard();
  const { token } = settings.value;
  if (token !== null) guard.know(token);
  const log = openLog(chosen["log-level"], guard);
  const folder = dataFolder(chosen, env);
  const store = await openStore(chosen, folder, guard, log);
  if (!store.ok) return store;
  const { agents, shell } = await openHands(profiles, folder, guard, log);
  const world = {
    store: store.value,
    agents,
    shell,
    holder: thisHolder(randomUUID()),
    clock: SYSTEM_CLOCK,
    ids: RANDOM_IDS,
    redact: (text: string) => guard.redact(text),
    settings: sessionSettings(chosen, defaultAgent),
    ...log,
  };
  const runtime = new SessionRuntime(world);
  const workspaces = await StoredWorkspaces.open(store.value, settings.value.workspaces);
  const daemon = {
    runtime,
    world,
    settings: settings.value,
    workspaces,
    agents: new Set(profiles.keys()),
  };
  const server: HttpServer = new HttpServer({
    settings: settings.value,
    table: allRoutes(daemon, version, async () => activityOf(daemon, server)),
    clock: SYSTEM_CLOCK,
    log: log.log,
  });
  const stop = async (hurry: AbortSignal) => {
    server.stopAccepting();
    await runtime.shutDown(hurry);
    await server.close();
    await store.value.deactivate();
    await store.value.dispose();
  };
  const address = await server.listen();
  if (!address.ok) {
    await stop(AbortSignal.abort());
    return address;
  }
  if (chosen.preheat) void preheat(daemon, defaultAgent);
  void runtime.recover().then((recovered) => {
    if (!recovered.ok) return log.log("recovery failed", { because: recovered.refusal.code });
    const { total, setAside } = recovered.value;
    if (total > 0) log.log("recovered", { total, setAside: setAside.length });
    for (const { sessionId, reason } of setAside)
      log.log("session set aside", { sessionId, reason });
  });
  return ok({ url: address.value.url, defaultAgent, stop });
}
