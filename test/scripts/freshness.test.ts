import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  buildIsFresh,
  installFingerprint,
  installIsFresh,
  rememberInstall,
} from "../../scripts/freshness.js";

const RECIPE = [
  "tsconfig.json",
  "tsconfig.build.json",
  "scripts/build.js",
  "scripts/bundle.js",
  "scripts/notices.js",
  "scripts/prune.js",
];

let clone: string;

function write(path: string, text: string): void {
  writeFileSync(join(clone, path), text);
}

/** Sets when a file of the clone was last changed, in seconds. */
function changed(path: string, atSeconds: number): void {
  utimesSync(join(clone, path), atSeconds, atSeconds);
}

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "fermata-clone-"));
  for (const folder of ["node_modules", "scripts", "src", "src/core"])
    mkdirSync(join(clone, folder));
  write("package.json", '{ "version": "1.0.0", "devDependencies": { "a": "1" } }');
  for (const path of ["package-lock.json", ...RECIPE]) write(path, "{}");
  write("src/core/index.ts", "");
});

afterEach(() => rmSync(clone, { recursive: true }));

describe("an install", () => {
  it("is stale until one has succeeded", () => {
    expect(installIsFresh(clone)).toBe(false);
    rememberInstall(clone, installFingerprint(clone));
    expect(installIsFresh(clone)).toBe(true);
  });

  it("is stale once the lock file changed", () => {
    rememberInstall(clone, installFingerprint(clone));
    write("package-lock.json", '{ "packages": {} }');
    expect(installIsFresh(clone)).toBe(false);
  });

  it("is stale once a dependency changed in package.json, not when our version did", () => {
    rememberInstall(clone, installFingerprint(clone));
    write("package.json", '{ "version": "2.0.0", "devDependencies": { "a": "1" } }');
    expect(installIsFresh(clone)).toBe(true);
    write("package.json", '{ "version": "2.0.0", "devDependencies": { "a": "2" } }');
    expect(installIsFresh(clone)).toBe(false);
  });
});

describe("a build", () => {
  beforeEach(() => {
    mkdirSync(join(clone, "dist"));
    for (const path of [...RECIPE, "src/core/index.ts"]) changed(path, 100);
    for (const folder of ["src/core", "src"]) changed(folder, 100);
    changed("dist", 200);
  });

  it("is fresh while everything it was made of is older", () => {
    expect(buildIsFresh(clone)).toBe(true);
  });

  it.each(["src/core/index.ts", ...RECIPE])("is stale once %s changed", (path) => {
    changed(path, 300);
    expect(buildIsFresh(clone)).toBe(false);
  });

  it("is stale once a source was deleted", () => {
    rmSync(join(clone, "src/core/index.ts"));
    expect(buildIsFresh(clone)).toBe(false);
  });

  it("is stale when there is none", () => {
    rmSync(join(clone, "dist"), { recursive: true });
    expect(buildIsFresh(clone)).toBe(false);
  });
});
