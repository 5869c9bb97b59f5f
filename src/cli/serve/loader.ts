import { fileURLToPath } from "node:url";
import { BUILT_IN_NAMES } from "../../core/slash/built-in.ts";
import { FilesLoader } from "../../loader/files-loader.ts";
import type { Loader } from "../../loader/loader.ts";
import type { StoredWorkspaces } from "../../server/stored-workspaces.ts";
import type { Tools } from "../../tool/tool.ts";
import { homeOf } from "../home.ts";

/** The skills that come with Fermata: at the same place from here, built or not. */
const BUNDLED = fileURLToPath(new URL("../../../skills", import.meta.url));

/** Skills and personas from files: ours, this user's, and those of workspaces that are trusted. */
export function openLoader(
  env: NodeJS.ProcessEnv,
  workspaces: StoredWorkspaces,
  tools: Tools,
): Loader {
  return new FilesLoader({
    bundled: BUNDLED,
    userFolder: homeOf(env),
    surroundings: {
      platform: process.platform,
      env,
      tools: async () => (await tools.list()).map(({ name }) => name),
    },
    reserved: BUILT_IN_NAMES,
    isTrusted: ({ tenantId, workspaceCwd }) => workspaces.isTrusted(tenantId, workspaceCwd),
  });
}
