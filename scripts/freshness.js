// Decides whether the last install and the last build still fit the files of a clone.
// Plain JavaScript, because setup.js runs it on any version of Node.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const STAMP = "node_modules/.fermata-setup";
const BUILD_INPUTS = [
  "src",
  "tsconfig.json",
  "tsconfig.build.json",
  "scripts/build.js",
  "scripts/bundle.js",
  "scripts/notices.js",
  "scripts/prune.js",
];

/**
 * Whether node_modules holds what package.json and package-lock.json ask for.
 * @param {string} root
 */
export function installIsFresh(root) {
  const stamp = join(root, STAMP);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === installFingerprint(root);
}

/**
 * To be called only after an install succeeded, so that an interrupted one is repeated.
 * @param {string} root
 * @param {string} fingerprint
 */
export function rememberInstall(root, fingerprint) {
  writeFileSync(join(root, STAMP), fingerprint);
}

/**
 * Covers only what decides the content of node_modules: a new script or version in package.json
 * needs no install, while the same clone mounted on another platform does.
 * @param {string} root
 */
export function installFingerprint(root) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { dependencies, devDependencies, optionalDependencies, overrides } = manifest;
  return createHash("sha256")
    .update(JSON.stringify([dependencies, devDependencies, optionalDependencies, overrides]))
    .update(readFileSync(join(root, "package-lock.json")))
    .update(`${process.platform} ${process.arch}`)
    .digest("hex");
}

/**
 * The dist folder appears whole or not at all (see build.js), so its own time tells its age.
 * @param {string} root
 */
export function buildIsFresh(root) {
  const dist = join(root, "dist");
  if (!existsSync(dist)) return false;
  const builtMs = statSync(dist).mtimeMs;
  return BUILD_INPUTS.every((input) => lastChangeMs(join(root, input)) < builtMs);
}

/**
 * Folders count with their own time, which is how a deleted file is noticed.
 * @param {string} path
 * @returns {number}
 */
function lastChangeMs(path) {
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.mtimeMs;
  const inside = readdirSync(path).map((name) => lastChangeMs(join(path, name)));
  return Math.max(entry.mtimeMs, ...inside);
}
