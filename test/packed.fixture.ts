import { cpSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { buildIsFresh } from "../scripts/freshness.js";
import { ROOT, readText } from "./house/files.ts";
import { runNode } from "./house/run.ts";

/** An empty folder, for a project that has nothing but the published package. */
export function emptyProject(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "fermata-stranger-")));
}

/** Puts the package below the folder as `npm install` would, and answers where it is. */
export async function installPacked(project: string): Promise<string> {
  const manifest = JSON.parse(readText("package.json"));
  if (!buildIsFresh(ROOT)) {
    expect(await runNode(["scripts/build.js"])).toMatchObject({ exitCode: 0 });
  }
  const installed = join(project, "node_modules/fermata");
  mkdirSync(installed, { recursive: true });
  // What `npm pack` would put into the package, by its own list.
  for (const name of ["package.json", ...manifest.files]) {
    cpSync(join(ROOT, name), join(installed, name), { recursive: true });
  }
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(project, "node_modules", name);
    mkdirSync(join(link, ".."), { recursive: true });
    symlinkSync(realpathSync(join(ROOT, "node_modules", name)), link);
  }
  return installed;
}
