import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT, textsUnder } from "../house/files.ts";
import { runNode } from "../house/run.ts";

let folder: string;

/** A module of the folder that is bundled; programs that a test has nothing to say of are empty. */
function module(path: string, code: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), code);
}

/** In a process of its own: the bundler is a native one, and tests share their process. */
async function bundled(): Promise<void> {
  const script = pathToFileURL(join(ROOT, "scripts/bundle.js")).href;
  const code = `(await import("${script}")).bundlePrograms(${JSON.stringify(folder)})`;
  const { exitCode, stderr } = await runNode(["--input-type=module", "--eval", `await ${code}`]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
}

function run(program: string) {
  return runNode([join(folder, program)]);
}

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-bundle-")));
  module("package.json", '{ "type": "module" }');
  for (const program of ["writer", "reader"]) module(`store/sqlite/${program}.js`, "");
  for (const program of ["builtin/echo", "user"]) module(`agent/${program}/main.js`, "");
  module("session/export/writer.js", "");
  module("cli/main.js", "");
  module("cli/commands/serve.js", "");
  module("extension/thread/main.js", "");
  module("extension/workflow/testing.js", "");
  module("tool/toolbox/relay.js", "");
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("a bundled program", () => {
  it("runs without the modules that it was made of", async () => {
    module("cli/main.js", 'import { word } from "../core/word.js"; console.log(word);');
    module("core/word.js", 'export const word = "hello";');
    await bundled();
    rmSync(join(folder, "core"), { recursive: true });
    expect(await run("cli/main.js")).toEqual({ exitCode: 0, stdout: "hello\n", stderr: "" });
  });

  it("has its modules look for files where they have come from", async () => {
    module("cli/main.js", 'import { place } from "../agent/place.js"; console.log(place);');
    module("agent/place.js", "export const place = import.meta.url;");
    await bundled();
    const { stdout } = await run("cli/main.js");
    expect(stdout).toBe(`${pathToFileURL(join(folder, "agent/place.js")).href}\n`);
  });

  it("loads what is imported on demand when it is wanted, and only then", async () => {
    module("cli/main.js", 'if (process.argv[2]) await import("./late.js"); console.log("main");');
    module("cli/late.js", 'console.log("late");');
    await bundled();
    rmSync(join(folder, "cli/late.js"));
    expect((await run("cli/main.js")).stdout).toBe("main\n");
    const late = await runNode([join(folder, "cli/main.js"), "late"]);
    expect(late.stdout).toBe("late\nmain\n");
  });

  it("loads the database's driver only where it is used", async () => {
    // Beside this folder there is no such package, so to load it would fail.
    const driver = 'import Database from "better-sqlite3";';
    module(
      "store/file.js",
      `${driver} export const open = () => new Database(); export const n = 1;`,
    );
    module("cli/main.js", 'import { n } from "../store/file.js"; console.log(n);');
    module("store/sqlite/writer.js", 'import { open } from "../file.js"; open();');
    await bundled();
    expect(await run("cli/main.js")).toMatchObject({ exitCode: 0, stdout: "1\n" });
    expect((await run("store/sqlite/writer.js")).stderr).toContain("better-sqlite3");
  });
});

describe("the sources", () => {
  const sources = [...textsUnder("src")].filter(([path]) => !/\.(test|fixture)\.ts$/.test(path));

  // A bundle in its place would be a second copy of all that it holds.
  it("import no program but for its types", () => {
    const program = /^import (?!type ).*"[^"]*\/(?:cli\/main|writer|reader|echo\/main)\.ts"/m;
    expect(sources.filter(([, text]) => program.test(text)).map(([path]) => path)).toEqual([]);
  });

  // What it then imports on demand would wait for the program, and the program for that: for ever.
  it("await nothing at their top level", () => {
    const awaits = /^(?:if .*\) |\w.* = )?await /m;
    expect(sources.filter(([, text]) => awaits.test(text)).map(([path]) => path)).toEqual([]);
  });
});
