import { isBuiltin } from "node:module";
import { type Import, importsOf, type Sources, targetOf } from "./imports.ts";

type Layer = {
  readonly mayImport: readonly string[];
  /** Folders of which only the interfaces are visible, by `import type`. */
  readonly mayImportTypesOf?: readonly string[];
  /** Folders of which only the door, their `index.ts`, is known. */
  readonly mayImportDoorOf?: readonly string[];
  readonly packages: "any" | "none" | "browser";
};

/** Every folder of `src`, lowest first. A new folder is refused until it has its row here. */
const LAYERS: Readonly<Record<string, Layer>> = {
  core: { mayImport: [], packages: "none" },
  platform: { mayImport: [], packages: "any" }, // The operating system, and small general classes.
  wire: { mayImport: ["core"], packages: "browser" }, // The client loads it.
  store: { mayImport: ["wire", "core", "platform"], packages: "any" },
  agent: { mayImport: ["wire", "core", "platform"], packages: "any" },
  loader: { mayImport: ["wire", "core", "platform"], packages: "any" },
  tool: { mayImport: ["agent", "wire", "core", "platform"], packages: "any" },
  extension: { mayImport: ["wire", "core", "platform"], packages: "any" },
  client: { mayImport: ["wire", "core"], packages: "browser" },
  "client-testing": { mayImport: ["client"], packages: "any" }, // Starts a server by its program.
  session: {
    mayImport: ["extension", "wire", "core", "platform"],
    mayImportTypesOf: ["store", "agent", "loader", "tool"],
    packages: "any",
  },
  server: {
    mayImportDoorOf: ["session"],
    mayImport: [
      ...["agent", "store", "loader", "tool"],
      ...["extension", "wire", "core", "platform"],
    ],
    packages: "any",
  },
  cli: {
    mayImport: [
      ...["server", "client", "session", "agent", "store", "loader", "tool"],
      ...["extension", "wire", "core", "platform"],
    ],
    packages: "any",
  },
};

/** Files that load what the operator names or trusts, which is no part of the source tree. */
const LOADERS: ReadonlySet<string> = new Set([
  "cli/serve/store-module.ts",
  "extension/thread/main.ts",
]);

/** One sentence for each import that the layers forbid. */
export function layerFaults(sources: Sources): readonly string[] {
  return [...sources].flatMap(([path, text]) => {
    const folder = folderOf(path);
    const layer = LAYERS[folder];
    if (!layer) return [`${path}: the folder "${folder}" has no layer; give it one`];
    return importsOf(path, text).flatMap((found) => {
      const fault = faultOf(found, folder, layer);
      return fault ? [`${path} imports ${found.specifier ?? "a computed path"}: ${fault}`] : [];
    });
  });
}

/** Tests, and the fixtures that only tests import. */
export function isTest(path: string): boolean {
  return /\.(?:test|fixture)\.ts$/.test(path);
}

function faultOf(found: Import, folder: string, layer: Layer): string | undefined {
  const { from, specifier, isTypeOnly } = found;
  if (specifier === undefined && LOADERS.has(from)) return undefined;
  if (specifier === undefined) return "the path must be a literal, so that it can be checked";
  const target = targetOf(found);
  if (target === undefined) {
    if (/^(?:fermata(?:\/|$)|#)/.test(specifier)) return "own files are imported by relative path";
    return isTest(from) ? undefined : packageFault(specifier, folder, layer);
  }
  if (target.startsWith("..")) return "it lies outside src";
  const targetFolder = folderOf(target);
  if (targetFolder === folder || layer.mayImport.includes(targetFolder)) return undefined;
  if (layer.mayImportDoorOf?.includes(targetFolder)) {
    // A test may look behind the door.
    if (target === `${targetFolder}/index.ts` || isTest(from)) return undefined;
    return `${folder} knows only the door of ${targetFolder}; import ${targetFolder}/index.ts`;
  }
  if (layer.mayImportTypesOf?.includes(targetFolder)) {
    // A test may bring the real thing to stand behind the interface.
    if (isTypeOnly || isTest(from)) return undefined;
    return `${folder} sees only the interfaces of ${targetFolder}; use "import type"`;
  }
  return `${folder} may not import ${targetFolder}`;
}

function packageFault(specifier: string, folder: string, layer: Layer): string | undefined {
  if (layer.packages === "none") return `${folder} imports nothing outside itself`;
  if (layer.packages === "browser" && isBuiltin(specifier)) return `${folder} runs in browsers`;
  return undefined;
}

/** The first folder of the path, or the file itself where it lies directly in `src`. */
function folderOf(path: string): string {
  return path.split("/")[0] ?? path;
}
