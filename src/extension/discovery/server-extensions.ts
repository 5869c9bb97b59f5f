import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DONE, type Result } from "../../core/result.ts";
import type { ChosenExtensions, ExtensionCatalog, ExtensionScope } from "../catalog.ts";
import { moduleOf } from "./discovery.ts";
import { type ExtensionRules, type KnownExtension, knownExtensions } from "./known-extensions.ts";

interface CatalogOptions {
  readonly rules: ExtensionRules;
  /** The rules as they are on the disk by now. */
  read(): Promise<Result<ExtensionRules>>;
  /** Whether code of workspaces may run at all: not where their agents have a user of their own. */
  readonly loadsWorkspaces: boolean;
  /** Whether a tenant trusts a workspace. */
  isTrusted(place: ExtensionScope): Promise<Result<boolean>>;
}

const NONE: ChosenExtensions = { enabled: [], refused: [] };

/** The extensions that the sessions of a server get, as they are on the disk at that moment. */
export class ServerExtensions implements ExtensionCatalog {
  readonly #options: CatalogOptions;

  #rules: ExtensionRules;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#rules = options.rules;
  }

  async reread(): Promise<Result<void>> {
    const read = await this.#options.read();
    if (!read.ok) return read;
    this.#rules = read.value;
    return DONE;
  }

  async of(place: ExtensionScope): Promise<ChosenExtensions> {
    const rules = this.#rules;
    const isConfigured = [...rules.configuration.values()].some(({ isEnabled }) => isEnabled);
    const workspace = await this.#codeOf(place);
    // Most servers have none, and no session waits to learn that.
    if (!isConfigured && workspace === null && !(await hasFolders(rules.home))) return NONE;
    const known = await knownExtensions(rules, workspace);
    // A workflow comes up when a session is to have it.
    const wanted = known.filter(({ isEnabled, manifest }) => {
      return isEnabled && manifest?.kind !== "workflow";
    });
    const enabled = wanted.flatMap((one) => this.#enabled(one));
    const present = new Set(enabled.map(({ manifest }) => manifest.id));
    const refused = wanted.flatMap(({ id, isCritical, hooks, why }) => {
      // Another of the same id is here in its place: an agent may have made that folder.
      return why === null || present.has(id) ? [] : [{ id, isCritical, hooks, why }];
    });
    return { enabled, refused };
  }

  #enabled({ found, isCritical, config }: KnownExtension) {
    if (found === null) return [];
    const { copies } = this.#rules;
    const module = () => moduleOf(found, copies);
    const { manifest, hash: code } = found;
    return [{ manifest, isCritical, config, code, module }];
  }

  /** The folder of the workspace if there are extensions in it that may run; null otherwise. */
  async #codeOf(place: ExtensionScope): Promise<string | null> {
    const { loadsWorkspaces, isTrusted } = this.#options;
    const { workspaceCwd } = place;
    if (!loadsWorkspaces) return null;
    if (!(await hasFolders(join(workspaceCwd, ".fermata", "extensions")))) return null;
    // If the store cannot say whether it is trusted, it is not.
    const trusted = await isTrusted(place);
    return trusted.ok && trusted.value ? workspaceCwd : null;
  }
}

/** What is no folder that can be read is looked at closely, and told of. */
async function hasFolders(place: string): Promise<boolean> {
  try {
    return (await readdir(place)).length > 0;
  } catch (thrown) {
    return !(thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT");
  }
}
