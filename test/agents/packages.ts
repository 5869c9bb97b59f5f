// Public agents, installed on demand. Each has a folder of its own, because their dependencies are
// not meant for each other.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { isObject, stringAt } from "../../src/core/json.ts";
import { ROOT } from "../house/files.ts";

export interface AgentPackage {
  readonly name: string;
  readonly version: string;
}

/** Several clones may share one: `FERMATA_AGENTS_CACHE=/somewhere npm run test:agents`. */
const CACHE = process.env.FERMATA_AGENTS_CACHE ?? join(ROOT, "node_modules/.cache/fermata-agents");

/** The largest are half a gigabyte. */
const INSTALL_MS_MAX = 10 * 60 * 1_000;
const OUTPUT_BYTES_MAX = 16 * 1_024 * 1_024;

/** Where its programs are; throws with npm's own words if it cannot be had. */
export async function installed({ name, version }: AgentPackage): Promise<string> {
  const folder = join(CACHE, name.replaceAll(/[@/]/g, "_"));
  const bin = join(folder, "node_modules/.bin");
  if (versionIn(join(folder, "node_modules", name)) === version && existsSync(bin)) return bin;
  mkdirSync(folder, { recursive: true });
  // Without a manifest of its own npm would take the next one above for it.
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const flags = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
  const options = { cwd: folder, timeout: INSTALL_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX };
  await promisify(execFile)("npm", ["install", ...flags, `${name}@${version}`], options);
  if (versionIn(join(folder, "node_modules", name)) !== version || !existsSync(bin)) {
    throw new Error(`npm has installed something else than ${name}@${version}`);
  }
  return bin;
}

function versionIn(folder: string): string | null {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return isObject(read) ? stringAt(read, "version") : null;
  } catch {
    return null;
  }
}
