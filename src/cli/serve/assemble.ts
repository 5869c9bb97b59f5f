import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Agents } from "../../agent/agent.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import type { AgentUsers } from "../../agent/user/users.ts";
import type { OwnFolders } from "../../agent/workspace/location.ts";
import { ok, type Result } from "../../core/result.ts";
import type { ExtensionScope } from "../../extension/catalog.ts";
import { ServerExtensions } from "../../extension/discovery/server-extensions.ts";
import { ExtensionThreads } from "../../extension/thread/threads.ts";
import type { WorkflowCatalog } from "../../extension/workflow/contract.ts";
import { ModuleWorkflows } from "../../extension/workflow/module-workflows.ts";
import type { ServerWorkflowsOptions } from "../../extension/workflow/server-workflows.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { once } from "../../platform/once.ts";
import type { Daemon } from "../../server/daemon.ts";
import { type Authenticator, LOCAL_TENANT } from "../../server/http/authenticator.ts";
import type { EarlyListener } from "../../server/http/early-listener.ts";
import { HttpServer } from "../../server/http/server.ts";
import { Voters } from "../../server/identity/token-authenticator.ts";
import { pagesOf } from "../../server/page/home.ts";
import type { WebFolder } from "../../server/page/web-folder.ts";
import { allRoutes } from "../../server/route/all-routes.ts";
import { activityOf } from "../../server/route/server-info.ts";
import type { ServerSettings } from "../../server/settings.ts";
import { Workspaces } from "../../server/workspaces.ts";
import { OpenTurns } from "../../session/actor/open-turns.ts";
import { ServerHealth } from "../../session/health/health.ts";
import { SessionHost } from "../../session/host.ts";
import { KnownSnapshots } from "../../session/known-snapshots.ts";
import type { TellDrain } from "../../session/life/ending.ts";
import type { PriceTable } from "../../session/meter/index.ts";
import { SessionService } from "../../session/service.ts";
import { TenantGate } from "../../session/tenant/tenant-gate.ts";
import { TenantPolicies } from "../../session/tenant/tenant-policies.ts";
import { withoutOwner, withoutVoter } from "../../session/tenant/tenant-removal.ts";
import { RANDOM_IDS, type SessionWorld } from "../../session/world.ts";
import { checkNoForeignHolders } from "../../store/holder.ts";
import {
  type SecretGuard,
  type SessionLocator,
  type SessionStore,
  thisHolder,
} from "../../store/index.ts";
import { addressLines } from "./address.ts";
import { sharedUserNote, workspaceCheck } from "./agent-user.ts";
import { openAgentsAndShell } from "./agents.ts";
import { credentialsOf, type OpenSecrets } from "./credentials.ts";
import { openDisk } from "./disk.ts";
import { type OperatorExtensions, readExtensions, workflowLocations } from "./extensions.ts";
import { countOf, type Stopped } from "./farewell.ts";
import { openAuthenticator } from "./identity.ts";
import type { ServerLog } from "./log.ts";
import { openMeter, startCreditSweep } from "./meter.ts";
import type { McpConfig } from "./operator-files.ts";
import type { ServeOptions } from "./options.ts";
import { sessionSettings } from "./settings.ts";
import { type OpenedTools, openLoader, openServerTools } from "./tools.ts";

export interface RunningServer {
  readonly url: string;
  /** Under which this machine reaches it. */
  readonly localUrl: string;
  /** Whether callers need a token. */
  readonly needsToken: boolean;
  readonly defaultAgent: string;
  /** Sentences for the operator. */
  readonly notes: readonly string[];
  /** Stops the server after its turns have ended, or at once when the signal fires. */
  stop(hurry: AbortSignal, tell: TellDrain): Promise<Stopped>;
}

interface ServerParts {
  readonly options: ServeOptions;
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  readonly defaultAgent: string;
  readonly mcp: McpConfig;
  readonly extensions: OperatorExtensions;
  /** Null if the operator named no key set. */
  readonly jwt: Authenticator | null;
  /** For the commands of the server's own user; null where there are none. */
  readonly localToken: string | null;
  readonly prices: PriceTable;
  readonly folder: string;
  /** The folders of the server that are closed to clients and agents. */
  readonly own: OwnFolders;
  /** The folders that are open to agents beside their workspaces. */
  readonly roots: readonly string[];
  /** The users of the system under which agents run. */
  readonly users: AgentUsers;
  readonly guard: SecretGuard;
  readonly secrets: OpenSecrets;
  readonly log: ServerLog;
  readonly store: SessionStore;
  /** The notes of which sessions there are; null where they do not outlive the process. */
  readonly located: SessionLocator | null;
  readonly version: string;
  /** The web client of --web. */
  readonly web: WebFolder | null;
  /** What listens already; null if the server is the first to do so. */
  readonly early: EarlyListener | null;
}

