import type { AgentKeeper } from "../agent/keeper.ts";
import type { SessionService, SessionWorld } from "../session/index.ts";
import type { ServerSettings } from "./settings.ts";
import type { Workspaces } from "./workspaces.ts";

/** What routes work with. */
export interface Daemon {
  readonly runtime: SessionService;
  readonly world: SessionWorld;
  /** The agents' processes. */
  readonly keeper: AgentKeeper;
  readonly settings: ServerSettings;
  readonly workspaces: Workspaces;
}
