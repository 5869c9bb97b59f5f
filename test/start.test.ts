import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
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

describe("a clone that cannot be written", () => {
  it("says that it has to be elsewhere, and touches nothing", async () => {
    for (const part of ["bin", "scripts"]) {
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    }
    for (const file of ["package.json", "package-lock.json"])
      cpSync(join(ROOT, file), join(folder, file));
    // Root may write everywhere but on a disk that nothing can be written to.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    chmodSync(folder, 0o555);
    const before = readdirSync(folder);
    const run = spawnSync("node", [join(folder, "scripts/start.js")], {
      ...nobody,
      encoding: "utf8",
    });
    chmodSync(folder, 0o755);
    expect(run).toMatchObject({ status: 1, stdout: "" });
    expect(run.stderr).toBe(
      `fermata: cannot install and build in ${folder} (EACCES): copy this clone to a folder that ` +
        "you can write, and run `npm start` there.\n",
    );
    expect(readdirSync(folder)).toEqual(before);
  });
});
