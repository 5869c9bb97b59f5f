import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { isObject } from "../core/json.ts";
import { PACKAGE_FOLDER } from "./caller.ts";

// Packages that the operator names: a store, or an extension.

/**
 * The file that a name of a package means. It is looked for in the home of Fermata and beside
 * Fermata itself, never in the working directory: that may be a workspace, where agents write.
 */
export function installedFile(name: string, home: string): string | null {
  for (const folder of [home, PACKAGE_FOLDER]) {
    try {
      const file = createRequire(join(folder, "package.js")).resolve(name);
      // The names of Node's own modules are resolved to themselves.
      if (isAbsolute(file)) return file;
    } catch {
      // It may be in the next folder.
    }
  }
  return null;
}

/** The root of an extension's package, which need not have a module that others can import. */
export function extensionPackage(name: string, home: string): { readonly folder: string } | string {
  for (const inner of ["/extension.json", "/package.json", ""]) {
    const file = installedFile(`${name}${inner}`, home);
    if (file !== null) return { folder: packageRoot(file) };
  }
  return `the package "${name}" is not installed; run: npm install --prefix ${home} ${name}`;
}

/** Folders within a package may have a `package.json` too, but only the root's has a name. */
export function packageRoot(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (hasName(join(folder, "package.json"))) return folder;
  }
  return dirname(file);
}

function hasName(path: string): boolean {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isObject(read) && typeof read.name === "string";
  } catch {
    return false;
  }
}
