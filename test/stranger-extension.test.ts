// A stranger writes an extension with nothing but the published package, as docs/extensions.md has
// it, line by line.

import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, readText } from "./house/files.ts";
import { runNode } from "./house/run.ts";
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

/** Runs a line of a shell as the stranger, with all that it prints. */
function run(line: string, cwd: string): Promise<{ readonly said: string; readonly code: number }> {
  const PATH = [bin, dirname(process.execPath), process.env.PATH].join(":");
  const env = { PATH, HOME: home, FERMATA_HOME: join(home, ".fermata") };
  return new Promise((resolve) => {
    const child = execFile("sh", ["-c", line], { cwd, env }, (_error, out, err) => {
      resolve({ said: `${out}${err}`, code: child.exitCode ?? -1 });
    });
  });
}

interface Block {
  readonly kind: string;
  readonly text: string;
  /** The file that the sentence above the block names; the last one if it names several. */
  readonly file: string;
}

/** The blocks of the tutorial, in order, without their indentation. */
function tutorial(): readonly Block[] {
  const page = readText("docs/extensions.md");
  const [, section = ""] = /^## Write one\n([\s\S]*?)^## /m.exec(page) ?? [];
  const blocks = section.matchAll(/^([^\n]*:)\n\n( *)```(\w+)\n([\s\S]*?)^\2```$/gm);
  return [...blocks].map(([, sentence = "", indent = "", kind = "", text = ""]) => {
    const named = [...sentence.matchAll(/`([\w./-]+\.js(?:on)?)`/g)].at(-1)?.[1] ?? "";
    return { kind, text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""), file: named };
  });
}

/** The commands of a block, each with the lines that it should print. */
function commandsIn(text: string) {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      return { command, lines };
    });
}

describe("the tutorial of docs/extensions.md", () => {
  it("does what it says, line by line", { timeout: 300_000 }, async () => {
    let cwd = project;
    const blocks = tutorial();
    expect(blocks.map(({ kind }) => kind)).toEqual([
      ...["console", "json", "js", "js", "console", "console"],
    ]);
    for (const { kind, text, file } of blocks) {
      if (kind !== "console") {
        expect(existsSync(join(cwd, file)), file).toBe(true);
        writeFileSync(join(cwd, file), text);
        continue;
      }
      for (const { command, lines } of commandsIn(text)) {
        const [, folder] = /^cd (\S+)$/.exec(command) ?? [];
        if (folder !== undefined) cwd = join(cwd, folder);
        const { said, code } = await run(command, cwd);
        expect({ command, code, said }).toEqual({ command, code: 0, said });
        for (const line of lines) expect(said).toContain(line.replace(/…$/, ""));
      }
    }
  });
});

describe("a new extension in TypeScript", () => {
  it("has types, runs its test and passes the check", { timeout: 300_000 }, async () => {
    expect(await run("fermata extensions new typed --typescript", project)).toMatchObject({
      code: 0,
    });
    const folder = join(project, "typed");
    const types = join(ROOT, "node_modules/@types");
    symlinkSync(types, join(project, "node_modules/@types"));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const compiled = await runNode([compiler, "-p", folder]);
    expect(compiled).toMatchObject({ exitCode: 0, stdout: "" });
    expect(await run("node --test", folder)).toMatchObject({ code: 0 });
    expect(await run("fermata extensions check typed", folder)).toMatchObject({ code: 0 });
  });

  it("does not compile if it answers what is no verdict", { timeout: 300_000 }, async () => {
    const file = join(project, "typed/typed/index.ts");
    writeFileSync(file, readFileSync(file, "utf8").replace('verdict: "ask"', 'verdict: "allow"'));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const compiled = await runNode([compiler, "-p", join(project, "typed")]);
    expect(compiled.exitCode).not.toBe(0);
    expect(compiled.stdout).toContain("typed/index.ts");
    expect(compiled.stdout).toContain('"allow"');
  });
});

describe("a test of an extension that fails", () => {
  it("ends, though it leaves its session open", { timeout: 300_000 }, async () => {
    expect(await run("fermata extensions new failing", project)).toMatchObject({ code: 0 });
    const folder = join(project, "failing");
    const file = join(folder, "test/failing.test.js");
    writeFileSync(file, readFileSync(file, "utf8").replace("turns: 2", "turns: 3"));
    const { code, said } = await run("node --test", folder);
    expect(code).toBe(1);
    expect(said).toMatch(/^\S* ?fail 1$/m);
  });
});

describe("the published package", () => {
  it("carries the bundled extensions, and they pass the check", { timeout: 300_000 }, async () => {
    const folder = join(project, "node_modules/fermata/extensions");
    const todo = await run(`fermata extensions check ${folder}/todo`, project);
    expect(todo).toMatchObject({ code: 0, said: expect.stringContaining("todo 1.0.0") });
    const config = `--config '{"deny": [".env"]}'`;
    const guard = await run(`fermata extensions check ${folder}/guard-paths ${config}`, project);
    expect(guard).toMatchObject({ code: 0 });
  });
});
