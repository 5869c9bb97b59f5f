import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Refusal, refusal } from "../../core/error.ts";
import { EXTENSION_MANIFEST_BYTES_MAX, EXTENSIONS_FOUND_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { stripsTypes } from "../../platform/type-stripping.ts";
import { parseJson } from "../../wire/operator-json.ts";
import { type ExtensionManifest, readExtensionManifest } from "../manifest.ts";
import { copyCode, type ExtensionCode, readCode } from "./code.ts";
import type { TrustedCode, TrustList } from "./trust.ts";

/** Where an extension was found; those further to the front are nearer to the operator. */
export type ExtensionSource = "bundled" | "package" | "home" | "workspace";

/** Where extensions are looked for. */
export interface ExtensionLocations {
  /** Folders with a folder for each extension; null is none. */
  readonly bundled: string | null;
  readonly home: string | null;
  /** Of a workspace that is trusted, and in which no user of the agents can write. */
  readonly workspace: string | null;
  /** The roots of the packages that the operator has named. */
  readonly packages: readonly string[];
}

/** An extension that may be loaded. */
export interface FoundExtension {
  readonly source: ExtensionSource;
  readonly folder: string;
  readonly manifest: ExtensionManifest;
  /** Of its content. */
  readonly hash: string;
}

/** One that may not, and why. */
export interface RefusedExtension {
  readonly source: ExtensionSource;
  readonly folder: string;
  /** Its id, or the name of its folder if it has none that can be read. */
  readonly id: string;
  readonly why: Refusal;
  /** Null if it has none that can be read. */
  readonly manifest: ExtensionManifest | null;
  /** What an operator would trust; null if it could not be loaded all the same. */
  readonly hash: string | null;
}

export interface Discovery {
  /** By id, in no other order. */
  readonly found: readonly FoundExtension[];
  readonly refused: readonly RefusedExtension[];
  /** What the operator trusts; none if that cannot be told. */
  readonly trusted: readonly TrustedCode[];
}

export interface DiscoveryRules {
  readonly places: ExtensionLocations;
  readonly trust: Pick<TrustList, "read">;
  readonly coreVersion: string;
}

/**
 * Looks for extensions, and says of each whether it may be loaded: it has a manifest for this
 * Fermata, an id that is its own, and code that is bundled or trusted by its content. No code runs.
 */
export async function discover({ places, trust, coreVersion }: DiscoveryRules): Promise<Discovery> {
  const looked: LookedAt[] = [];
  // One after the other: what is in memory at a time is one extension.
  for (const one of await candidates(places)) {
    looked.push("why" in one ? one : await look(one, coreVersion));
  }
  const { found, refused } = parted(looked);
  const unique = found.map((one) => namesakeFault(one, found) ?? one);
  const needsTrust = looked.some(({ source }) => source !== "bundled");
  const list = needsTrust ? await trust.read() : ok([]);
  const trusted = new Set(list.ok ? list.value.map(({ hash }) => hash) : []);
  const judged = unique.map((one) => {
    if (!isFound(one) || one.source === "bundled" || trusted.has(one.hash)) return one;
    const why = list.ok ? untrusted(one) : list.refusal;
    return refusedFor(one, why, one.hash);
  });
  const last = parted(judged);
  return {
    found: last.found.toSorted((a, b) => (a.manifest.id < b.manifest.id ? -1 : 1)),
    refused: [...refused, ...last.refused],
    trusted: list.ok ? list.value : [],
  };
}

/**
 * The address of the extension's module, in a copy of the server's. Refused if its code is not any
 * more what was judged.
 */
export async function moduleOf(found: FoundExtension, below: string): Promise<Result<string>> {
  const { manifest, folder, hash } = found;
  const { code, fault } = await readCode(folder);
  const why = code?.hash === hash ? null : untrusted(found);
  if (code === undefined || why !== null) {
    return { ok: false, refusal: why ?? invalid(manifest.id, "its files", fault ?? "") };
  }
  try {
    const place = await copyCode(code, below);
    return ok(pathToFileURL(join(place, manifest.main)).href);
  } catch (thrown) {
    return { ok: false, refusal: invalid(manifest.id, "its copy", fileFault(thrown)) };
  }
}

export type LookedAt = FoundExtension | RefusedExtension;

function parted(all: readonly LookedAt[]) {
  return { found: all.filter(isFound), refused: all.filter(isRefused) };
}

function isFound(one: LookedAt): one is FoundExtension {
  return !isRefused(one);
}

function isRefused(one: LookedAt): one is RefusedExtension {
  return "why" in one;
}

/** A folder that may be an extension. */
interface FolderToLookAt {
  readonly source: ExtensionSource;
  readonly folder: string;
  readonly isLink: boolean;
}

/** All that may be extensions, those nearer to the operator first. */
async function candidates(places: ExtensionLocations) {
  const packages = places.packages.map((folder) => {
    return { source: "package", folder, isLink: false } as const;
  });
  return [
    ...(await candidatesIn("bundled", places.bundled)),
    ...packages,
    ...(await candidatesIn("home", places.home)),
    ...(await candidatesIn("workspace", places.workspace)),
  ];
}

/** The folders of extensions in a folder, by name; none if it is not there. */
async function candidatesIn(
  source: ExtensionSource,
  place: string | null,
): Promise<readonly (FolderToLookAt | RefusedExtension)[]> {
  if (place === null) return [];
  const entries = await entriesOf(place);
  if (typeof entries === "string") return [refusedFolder(source, place, entries)];
  const folders = entries.filter((one) => {
    return (one.isDirectory() || one.isSymbolicLink()) && !one.name.startsWith(".");
  });
  if (folders.length > EXTENSIONS_FOUND_MAX) {
    const reason = `it has more than ${EXTENSIONS_FOUND_MAX} folders; move some away`;
    return [refusedFolder(source, place, reason)];
  }
  const all = folders.map((one) => {
    return { source, folder: join(place, one.name), isLink: one.isSymbolicLink() };
  });
  return all.toSorted((one, other) => (one.folder < other.folder ? -1 : 1));
}

/** A text is why they cannot be told. */
async function entriesOf(place: string): Promise<readonly Dirent[] | string> {
  try {
    return await readdir(place, { withFileTypes: true });
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    return isMissing ? [] : fileFault(thrown);
  }
}

/** None of the extensions in this folder can be loaded. */
export function refusedFolder(
  source: ExtensionSource,
  folder: string,
  reason: string,
): RefusedExtension {
  const id = basename(folder);
  return { source, folder, id, why: invalid(id, folder, reason), manifest: null, hash: null };
}

/** Looks at one folder by itself: the code there, and whether it is an extension at all. */
export function lookAt(folder: string, coreVersion: string): Promise<LookedAt> {
  return look({ source: "package", folder, isLink: false }, coreVersion);
}

async function look(
  { source, folder, isLink }: FolderToLookAt,
  coreVersion: string,
): Promise<LookedAt> {
  const name = basename(folder);
  const refused = (why: Refusal) => ({ source, folder, id: name, why, manifest: null, hash: null });
  if (isLink) return refused(invalid(name, "its folder", LINK));
  const { code, fault } = await readCode(folder);
  if (code === undefined) return refused(invalid(name, "its files", fault));
  const read = manifestIn(code, name, coreVersion);
  if (!read.ok) return refused(read.refusal);
  const manifest = read.value;
  const { id, main, kind } = manifest;
  const unfit = (path: string, reason: string) => {
    return { ...refused(invalid(id, path, reason)), id, manifest };
  };
  if (source !== "package" && id !== name) {
    return unfit("id", `its folder is called ${name}; both must be the same`);
  }
  if (!code.files.has(main)) return unfit("main", `there is no file ${main}`);
  if (/\.m?ts$/.test(main) && !stripsTypes(process.versions.node)) return unfit("main", UNSTRIPPED);
  if (kind === "store") return unfit("kind", "a store is named with --store");
  return { source, folder, manifest, hash: code.hash };
}

const UNSTRIPPED =
  "it is TypeScript, which Node 22.18 or newer runs, and this is Node " +
  `${process.versions.node}; update Node, or compile the extension to JavaScript`;

const LINK = "it is a link, whose target may be other code tomorrow; put the folder itself here";

function manifestIn({ files }: ExtensionCode, name: string, coreVersion: string) {
  const bytes = files.get("extension.json");
  const wrong = (reason: string): Result<never> => {
    return { ok: false, refusal: invalid(name, "extension.json", reason) };
  };
  if (bytes === undefined) return wrong("there is no such file");
  if (bytes.length > EXTENSION_MANIFEST_BYTES_MAX) {
    return wrong(`it has more than ${EXTENSION_MANIFEST_BYTES_MAX} bytes`);
  }
  const { value, fault } = parseJson(new TextDecoder().decode(bytes));
  if (fault !== undefined) return wrong(fault);
  return readExtensionManifest(value, coreVersion);
}

/** Refused if another has its id: the one nearer to the operator stays, of equal ones none. */
function namesakeFault(
  one: FoundExtension,
  all: readonly FoundExtension[],
): RefusedExtension | null {
  const { id } = one.manifest;
  const other = all.find((two) => two !== one && two.manifest.id === id && !isNearer(one, two));
  if (other === undefined) return null;
  const reason = `the extension in ${other.folder} (${other.source}) has this id, too`;
  return refusedFor(one, invalid(id, "id", reason), null);
}

const NEARNESS: readonly ExtensionSource[] = ["bundled", "package", "home", "workspace"];

function isNearer(one: FoundExtension, other: FoundExtension): boolean {
  return NEARNESS.indexOf(one.source) < NEARNESS.indexOf(other.source);
}

function refusedFor(
  { source, folder, manifest }: FoundExtension,
  why: Refusal,
  hash: string | null,
): RefusedExtension {
  return { source, folder, id: manifest.id, why, manifest, hash };
}

function untrusted({ manifest, folder, hash }: FoundExtension): Refusal {
  return refusal("extension_untrusted", { extension: manifest.id, folder, hash });
}

function invalid(extension: string, path: string, reason: string): Refusal {
  return refusal("invalid_extension", { extension, path, reason });
}
