import { json } from "../answer.ts";
import { type Caller, type Route, route } from "../route.ts";
import type { ServerSettings } from "../settings.ts";
import { featuresOf, type KnownRoutes } from "./features.ts";

/** A workspace as clients know it. */
export interface WorkspaceEntry {
  readonly id: string;
  /** Canonical, whatever was configured. */
  readonly cwd: string;
  readonly displayName?: string;
  readonly primary: boolean;
  readonly trusted: boolean;
  readonly removable?: boolean;
}

export interface CapabilitiesSource {
  readonly settings: ServerSettings;
  readonly version: string;
  /** Asked late: the table has this route in it too. */
  table(): KnownRoutes;
  /** Those of the caller's tenant, the primary one among them. */
  workspaces(caller: Caller): Promise<readonly WorkspaceEntry[]>;
}

/** What this server can do, for clients that look before they ask (wire, 2.2). */
export function capabilitiesRoute(source: CapabilitiesSource): Route {
  return route({
    method: "GET",
    path: "/capabilities",
    gate: "caller",
    needs: null,
    clientId: "ignored",
    body: "json",
    async handle({ caller }) {
      return json(200, capabilitiesOf(source, await source.workspaces(caller)));
    },
  });
}

function capabilitiesOf(source: CapabilitiesSource, workspaces: readonly WorkspaceEntry[]) {
  const { settings, version } = source;
  const primary = workspaces.find((one) => one.primary) ?? workspaces[0];
  return {
    v: 1,
    protocolVersions: { current: "v1", supported: ["v1"] },
    qwenCodeVersion: version,
    mode: "native",
    features: featuresOf(source.table(), settings),
    modelServices: [],
    workspaceCwd: primary?.cwd ?? settings.workspaces[0],
    transports: ["rest"],
    policy: { permission: settings.permissionPolicy },
    limits: limitsOf(settings, workspaces.length),
    workspaces,
    supportedLanguages: [],
  };
}

/** The wire has null where we have no limit, and tells of workspaces only if there are several. */
function limitsOf(settings: ServerSettings, workspaceCount: number) {
  const orNull = (max: number) => (max === 0 ? null : max);
  const perWorkspace = {
    maxSessionsPerWorkspace: orNull(settings.maxSessions),
    maxTotalSessions: null,
  };
  return {
    maxPendingPromptsPerSession: orNull(settings.maxPendingPrompts),
    sessionRestoreTimeoutMs: settings.sessionRestoreTimeoutMs,
    ...(workspaceCount > 1 ? perWorkspace : {}),
  };
}
