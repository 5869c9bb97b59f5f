import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "./house/files.ts";
import { runNode } from "./house/run.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fermata-start-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("the command", () => {
  beforeEach(() => {
    cpSync(join(ROOT, "bin"), join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    mkdirSync(join(folder, "dist/cli"), { recursive: true });
    const main = 'export async function main() { console.log("ran"); return 0; }';
    writeFileSync(join(folder, "dist/cli/main.js"), main);
  });

  const run = () => runNode([join(folder, "bin/fermata.js")], { NODE_COMPILE_CACHE: "" });
  const RAN = { exitCode: 0, stdout: "ran\n", stderr: "" };

  it("keeps what it has compiled beside its code", async () => {
    expect(await run()).toEqual(RAN);
    const kept = join(folder, "node_modules/.cache/fermata");
    const files = readdirSync(kept, { recursive: true, withFileTypes: true });
    expect(files.filter((entry) => entry.isFile())).not.toEqual([]);
    expect(await run()).toEqual(RAN);
  });

  it("runs all the same where nothing can be kept", async () => {
    writeFileSync(join(folder, "node_modules"), "a file where a folder should be");
    expect(await run()).toEqual(RAN);
  });
});

describe("a server", () => {
  // To import node:http loads it, and with it half as much again as a bare server takes to start.
  it("starts without the web client that comes with Node", async () => {
    const tell = `import { isMainThread } from "node:worker_threads";
      const loaded = () => process.moduleLoadList.filter((name) => /http|undici/.test(name));
      if (isMainThread) process.on("exit", () => console.error(loaded().join("\\n")));`;
    const preload = ["--import", `data:text/javascript,${encodeURIComponent(tell)}`];
    const command = ["test/server/entry.fixture.ts", "serve", "--port", "0", "--data", folder];
    const env = { ...process.env, FERMATA_HOME: folder };
    const child = spawn(process.execPath, [...preload, ...command], { cwd: ROOT, env });
    const said = text(child.stderr);
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    const modules = (await said).split("\n");
    expect(modules).toContain("NativeModule http");
    expect(modules.filter((name) => name.includes("undici"))).toEqual([]);
  });
});
