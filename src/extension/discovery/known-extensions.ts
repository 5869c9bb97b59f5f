import { readFile, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { type Refusal, refusal } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { EXTENSION_CONFIG_BYTES_MAX } from "../../core/limits.ts";
import { didYouMean } from "../../core/spelling.ts";
import { canonical } from "../../platform/folder.ts";
import type { HookName } from "../hook.ts";
import {
  checkActive,
  type ExtensionManifest,
  readExtensionConfig,
  readExtensionManifest,
} from "../manifest.ts";
import { startSequence } from "../sequence.ts";
import type { ExtensionConfiguration } from "./configuration.ts";
import {
  type Discovery,
  discover,
  type ExtensionSource,
  type FoundExtension,
  type RefusedExtension,
  refusedFolder,
} from "./discovery.ts";
import type { TrustedCode, TrustList } from "./trust.ts";

/** Where a server looks for extensions, and what its operator says of them. */
export interface ExtensionRules {
  readonly configuration: ExtensionConfiguration;
  /** Folders with a folder for each extension. */
  readonly bundled: string;
  readonly home: string;
  /** The folder of an npm package; a text is why there is none. */
  packageFolder(name: string): { readonly folder: string } | string;
  readonly trust: Pick<TrustList, "read">;
  /** The folder with the copies that run. */
  readonly copies: string;
  readonly coreVersion: string;
}

/**
 * Whether the operator lets this code run. Changed code is that of an extension of which other code
 * is trusted. Unknown is what has no code that could be trusted.
 */
type CodeTrust = "bundled" | "trusted" | "changed" | "untrusted" | "unknown";

/** An extension that there is, or that is configured and not there. */
export interface KnownExtension {
  readonly id: string;
  readonly source: ExtensionSource | null;
  readonly folder: string | null;
  /** Null if it has none that can be read. */
  readonly manifest: ExtensionManifest | null;
  readonly trust: CodeTrust;
  readonly isEnabled: boolean;
  readonly isCritical: boolean;
  readonly config: JsonObject;
  /** What it decides with, or would decide with if it were here. */
  readonly hooks: readonly HookName[];
  /** Why it cannot be loaded; null if it can. */
  readonly why: Refusal | null;
  /** What is loaded; null if it cannot be. */
  readonly found: FoundExtension | null;
}

/**
 * All extensions for the sessions of a workspace, by id. One that is configured runs if it is
 * enabled there; another if its code is trusted, and a bundled one does not. No code runs by this.
 *
 * `workspace` is the folder of a workspace that is trusted; null is none.
 */
export async function knownExtensions(
  rules: ExtensionRules,
  workspace: string | null,
): Promise<readonly KnownExtension[]> {
  const { bundled, home, trust, coreVersion } = rules;
  const { idOf, faults, folders } = packagesOf(rules);
  const own = workspace === null ? null : await extensionsIn(workspace);
  const isFolder = own === null || typeof own === "string";
  const places = { bundled, home, packages: folders, workspace: isFolder ? own : null };
  const discovery = await discover({ places, trust, coreVersion });
  const refused = isFolder ? discovery.refused : [...discovery.refused, own];
  const all = [
    ...discovery.found.map((one) => foundOne(one, idOf, rules)),
    ...(await Promise.all(refused.map((one) => refusedOne(one, idOf, discovery, rules)))),
  ];
  const known = [...all, ...(await missingOnes(all, faults, rules))];
  return withoutStuck(withoutCrowd(known)).toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** The id that a folder has by its place; null if its manifest says it. */
type IdOf = (folder: string) => string | null;

/** The packages that are enabled: the ids they are configured under, and why some are not there. */
function packagesOf({ configuration, packageFolder }: ExtensionRules) {
  const ids = new Map<string, string>();
  const faults = new Map<string, string>();
  for (const [id, { packageName, isEnabled }] of configuration) {
    if (packageName === null || !isEnabled) continue;
    const found = packageFolder(packageName);
    if (typeof found === "string") faults.set(id, found);
    else ids.set(found.folder, id);
  }
  const idOf: IdOf = (folder) => ids.get(folder) ?? null;
  return { idOf, faults, folders: [...ids.keys()] };
}

/** Where a workspace has extensions of its own. */
const OWN_PLACE = join(".fermata", "extensions");

/** The folder of a workspace's extensions, which has to be inside of it. */
async function extensionsIn(workspace: string): Promise<string | RefusedExtension> {
  const place = join(workspace, OWN_PLACE);
  const real = await realpath(place).catch(() => null);
  const root = await realpath(workspace).catch(() => workspace);
  if (real === null || real.startsWith(`${root}${sep}`)) return place;
  return refusedFolder("workspace", place, "it leads outside of the workspace");
}

function foundOne(found: FoundExtension, idOf: IdOf, rules: ExtensionRules): KnownExtension {
  const { source, folder, manifest } = found;
  const id = idOf(folder) ?? manifest.id;
  const said = rules.configuration.get(id);
  const { isCritical = false, config = {} } = said ?? {};
  const isEnabled = said?.isEnabled ?? source !== "bundled";
  const why = isEnabled ? (nameFault(id, manifest.id) ?? configFault(manifest, config)) : null;
  return {
    ...{ id, source, folder, manifest, isEnabled, isCritical, config, why },
    hooks: manifest.hooks,
    trust: source === "bundled" ? "bundled" : "trusted",
    found: why === null ? found : null,
  };
}

function nameFault(extension: string, named: string): Refusal | null {
  if (extension === named) return null;
  const reason = `its package has the extension "${named}"; configure it under that id`;
  return refusal("invalid_extension", { extension, path: "id", reason });
}

function configFault(manifest: ExtensionManifest, config: JsonObject): Refusal | null {
  const checked = readExtensionConfig(manifest, config, EXTENSION_CONFIG_BYTES_MAX);
  return checked.ok ? null : checked.refusal;
}

async function refusedOne(
  one: RefusedExtension,
  idOf: IdOf,
  { found, trusted }: Discovery,
  rules: ExtensionRules,
): Promise<KnownExtension> {
  const { source, folder, manifest, hash, why } = one;
  const id = idOf(folder) ?? one.id;
  const said = rules.configuration.get(id);
  const { isCritical = false, config = {} } = said ?? {};
  const before = trusted.findLast(({ extension }) => extension === id);
  // Another one has this id, and is at work in its place.
  const isReplaced = found.some((other) => other.manifest.id === id);
  const isReliedOn = !isReplaced && (said !== undefined || before !== undefined);
  const old = isReliedOn ? await trustedHooks(before, rules) : [];
  const isChanged = hash !== null && before !== undefined;
  return {
    ...{ id, source, folder, manifest, isCritical, config, why, found: null },
    isEnabled: said?.isEnabled ?? source !== "bundled",
    hooks: isReliedOn ? [...new Set([...(manifest?.hooks ?? []), ...old])] : [],
    trust: isChanged ? "changed" : hash === null ? "unknown" : "untrusted",
  };
}

/** What an agent has changed may say that it guards nothing any more; this is what it said. */
async function trustedHooks(
  before: TrustedCode | undefined,
  { copies, coreVersion }: ExtensionRules,
): Promise<readonly HookName[]> {
  if (before === undefined) return [];
  try {
    const text = await readFile(join(copies, before.hash, "extension.json"), "utf8");
    const read = readExtensionManifest(JSON.parse(text), coreVersion);
    return read.ok ? read.value.hooks : [];
  } catch {
    return [];
  }
}

/**
 * Those that are enabled and nowhere to be found. One that guards is missed by what it was, unless
 * it was that of a workspace: this may be another one, which never had it.
 */
async function missingOnes(
  all: readonly KnownExtension[],
  faults: ReadonlyMap<string, string>,
  rules: ExtensionRules,
): Promise<readonly KnownExtension[]> {
  const { configuration, home, trust } = rules;
  const ids = new Set(all.map(({ id }) => id));
  const missing = [...configuration].filter(([id, { isEnabled }]) => isEnabled && !ids.has(id));
  if (missing.length === 0) return [];
  const list = await trust.read();
  const place = await canonical(home);
  const trusted = list.ok ? list.value.filter((one) => !isOfWorkspace(one, place)) : [];
  return Promise.all(
    missing.map(async ([id, { isEnabled, isCritical, config }]) => {
      const nowhere = `it is not bundled, and neither in ${home} nor in the workspace`;
      const reason = faults.get(id) ?? `${nowhere}${didYouMean(id, ids)}`;
      const why = refusal("extension_missing", { extension: id, reason });
      const before = trusted.findLast(({ extension }) => extension === id);
      const hooks = await trustedHooks(before, rules);
      return {
        ...{ id, isEnabled, isCritical, config, why, hooks, found: null },
        ...{ source: null, folder: null, manifest: null, trust: "unknown" as const },
      };
    }),
  );
}

function isOfWorkspace({ folder }: TrustedCode, home: string): boolean {
  const place = dirname(folder);
  return place !== home && place.endsWith(join(sep, OWN_PLACE));
}

/** What depends on what is not there, or in a circle, comes up in no session. */
function withoutStuck(all: readonly KnownExtension[]): readonly KnownExtension[] {
  const active = all.flatMap(({ isEnabled, found }) =>
    isEnabled && found ? [found.manifest] : [],
  );
  const { refused } = startSequence(active);
  return all.map((one) => {
    const why = one.isEnabled && one.found !== null ? refused.get(one.id) : undefined;
    return why === undefined ? one : { ...one, why, found: null };
  });
}

/**
 * Of a kind of which a session has one, several are none: no one says which. Of workflows a session
 * has the one that it is started with.
 */
function withoutCrowd(all: readonly KnownExtension[]): readonly KnownExtension[] {
  const active = all.filter(({ isEnabled, found }) => {
    return isEnabled && found !== null && found.manifest.kind !== "workflow";
  });
  const checked = checkActive(active.flatMap(({ manifest }) => manifest ?? []));
  if (checked.ok) return all;
  const why = checked.refusal;
  return all.map((one) => {
    return active.includes(one) && one.manifest?.kind === why.details.kind
      ? { ...one, why, found: null }
      : one;
  });
}
