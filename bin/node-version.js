// Old syntax on purpose: this file has to parse on every Node that could be asked to run fermata.

/**
 * The oldest Node that can run Fermata: the first with Node-API 10, for which the database's driver
 * is built; on an older one it crashes. A test holds it to `engines` in package.json.
 */
export const OLDEST_NODE = "22.14";

/**
 * @param {string} version as in `process.version`, with or without the leading "v"
 * @returns {boolean}
 */
export function nodeIsTooOld(version) {
  return rank(version) < rank(OLDEST_NODE);
}

/**
 * One number that orders versions by major, then minor; no Node has a minor of 1000.
 * @param {string} version
 */
function rank(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major * 1000 + minor;
}