/** What of its world a server has of the machine itself. */
const MACHINE = { clock: SYSTEM_CLOCK, yield: () => setImmediate(), ids: RANDOM_IDS };

/** Assembles agents, sessions and network over an open store, and starts to listen. */
export async function assemble(parts: ServerParts): Promise<Result<RunningServer>> {
  const tenants = new TenantGate();
  const voters = new Voters({
    lostVote: (tenantId, userId) => withoutVoter(world, host.liveOf(tenantId), userId),
    lostOwnership: (tenantId, userId) => withoutOwner(world, host.liveOf(tenantId), userId),
  });
  const identified = await openAuthenticator({ ...parts, tenants, voters, log: parts.log.log });
  if (!identified.ok) {
    await Promise.all([parts.users.close(), parts.secrets.end(), parts.store.dispose()]);
    return identified;
  }
  const { settings, authenticator } = identified.value;
  const { needsToken } = authenticator;
  const { options, profiles, defaultAgent, folder, users, guard, secrets, log, store } = parts;
  const credentials = credentialsOf(options, secrets, process.env, needsToken, users);
  const { own, ...allTools } = await openServerTools(parts);
  const data = { folder, own, roots: parts.roots };
  const whose = { users, credentials, secrets };
  const opened = await openAgentsAndShell(profiles, options, data, whose, guard, log);
  const workspaces = await openWorkspaces({ ...parts, own }, settings, needsToken);
  const world = {
    store,
    agents: opened.agents,
    agentCalls: opened.keeper.calls,
    loader: openLoader(process.env, workspaces, allTools.tools, users, own),
    ...allTools,
    ...openExtensions(parts, workspaces),
    meter: openMeter(store, parts.prices, options, log),
    shell: opened.shell,
    holder: thisHolder(randomUUID()),
    tenants,
    ...MACHINE,
    redact: (text: string) => guard.redact(text),
    borders: guard,
    ...sharedLimits(parts),
    ...(needsToken && { policies: openPolicies(parts, settings) }),
    ...log,
  };
  const host = new SessionHost(world);
  const endSweep = startCreditSweep(world.meter, host);
  const note = sharedUserNote(users, needsToken);
  const health = new ServerHealth({ ...world, notes: parts.located, agents: opened.keeper });
  const daemon = daemonOf(world, host, opened, { settings, workspaces });
  const server: HttpServer = new HttpServer({
    settings,
    table: allRoutes(daemon, parts.version, async (caller) => {
      const reasons = await health.reasons(caller);
      return { ...activityOf(daemon, server, caller), reasons, ...(note !== null && { note }) };
    }),
    clock: SYSTEM_CLOCK,
    log: log.log,
    authenticator,
    tenants,
    pages: pagesOf(daemon, { ...parts, needsToken }),
    early: parts.early,
  });
  const { located } = parts;
  const running = { health, endSweep, server, host, allTools, users, secrets, store, located };
  const stop: RunningServer["stop"] = (hurry, tell) => stopAll(running, hurry, tell);
  const address = await server.listen();
  if (!address.ok) {
    await stop(AbortSignal.abort(), () => {});
    return address;
  }
  if (options.preheat) void preheat(opened.agents, workspaces, defaultAgent);
  void recover(host, log);
  void health.begin();
  const { notes, ...urls } = addressLines(settings, address.value.url);
  return ok({ ...urls, needsToken, defaultAgent, notes: notes.concat(note ?? []), stop });
}

/** The settings of sessions, and what all of them share of the machine. */
function sharedLimits({ options, defaultAgent, profiles, folder }: ServerParts) {
  const settings = sessionSettings(options, defaultAgent, profiles);
  const disk = openDisk(options, folder);
  const turns = new OpenTurns(settings.turnMemory.allBytesMax);
  return { settings, turns, known: new KnownSnapshots(), ...(disk && { disk }) };
}

/** All that has to end with the server. */
interface Stoppable {
  readonly health: ServerHealth;
  endSweep(): void;
  readonly server: HttpServer;
  readonly host: SessionHost;
  readonly allTools: Omit<OpenedTools, "own">;
  readonly users: AgentUsers;
  readonly secrets: OpenSecrets;
  readonly store: SessionStore;
  readonly located: SessionLocator | null;
}

