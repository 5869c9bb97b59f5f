// Writes down whose code is in the bundles, with the licences that have to go with it.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * @param {string} file
 * @param {readonly string[]} modules files of packages
 */
export function writeNotices(file, modules) {
  const packages = new Set(modules.map((path) => packageOf(dirname(path))));
  const notices = [...packages].map(noticeOf).sort((a, b) => (a < b ? -1 : 1));
  const title = "The programs of Fermata contain code of these packages.\n";
  writeFileSync(file, [title, ...notices].join(`\n${"-".repeat(80)}\n\n`));
}

/**
 * The folder of the package that a file is in. Some have a package.json without a name in folders
 * of theirs, which only tells the kind of their modules.
 * @param {string} folder
 * @returns {string}
 */
function packageOf(folder) {
  const manifest = join(folder, "package.json");
  const isOne = existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version;
  if (!isOne && dirname(folder) === folder) throw new Error("a bundled file is of no package");
  return isOne ? folder : packageOf(dirname(folder));
}

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!license && file === undefined) throw new Error(`${name} says nothing of its licence`);
  const text = file === undefined ? "" : `\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  return `${name} ${version} (${license ?? "see below"})\n${text}`;
}
