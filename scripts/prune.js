// Removes what the package has no use for: modules that are neither imported under one of its
// names, nor part of a program.

import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * @param {string} folder as the compiler and the bundler have left it
 * @param {readonly string[]} entries without an ending
 */
export function prune(folder, entries) {
  const used = new Set();
  const waiting = entries.map((entry) => join(folder, entry));
  for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
    if (used.has(module)) continue;
    used.add(module);
    waiting.push(...importsOf(module));
  }
  for (const file of globSync("**/*.{js,d.ts}", { cwd: folder })) {
    const path = join(folder, file);
    if (!used.has(path.replace(ENDING, ""))) rmSync(path);
  }
}

const ENDING = /\.(?:js|d\.ts)$/;

/** An import of code or of types; what only looks like one keeps a file too many. */
const IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*"(\.[^"]+)"/g;

/**
 * The modules of ours that one imports, by its code or its types.
 * @param {string} module
 */
function importsOf(module) {
  const texts = [".js", ".d.ts"].map((ending) => {
    try {
      return readFileSync(module + ending, "utf8");
    } catch {
      return "";
    }
  });
  const specifiers = texts.flatMap((text) =>
    [...text.matchAll(IMPORT)].map(([, path = ""]) => path),
  );
  return specifiers.map((path) => join(dirname(module), path.replace(/\.(?:js|ts)$/, "")));
}
