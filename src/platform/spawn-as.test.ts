import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { spawnAs } from "./spawn-as.ts";

const folder = mkdtempSync(join(tmpdir(), "fermata-spawn-as-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Notes its own environment and arguments, and then runs the command like `setpriv`. */
function noting(): { readonly launcher: readonly string[]; seen(): string[]; words(): string } {
  const script = 'tr "\\0" "\\n" </proc/$$/environ >"$0.env"; echo "$*" >"$0.args"; exec "$@"';
  const at = join(folder, "launcher");
  return {
    launcher: ["/bin/sh", "-c", script, at],
    seen: () => readFileSync(`${at}.env`, "utf8").split("\n").filter(Boolean),
    words: () => readFileSync(`${at}.args`, "utf8"),
  };
}

function variablesOf(launcher: readonly string[], given: Readonly<Record<string, string>>) {
  const program = { file: "/usr/bin/env", args: ["-0"], cwd: folder, env: given };
  const { file, args, cwd, env } = spawnAs({ uid: 1, gid: 1, launcher }, program);
  const printed = execFileSync(file, args, { cwd, env, encoding: "utf8" });
  const pairs = printed
    .split("\0")
    .filter(Boolean)
    .map((line) => line.split(/=(.*)/s));
  return Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value]));
}

/** What the dynamic loader and libc act upon, without an effect on the test itself. */
const CHOSEN_BY_AGENT = {
  ...{ LD_LIBRARY_PATH: "/nowhere", LD_BIND_NOT: "1", GLIBC_TUNABLES: "", MALLOC_ARENA_MAX: "1" },
  ...{ GCONV_PATH: "/nowhere", NLSPATH: "/nowhere", LOCPATH: "/nowhere", SOME_LOADER: "x" },
};

describe("a program that a launcher starts as another user", () => {
  it("P8: chooses no variable of the launcher, which has the server's rights", () => {
    const { launcher, seen } = noting();
    variablesOf(launcher, { ...CHOSEN_BY_AGENT, PATH: "/usr/bin:/bin", FERMATA_MARK: "m" });
    expect(seen().length).toBeGreaterThan(Object.keys(CHOSEN_BY_AGENT).length);
    expect(seen().filter((line) => !line.startsWith("FERMATA_"))).toEqual([]);
    expect(seen()).toContain("FERMATA_MARK=m");
  });

  it("gets all of its variables, under their names and with their values", () => {
    const given = {
      ...CHOSEN_BY_AGENT,
      ...{ PATH: "/usr/bin:/bin", FERMATA_MARK: "m", X: "2", EMPTY: "" },
      ...{ IFS: "_A", lower: "l", TEXT: `a "b" 'c' $X \`d\` \\ %s\nnext * ~ é`, UID: "7" },
    };
    const reserved = { FERMATA_AS_X: "1" };
    const { PWD, _, ...got } = variablesOf(noting().launcher, { ...given, ...reserved });
    expect(got).toEqual(given);
    expect(variablesOf(noting().launcher, { PWD: "/" }).PWD).toBe(folder);
  });

  it("P8: shows no value among the arguments, and runs no name as a command", () => {
    const { launcher, words } = noting();
    const ran = join(folder, "ran");
    const given = { KEY: "hush-hush", [`A;touch ${ran};B`]: "1", "--": "2", "a.b": "3" };
    expect(variablesOf(launcher, given)).toMatchObject({ KEY: "hush-hush" });
    expect(words()).not.toContain("hush-hush");
    expect(words()).not.toContain(ran);
  });

  it("needs none of it where the system changes the user", () => {
    const program = { file: "/bin/true", args: [], cwd: "/", env: CHOSEN_BY_AGENT };
    expect(spawnAs(null, program).env).toEqual(CHOSEN_BY_AGENT);
    expect(spawnAs({ uid: 1, gid: 1, launcher: [] }, program).env).toEqual(CHOSEN_BY_AGENT);
  });
});
