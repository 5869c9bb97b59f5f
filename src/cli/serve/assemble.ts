import { randomUUID } from "node:crypto";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import type { OwnFolders } from "../../agent/workspace/location.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Daemon } from "../../server/daemon.ts";
import { type Authenticator, LOCAL_TENANT } from "../../server/http/authenticator.ts";
import { HttpServer } from "../../server/http/server.ts";
import { Voters } from "../../server/identity/token-authenticator.ts";
import { allRoutes } from "../../server/route/all-routes.ts";
import { activityOf } from "../../server/route/server-info.ts";
import { StoredWorkspaces } from "../../server/workspaces.ts";
import type { PriceTable } from "../../session/meter/index.ts";
import { SessionRuntime } from "../../session/runtime.ts";
import { RANDOM_IDS, SYSTEM_CLOCK } from "../../session/system.ts";
import { TenantGate } from "../../session/tenant/tenant-gate.ts";
import { withoutVoter } from "../../session/tenant/tenant-removal.ts";
import { type SecretGuard, type SessionStore, thisHolder } from "../../store/index.ts";
import { agentMemoryBytes, memoryOfMachine, openHands } from "./agents.ts";
import { identify } from "./identity.ts";
import type { ServerLog } from "./log.ts";
import { openMeter, sweepRegularly } from "./meter.ts";
import type { Chosen } from "./options.ts";
import { sessionSettings } from "./settings.ts";
import { type ChosenMcp, openLoader, openServerTools } from "./tools.ts";

export interface RunningServer {
  /** Where it can be reached. */
  readonly url: string;
  readonly defaultAgent: string;
  /** Ends it in order; in a hurry, without waiting for turns. */
  stop(hurry: AbortSignal): Promise<void>;
}

/** What a server is put together from. */
interface ServerKit {
  readonly chosen: Chosen;
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  readonly defaultAgent: string;
  readonly mcp: ChosenMcp;
  /** In by JWT, if that was chosen. */
  readonly jwt: Authenticator | null;
  readonly prices: PriceTable;
  readonly folder: string;
  /** What of all that it keeps nobody reaches through it. */
  readonly own: OwnFolders;
  readonly guard: SecretGuard;
  readonly log: ServerLog;
  readonly store: SessionStore;
  readonly version: string;
}

/** Puts agents, sessions and the network together over an open store, and begins to listen. */
export async function assemble(kit: ServerKit): Promise<Result<RunningServer>> {
  const tenants = new TenantGate();
  const voters = new Voters((tenantId, userId) => {
    return withoutVoter(world, runtime.liveOf(tenantId), userId);
  });
  const identified = await identify({ ...kit, tenants, voters });
  if (!identified.ok) {
    await kit.store.dispose();
    return identified;
  }
  const { settings, authenticator } = identified.value;
  const { chosen, profiles, defaultAgent, mcp, folder, own, guard, log } = kit;
  const { store, version } = kit;
  const memoryMax = agentMemoryBytes(chosen["agent-memory-max-mb"], memoryOfMachine());
  const hands = await openHands(profiles, memoryMax, { folder, own }, guard, log);
  const { agents, keeper, shell } = hands;
  const tools = await openServerTools(mcp, { folder, own }, guard, log);
  const rules = {
    areOwnTrusted: !chosen.untrusted,
    roots: settings.workspaceRoots,
    closed: own,
  };
  const workspaces = await StoredWorkspaces.open(store, settings.workspaces, rules);
  const world = {
    store: store,
    agents,
    loader: openLoader(process.env, workspaces, tools),
    tools,
    meter: openMeter(store, kit.prices, chosen, log),
    shell,
    holder: thisHolder(randomUUID()),
    tenants,
    clock: SYSTEM_CLOCK,
    ids: RANDOM_IDS,
    redact: (text: string) => guard.redact(text),
    settings: sessionSettings(chosen, defaultAgent, profiles),
    ...log,
  };
  const runtime = new SessionRuntime(world);
  const endSweep = sweepRegularly(world.meter, runtime);
  const daemon = { runtime, world, keeper, settings, workspaces };
  const server: HttpServer = new HttpServer({
    settings,
    table: allRoutes(daemon, version, async (tenantId) => activityOf(daemon, server, tenantId)),
    clock: SYSTEM_CLOCK,
    log: log.log,
    authenticator,
    tenants,
  });
  const stop = async (hurry: AbortSignal) => {
    endSweep();
    server.stopAccepting();
    await runtime.shutDown(hurry);
    await tools.close();
    await server.close();
    await store.deactivate();
    await store.dispose();
  };
  const address = await server.listen();
  if (!address.ok) {
    await stop(AbortSignal.abort());
    return address;
  }
  if (chosen.preheat) void preheat(daemon, defaultAgent);
  void recover(runtime, log);
  return ok({ url: address.value.url, defaultAgent, stop });
}

/** The log tells what the last server left, and what of that a person has to look at. */
async function recover(runtime: SessionRuntime, { log }: ServerLog): Promise<void> {
  const recovered = await runtime.recover();
  if (!recovered.ok) return log("recovery failed", { because: recovered.refusal.code });
  const { total, setAside } = recovered.value;
  if (total > 0) log("recovered", { total, setAside: setAside.length });
  for (const { sessionId, reason } of setAside) log("session set aside", { sessionId, reason });
}

/** That it fails is no harm: whoever makes a session is told why. */
async function preheat({ world, workspaces }: Daemon, agent: string): Promise<void> {
  const known = await workspaces.of(LOCAL_TENANT);
  const [first] = known.ok ? known.value : [];
  if (first !== undefined) await world.agents.preheat(LOCAL_TENANT, agent, first.cwd);
}
