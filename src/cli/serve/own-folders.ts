import { OwnFolders } from "../../agent/workspace/location.ts";
import { fail, type Result } from "../../core/result.ts";
import type { ServerSettings } from "../../server/settings.ts";
import { canonical } from "../../server/workspaces.ts";
import { homeOf } from "../home.ts";

/** Where a server keeps its files, and what of that is closed to all that it serves. */
export interface DataFolder {
  readonly folder: string;
  readonly own: OwnFolders;
}

/** What is everybody's: the data, and the home with configuration and, to be read, skills. */
export function ownFolders(dataFolder: string, env: NodeJS.ProcessEnv): Promise<OwnFolders> {
  return OwnFolders.at([homeOf(env), dataFolder], ["skills"]);
}

/** Agents could do nothing in a workspace that is all the server's own, so none is started with. */
export async function workspaceFault(
  { workspaces }: ServerSettings,
  own: OwnFolders,
): Promise<Result<never> | null> {
  const paths = await Promise.all(workspaces.map(canonical));
  if (!paths.some(own.isClosed)) return null;
  const reason = "agents cannot work where the server keeps its data or has its home";
  return fail("invalid_server_config", { path: "--workspace", reason });
}
