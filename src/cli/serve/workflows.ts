import { join, resolve } from "node:path";
import { TrustList } from "../../extension/discovery/trust.ts";
import { PACKAGE_FOLDER } from "../caller.ts";
import { homeOf } from "../home.ts";
import { extensionFolders } from "./extensions.ts";

/** Where the workflows of an operator are, and what that operator trusts. */
export function workflowPlaces(env: NodeJS.ProcessEnv) {
  const home = resolve(homeOf(env));
  return {
    bundled: join(PACKAGE_FOLDER, "workflows"),
    home: join(home, "workflows"),
    trust: new TrustList(extensionFolders(home).trusted),
  };
}
