// What a shell offers after a tab, through the real command.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../house/files.ts";
import { built, Shell } from "./command.fixture.ts";

let person: Shell;

beforeAll(async () => {
  await built();
  person = new Shell();
});

afterAll(() => person.end());

const offered = async (...words: readonly string[]) => {
  const { stdout, exitCode, stderr } = await person.run(["__complete", ...words]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
};

describe("completion", () => {
  it("offers commands, options, values and agents without a server", async () => {
    expect(await offered("appr")).toEqual(["approve"]);
    expect(await offered("ls", "--st")).toEqual(["--status"]);
    expect(await offered("serve", "--max-s")).toEqual(["--max-sessions"]);
    expect(await offered("run", "--approve", "")).toEqual(["reads", "writes", "exec"]);
    expect(await offered("new", "-a", "ech")).toEqual(["echo"]);
    expect(await offered("context", "use", "")).toEqual(["local"]);
    expect(await offered("logs", "")).toEqual([]);
    expect(await offered("nonsense", "")).toEqual([]);
  });

  it("offers the names of sessions, in a shell", async () => {
    await person.run(["new", "fix-login"]);
    // A loaded machine may take longer than the shell waits.
    await expect.poll(() => offered("logs", "fix")).toEqual(["fix-login"]);
    const { stdout: script } = await person.run(["completion", "bash"]);
    const file = join(person.folder, "completion.bash");
    const fermata = `fermata() { "${process.execPath}" "${ROOT}/bin/fermata.js" "$@"; }`;
    const tab = "COMP_WORDS=(fermata comp); COMP_CWORD=1; _fermata";
    writeFileSync(file, `${fermata}\n${script}\n${tab}\necho "\${COMPREPLY[@]}"\n`);
    const env = { PATH: process.env.PATH, FERMATA_HOME: person.home };
    const { stdout } = await promisify(execFile)("bash", ["--norc", file], { env });
    expect(stdout).toBe("completion\n");
  });

  it("knows three shells", async () => {
    expect((await person.run(["completion", "zsh"])).stdout).toMatch(/^#compdef fermata\n/);
    expect((await person.run(["completion", "fish"])).stdout).toMatch(/^complete -c fermata -a/m);
    const other = await person.run(["completion", "fisch"]);
    expect(other).toMatchObject({ exitCode: 2, stdout: "" });
    expect(other.stderr).toMatch(/expected one of bash, zsh, fish \(did you mean "fish"\?\)/);
  });
});
