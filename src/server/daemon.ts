import type { AgentKeeper } from "../agent/keeper.ts";
import type { KnownAgents } from "../agent/known-agents.ts";
import type { TenantId } from "../core/id.ts";
import type { Result } from "../core/result.ts";
import type { Visibility } from "../core/session/visibility.ts";
import type { Clock } from "../platform/clock.ts";
import type { FreshIds, Meter, SessionService, TenantGate } from "../session/index.ts";
import type { TenantStore } from "./identity/tenant-document.ts";
import type { ServerSettings } from "./settings.ts";
import type { Workspaces } from "./workspaces.ts";

/** What routes work with. They reach sessions through `sessions` alone. */
export interface Daemon {
  readonly sessions: SessionService;
  /** Documents and journals of tenants; sessions are not in reach. */
  readonly store: TenantStore;
  readonly meter: Meter;
  readonly tenants: TenantGate;
  /** Refuses while another server may work for this tenant. */
  checkNoForeignHolders(tenantId: TenantId): Promise<Result<void>>;
  /** Who sees a new session whose request does not say it. */
  defaultVisibility(tenantId: TenantId): Promise<Result<Visibility>>;
  /** The agents' processes. */
  readonly keeper: AgentKeeper;
  /** The agents that there are. */
  readonly knownAgents: Pick<KnownAgents, "list">;
  readonly settings: ServerSettings;
  readonly workspaces: Workspaces;
  readonly clock: Clock;
  readonly ids: Pick<FreshIds, "session" | "prompt">;
  /** A text without the secrets that are known. */
  redact(text: string): string;
}
