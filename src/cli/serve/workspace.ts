import { join } from "node:path";
import { isBelow } from "../../agent/workspace/location.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { makeFolders } from "../../platform/folder.ts";
import { PACKAGE_FOLDER } from "../caller.ts";
import { messageOf } from "../home.ts";
import type { ServeOptions } from "./options.ts";

/** The folder for a first try, in the data directory; the only one there that is open to agents. */
export function scratchFolder(dataFolder: string): string {
  return join(dataFolder, "scratch");
}

/** The options with a workspace, and a sentence for the operator if it is not the obvious one. */
export interface ChosenWorkspace {
  readonly options: ServeOptions;
  readonly note: string | null;
}

/**
 * The workspace: as named, else the current directory. In Fermata's own folder agents would work
 * on its sources, which is hardly what the operator wants, so there it is a scratch folder.
 */
export async function chooseWorkspace(
  options: ServeOptions,
  dataFolder: string,
  cwd = process.cwd(),
): Promise<Result<ChosenWorkspace>> {
  if (options.workspace.length > 0) return ok({ options, note: null });
  if (!isBelow(PACKAGE_FOLDER, cwd)) return ok({ options, note: null });
  const scratch = scratchFolder(dataFolder);
  try {
    await makeFolders(scratch);
  } catch (thrown) {
    return fail("invalid_server_config", { path: "--data", reason: messageOf(thrown) });
  }
  const note =
    `This is Fermata's own folder, so agents work in ${scratch}; ` +
    "for another folder use --workspace DIR";
  return ok({ options: { ...options, workspace: [scratch] }, note });
}
