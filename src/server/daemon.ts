import type { AgentKeeper } from "../agent/keeper.ts";
import type { SessionService } from "../session/service.ts";
import type { SessionWorld } from "../session/world.ts";
import type { ServerSettings } from "./settings.ts";
import type { Workspaces } from "./workspaces.ts";

/** What routes work with: the sessions, the world that they are in, and how the server is set. */
export interface Daemon {
  readonly runtime: SessionService;
  readonly world: SessionWorld;
  /** The processes of its agents, for whoever runs them. */
  readonly keeper: AgentKeeper;
  readonly settings: ServerSettings;
  readonly workspaces: Workspaces;
}
