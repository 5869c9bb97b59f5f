// A stranger writes a workflow with nothing but the published package, as docs/workflows.md has it,
// line by line.

import { execFile } from "node:child_process";
import { existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readText } from "./house/files.ts";
import { emptyProject, installPacked } from "./packed.fixture.ts";

const project = emptyProject();
const home = join(project, "home");
const bin = join(project, "node_modules/.bin");

beforeAll(async () => {
  await installPacked(project);
  await run("mkdir -p home node_modules/.bin", project);
  symlinkSync("../fermata/bin/fermata.js", join(bin, "fermata"));
}, 300_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Runs a line of a shell as the stranger, with all that it prints for programs. */
function run(line: string, cwd: string): Promise<{ readonly out: string; readonly code: number }> {
  const PATH = [bin, dirname(process.execPath), process.env.PATH].join(":");
  const env = { PATH, HOME: home, FERMATA_HOME: join(home, ".fermata") };
  return new Promise((resolve) => {
    const child = execFile("sh", ["-c", line], { cwd, env }, (_error, out) => {
      resolve({ out, code: child.exitCode ?? -1 });
    });
  });
}

/** The blocks of the tutorial, in order, without their indentation. */
function tutorial() {
  const page = readText("docs/workflows.md");
  const [, section = ""] = /^## Write one\n([\s\S]*?)^## /m.exec(page) ?? [];
  return [...section.matchAll(/^ {3}```(\w+)\n([\s\S]*?)^ {3}```$/gm)].map(
    ([, kind = "", text = ""]) => ({ kind, text: text.replaceAll(/^ {3}/gm, "") }),
  );
}

const FILES: Readonly<Record<string, string>> = { yaml: "notes.yaml", js: "test/notes.test.js" };

it("the tutorial of docs/workflows.md does what it says", { timeout: 300_000 }, async () => {
  const blocks = tutorial();
  expect(blocks.map(({ kind }) => kind)).toEqual(["console", "yaml", "console", "js", "console"]);
  let cwd = project;
  for (const { kind, text } of blocks) {
    const file = FILES[kind];
    if (file !== undefined) {
      expect(existsSync(join(cwd, file)), file).toBe(true);
      writeFileSync(join(cwd, file), text);
      continue;
    }
    for (const part of text.split(/^\$ /m).slice(1)) {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      const [, folder] = /^cd (\S+)$/.exec(command) ?? [];
      if (folder !== undefined) {
        cwd = join(cwd, folder);
        continue;
      }
      const { out, code } = await run(command, cwd);
      expect({ command, code, out }).toMatchObject({ command, code: 0 });
      if (lines.length > 0) expect(out.trimEnd()).toBe(lines.join("\n"));
    }
  }
});