/** Ends everything in order; the store is last, because all others write to it. */
async function stopAll(running: Stoppable, hurry: AbortSignal, tell: TellDrain): Promise<Stopped> {
  const { health, server, host, allTools, users, secrets, store, located } = running;
  health.end();
  running.endSweep();
  server.stopAccepting();
  const cutOff = await host.shutDown(hurry, tell);
  await Promise.all([allTools.tools.close(), allTools.toolboxes.close()]);
  await Promise.all([users.close(), secrets.end()]);
  await server.close();
  await store.deactivate();
  await store.dispose();
  return { cutOff, kept: located === null ? null : await countOf(located) };
}

function openWorkspaces(
  { options, store, own, users, profiles }: ServerParts,
  settings: ServerSettings,
  hasTokens: boolean,
): Promise<Workspaces> {
  return Workspaces.open(store, settings.workspaces, {
    areOwnTrusted: !options.untrusted,
    roots: settings.workspaceRoots,
    hasTokens,
    closed: own,
    access: workspaceCheck(users, profiles),
  });
}

/** With --agent-user nothing in a workspace is loaded: agents write there. */
function openExtensions(parts: ServerParts, workspaces: Workspaces) {
  const { extensions, options, guard } = parts;
  const threads = new ExtensionThreads();
  const trusting = {
    loadsWorkspaces: options["agent-user"] === null,
    isTrusted: ({ tenantId, workspaceCwd }: ExtensionScope) =>
      workspaces.isTrusted(tenantId, workspaceCwd),
  };
  const catalog = new ServerExtensions({
    rules: extensions,
    read: () => readExtensions(options, process.env),
    ...trusting,
  });
  const redact = (text: string) => guard.redact(text);
  const workflows = openWorkflows({
    ...workflowLocations(process.env),
    modules: new ModuleWorkflows({ rules: extensions, threads, clock: SYSTEM_CLOCK, redact }),
    ...trusting,
  });
  return { extensions: { catalog, threads }, workflows };
}

/** What reads their files is loaded when a session first has to do with workflows. */
function openWorkflows(options: ServerWorkflowsOptions): WorkflowCatalog {
  const loaded = once(async () => {
    const { ServerWorkflows } = await import("../../extension/workflow/server-workflows.ts");
    return new ServerWorkflows(options);
  });
  return {
    list: async (place) => (await loaded()).list(place),
    find: async (place, name) => (await loaded()).find(place, name),
    open: async (text, host) => (await loaded()).open(text, host),
  };
}

/** What routes may reach: of the store no sessions, and sessions through their door alone. */
function daemonOf(
  world: SessionWorld,
  host: SessionHost,
  { keeper, knownAgents }: Pick<Daemon, "keeper" | "knownAgents">,
  parts: Pick<Daemon, "settings" | "workspaces">,
): Daemon {
  const { store, meter, tenants, clock, ids, redact, holder } = world;
  const sessions = new SessionService(world, host);
  return {
    ...{ ...parts, keeper, knownAgents, store, meter, tenants, clock, ids, redact },
    sessions,
    defaultVisibility: (tenantId) => sessions.policy.visibilityOf(tenantId),
    checkNoForeignHolders: (tenantId) => checkNoForeignHolders(store, tenantId, holder),
  };
}

/** A tenant's members decide, with users by JWT and, in the local tenant, the shared token. */
function openPolicies({ store, jwt }: ServerParts, { token }: ServerSettings): TenantPolicies {
  return new TenantPolicies(store, SYSTEM_CLOCK, (tenantId) => ({
    users: jwt !== null,
    operator: token !== null && tenantId === LOCAL_TENANT,
  }));
}

/** Recovers the sessions of the last server, and logs those that an operator has to look at. */
async function recover(host: SessionHost, { log }: ServerLog): Promise<void> {
  const recovered = await host.recover();
  if (!recovered.ok) return log("recovery failed", { because: recovered.refusal.code });
  const { total, setAside } = recovered.value;
  if (total > 0) log("recovered", { total, setAside: setAside.length });
  for (const { sessionId, reason } of setAside) log("session set aside", { sessionId, reason });
}

/** A failure is ignored: the client that creates a session gets the reason. */
async function preheat(agents: Agents, workspaces: Workspaces, agent: string): Promise<void> {
  const known = await workspaces.of(LOCAL_TENANT);
  const [first] = known.ok ? known.value : [];
  if (first !== undefined) await agents.preheat(LOCAL_TENANT, agent, first.cwd);
}
