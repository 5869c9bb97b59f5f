import { fileURLToPath } from "node:url";
import { ok, type Result } from "../../core/result.ts";
import { BUILT_IN_NAMES } from "../../core/slash/built-in.ts";
import { FilesLoader } from "../../loader/files-loader.ts";
import type { Loader, LoadPlace } from "../../loader/loader.ts";
import type { StoredWorkspaces } from "../../server/workspaces.ts";
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
  const surroundings = {
    platform: process.platform,
    env,
    tools: async (wanted: readonly string[]) => (await tools.list(wanted)).map(({ name }) => name),
  };
  const settings = { bundled: BUNDLED, userFolder: homeOf(env), surroundings };
  // Where nobody knows whether a place is trusted, nothing is loaded in place of everything.
  const filesOf = async ({ tenantId, workspaceCwd }: LoadPlace): Promise<Result<Loader>> => {
    const trusted = await workspaces.isTrusted(tenantId, workspaceCwd);
    if (!trusted.ok) return trusted;
    const isTrusted = async () => trusted.value;
    return ok(new FilesLoader({ ...settings, reserved: BUILT_IN_NAMES, isTrusted }));
  };
  return {
    skills: async (place) => {
      const files = await filesOf(place);
      return files.ok ? files.value.skills(place) : files;
    },
    persona: async (place) => {
      const files = await filesOf(place);
      return files.ok ? files.value.persona(place) : files;
    },
  };
}
