// Debian's `apt-get` is played by a script: what it is asked is looked at, and nothing is
// installed. The real one brings Chromium to each run in CI, where the test in it fails without.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findProgram, provide } from "../../scripts/programs.js";

const HARP = {
  name: "Harp",
  debian: "harp-player",
  commands: ["harp", "lyre"],
  variable: "FERMATA_HARP",
  tests: "music",
};
const DRUM = { name: "Drum", debian: "drum", commands: ["drum"], tests: "noise" };
const FAILED = "E: Unable to locate package";

let folder: string;
let bin: string;
let said: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fermata-programs-test-"));
  bin = join(folder, "bin");
  said = [];
  mkdirSync(bin);
});

afterEach(() => rmSync(folder, { recursive: true }));

function program(name: string, ...lines: readonly string[]): string {
  const path = join(bin, name);
  writeFileSync(path, ["#!/bin/sh", ...lines, ""].join("\n"));
  chmodSync(path, 0o755);
  return path;
}

/** Takes down what it is asked, and then does as `lines` say, with `$command` and `bin` at hand. */
function aptGet(...lines: readonly string[]): void {
  program(
    "apt-get",
    `bin=${bin}`,
    'while [ "$1" = -o ]; do shift 2; done',
    "command=$1",
    `echo "$DEBIAN_FRONTEND: $*" >> ${folder}/asked`,
    "echo much to read",
    ...lines,
  );
}

const BRING = [
  "put() { echo '#!/bin/sh' > $bin/$1; /bin/chmod 755 $bin/$1; }",
  'if [ "$command" = install ]; then put lyre; put drum; fi',
];

function asked(): readonly string[] {
  const path = join(folder, "asked");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}

async function run(options: Parameters<typeof provide>[0] = {}): Promise<void> {
  const env = { CI: "true", PATH: `${folder}:${bin}` };
  const say = (line: string) => void said.push(line);
  await provide({ programs: [HARP, DRUM], env, isRoot: true, say, ...options });
}

describe("a program that tests need", () => {
  it("is found by any of its commands, and where the environment says", () => {
    const PATH = `/nowhere:${bin}`;
    expect(findProgram(HARP, { PATH })).toBeNull();
    const path = program("lyre");
    expect(findProgram(HARP, { PATH })).toBe(path);
    expect(findProgram(HARP, { PATH, FERMATA_HARP: "/opt/harp" })).toBe("/opt/harp");
    chmodSync(path, 0o644);
    expect(findProgram(HARP, { PATH })).toBeNull();
  });

  it("is installed in CI with all others that lack, and the lists are renewed once", async () => {
    aptGet(...BRING);
    await run();
    expect(asked()).toEqual([
      "noninteractive: update",
      "noninteractive: install --yes --no-install-recommends harp-player drum",
    ]);
    expect(said).toEqual([
      "fermata: installing Harp, Drum for tests (CI, as root; about 20 s, at most 4 min)…",
    ]);
    await run();
    expect(asked()).toHaveLength(2);
  });

  it("is not installed where it is there, and nothing is said", async () => {
    aptGet(...BRING);
    program("harp");
    program("drum");
    await run();
    expect([asked(), said]).toEqual([[], []]);
  });

  it.each([
    ["outside CI", false, true],
    ["by another user than root", true, false],
  ])("is not installed %s: a line says how to have it", async (_, isCi, isRoot) => {
    aptGet(...BRING);
    program("drum");
    await run({ isRoot, env: { PATH: bin, ...(isCi && { CI: "true" }) } });
    expect(asked()).toEqual([]);
    expect(said).toEqual([
      "fermata: no Harp: tests of music cannot run here; to run them: apt-get install " +
        "harp-player, or FERMATA_HARP=PATH",
    ]);
  });

  it("is said to lack where there is no apt-get", async () => {
    await run({ programs: [DRUM] });
    expect(said).toEqual([
      "fermata: no Drum: tests of noise cannot run here; to run them: apt-get install drum",
    ]);
  });

  it("that cannot be installed is said to lack, with what apt-get said last", async () => {
    aptGet('if [ "$command" = install ]; then', `echo "${FAILED}" >&2; exit 100; fi`);
    await run({ programs: [DRUM] });
    expect(said[1]).toContain("Drum could not be installed: apt-get install failed (100)");
    expect(said[1]).toMatch(new RegExp(`It said:\n  much to read\n  much to read\n  ${FAILED}$`));
    expect(said[2]).toContain("no Drum: tests of noise cannot run here");
  });

  it("is not waited for longer than it may take", async () => {
    aptGet("exec /bin/sleep 1000");
    await run({ programs: [DRUM], timeoutMs: 300 });
    expect(said[1]).toContain("Drum could not be installed: it took longer than 0.3 s");
  });
});
