// What an operator sees of extensions, by the real command: what is there, what is trusted, and
// what is wrong with a file or a folder.

import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Operator } from "./operator.fixture.ts";

/** The rows below the heading, each as its words. */
function rowsOf(out: string): readonly string[] {
  const [table = ""] = out.split("\n\n");
  return table
    .split("\n")
    .slice(1)
    .map((row) => row.replaceAll(/ {2,}/g, " | "));
}

describe("fermata extensions list", () => {
  it("says where each is from, whether its code is trusted, and whether it is on", async () => {
    const operator = new Operator();
    operator.put("home/extensions", "notes");
    operator.put("home/extensions", "spare", { version: "2.1.0" });
    operator.put("workspace/.fermata/extensions", "local");
    operator.configure({ spare: { enabled: false }, notes: { critical: true } });
    await operator.fermata("trust", join(operator.home, "extensions/notes"));
    const { exitCode, out } = await operator.fermata("extensions", "list");
    expect(exitCode).toBe(0);
    expect(rowsOf(out)).toEqual(
      expect.arrayContaining([
        "local | 1.0.0 | extension | workspace | not trusted | not loaded",
        "notes | 1.0.0 | extension | home | trusted | on, critical",
        "spare | 2.1.0 | extension | home | not trusted | off",
      ]),
    );
    const folder = "/workspace/.fermata/extensions/local";
    expect(out).toContain(
      `local: The code of extension "local" in ${folder} is new, or has changed since it was ` +
        `trusted. Look at it, then run: fermata trust ${folder}`,
    );
  });

  it.each<[string, (operator: Operator) => void, string]>([
    [
      "a half-written file",
      (operator) => operator.write("home/extensions.json", '{"todo": {"enabled": tr'),
      "extension file /home/extensions.json: it is not JSON: line 1, column 22",
    ],
    [
      "an empty file",
      (operator) => operator.write("home/extensions.json", ""),
      "it is empty; write {} into it",
    ],
    [
      "a list",
      (operator) => operator.write("home/extensions.json", "[]"),
      'it holds no object, such as {"todo": {"enabled": true}}',
    ],
    [
      "a mistyped field",
      (operator) => operator.configure({ todo: { enabeld: true } }),
      'todo.enabeld: there is no such field (did you mean "enabled"?)',
    ],
    [
      "a value of another type",
      (operator) => operator.configure({ todo: { critical: "yes" } }),
      "todo.critical: expected boolean, received string",
    ],
    [
      "a path for a package",
      (operator) => operator.configure({ todo: { package: "../todo" } }),
      "todo.package: it must be the name of an npm package, such as my-extension",
    ],
    [
      "an id that none can have",
      (operator) => operator.configure({ "../todo": {} }),
      '"../todo": no extension can have this id',
    ],
  ])("refuses %s, as a server does at its start", async (_, prepare, reason) => {
    const operator = new Operator();
    prepare(operator);
    const listed = await operator.fermata("extensions", "list");
    expect(listed).toMatchObject({ exitCode: 1, err: expect.stringContaining(reason) });
    const served = await operator.fermata("serve");
    expect(served).toMatchObject({ exitCode: 2, err: expect.stringContaining(reason) });
  });

  it("refuses a named file that is not there", async () => {
    const args = ["--extension-config", "/nowhere/e.json"];
    const { exitCode, err } = await new Operator().fermata("serve", ...args);
    expect(exitCode).toBe(2);
    expect(err).toContain("/nowhere/e.json: there is no such file; check its path, or make it");
  });

  it("says what to type instead of a mistyped word", async () => {
    const operator = new Operator();
    const word = await operator.fermata("extensions", "lits");
    expect(word).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('did you mean "list"'),
    });
    const command = await operator.fermata("extension", "list");
    expect(command.err).toContain('did you mean "extensions"');
  });
});

describe("what is wrong with extensions", () => {
  it.each<[string, (operator: Operator) => unknown, string]>([
    [
      "is edited after it was trusted",
      (operator) => operator.write("home/extensions/good/index.js", "evil();"),
      'good: The code of extension "good" in /home/extensions/good is new, or has changed',
    ],
    [
      "has the id of another",
      (operator) => operator.put("workspace/.fermata/extensions", "good"),
      'good: The extension "good" is not valid at id: the extension in ' +
        "/home/extensions/good (home) has this id, too.",
    ],
    [
      "is configured and not there",
      (operator) => operator.configure({ god: {} }),
      'god: There is no extension "god": it is not bundled, and neither in /home/extensions ' +
        'nor in the workspace (did you mean "good"?).',
    ],
    [
      "is in a package that is not there",
      (operator) => operator.configure({ far: { package: "@org/far" } }),
      'the package "@org/far" is not installed; run: npm install --prefix /home @org/far',
    ],
    [
      "is a link",
      (operator) => {
        const target = operator.put("elsewhere", "linked");
        symlinkSync(target, join(operator.home, "extensions/linked"));
      },
      "it is a link, whose target may be other code tomorrow; put the folder itself here",
    ],
    [
      "has a link in it",
      (operator) => {
        const folder = operator.put("home/extensions", "leaky");
        symlinkSync("/etc/passwd", join(folder, "more.js"));
      },
      "is not valid at its files: more.js: it is a link or no regular file",
    ],
    [
      "names a module outside of its folder",
      (operator) => operator.put("home/extensions", "wide", { main: "../good/index.js" }),
      "is not valid at main: it must be a .js or .ts file in the extension's own folder",
    ],
    [
      "depends on itself by way of another",
      (operator) => {
        operator.put("home/extensions", "hen", { dependsOn: { egg: "*" } });
        operator.put("home/extensions", "egg", { dependsOn: { hen: "*" } });
        return operator.trust("hen", "egg");
      },
      "egg -> hen -> egg",
    ],
    [
      "depends on what is not there",
      (operator) => {
        operator.put("home/extensions", "hen", { dependsOn: { grain: "*" } });
        return operator.trust("hen");
      },
      "there is no grain",
    ],
    [
      "depends on another version",
      (operator) => {
        operator.put("home/extensions", "hen", { dependsOn: { fine: "^2.0.0" } });
        return operator.trust("hen");
      },
      "fine is 1.0.0, not ^2.0.0",
    ],
    [
      "is a file in place of the folder of extensions",
      (operator) => operator.write("workspace/.fermata/extensions", "no folder"),
      "a part of its path is a file",
    ],
    [
      "has more than an extension may have",
      (operator) => {
        operator.put("home/extensions", "fat");
        operator.write("home/extensions/fat/data.bin", "x".repeat(16 * 1_024 * 1_024));
      },
      "with it the extension has more than 16777216 bytes",
    ],
    [
      "is in a workspace's folder that leads out of the workspace",
      (operator) => {
        operator.put("elsewhere", "foreign");
        mkdirSync(join(operator.workspace, ".fermata"));
        symlinkSync(
          join(operator.folder, "elsewhere"),
          join(operator.workspace, ".fermata/extensions"),
        );
      },
      "it leads outside of the workspace",
    ],
  ])("is listed if one %s, and all others are there", async (_, prepare, reason) => {
    const operator = new Operator();
    operator.put("home/extensions", "good");
    operator.put("home/extensions", "fine");
    await operator.trust("good", "fine");
    await prepare(operator);
    const { exitCode, out } = await operator.fermata("extensions", "list");
    expect(out.replaceAll("\n", " ")).toContain(reason);
    expect(rowsOf(out)).toContain("fine | 1.0.0 | extension | home | trusted | on");
    expect(exitCode).toBe(0);
  });

  it("stops the start of a server if it is about a critical one", async () => {
    const operator = new Operator();
    operator.put("home/extensions", "guard", {
      configSchema: { type: "object", properties: { level: { type: "integer" } } },
    });
    await operator.fermata("trust", join(operator.home, "extensions/guard"));
    operator.configure({ guard: { critical: true, config: { level: "high" } } });
    expect(await operator.fermata("serve")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining(
        'extension "guard": The configuration of extension "guard" is not valid at level: it ' +
          'must be of the type integer. Correct "guard.config" in /home/extensions.json.',
      ),
    });
  });
});

describe("fermata trust", () => {
  it("trusts the content of a folder, shows it, and takes it back with its copy", async () => {
    const operator = new Operator();
    const folder = operator.put("home/extensions", "notes");
    const trusted = await operator.fermata("trust", folder);
    expect(trusted).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^trusted: notes 1\.0\.0, 2 files, sha256 [0-9a-f]{64}$/),
      err: "fermata: sessions that begin from now on have it",
    });
    const hash = trusted.out.slice(-64);
    const copies = join(operator.home, "extensions-code");
    expect(readdirSync(join(copies, hash)).sort()).toEqual(["extension.json", "index.js"]);
    const rows = async () => rowsOf((await operator.fermata("trust", "--list")).out);
    expect(await rows()).toEqual([
      expect.stringMatching(
        /^notes \| [0-9a-f]{12} \| \S+ \| the same \| \/home\/extensions\/notes$/,
      ),
    ]);
    operator.write("home/extensions/notes/index.js", "export default () => 1;");
    expect(await rows()).toEqual([expect.stringContaining("| changed |")]);

    const mistyped = await operator.fermata("trust", "--remove", "note");
    expect(mistyped.err).toContain('no code of "note" is trusted (did you mean "notes"?)');
    expect(await operator.fermata("trust", "--remove", "notes")).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(copies, hash))).toBe(false);
    expect(await operator.fermata("trust", "--list")).toMatchObject({
      out: "",
      err: "fermata: no code is trusted but the bundled one",
    });
  });

  it.each<[string, (operator: Operator) => string, string]>([
    ["nothing", () => "gone", "there is no such file; check its path, or make it"],
    ["no extension", (operator) => operator.workspace, "it has no extension.json"],
    [
      "an extension that could not be loaded",
      (operator) => operator.put("home/extensions", "old", { requiredCoreVersion: ">=9" }),
      "it needs Fermata >=9",
    ],
  ])("trusts nothing where there is %s", async (_, pathIn, reason) => {
    const operator = new Operator();
    const { exitCode, err } = await operator.fermata("trust", pathIn(operator));
    expect(exitCode).toBe(1);
    expect(err).toContain(reason);
    expect(existsSync(join(operator.home, "trusted-extensions.json"))).toBe(false);
  });

  it("says that the server does not look there", async () => {
    const operator = new Operator();
    const { exitCode, err } = await operator.fermata("trust", operator.put("elsewhere", "notes"));
    expect(exitCode).toBe(0);
    expect(err).toContain("its folder has to be /home/extensions/notes");
  });

  it("believes no list that others can write", async () => {
    const operator = new Operator();
    const folder = operator.put("home/extensions", "notes");
    await operator.fermata("trust", folder);
    chmodSync(join(operator.home, "trusted-extensions.json"), 0o666);
    const reason = "cannot be used: others can write it";
    expect((await operator.fermata("trust", folder)).err).toContain(reason);
    expect((await operator.fermata("extensions", "list")).out).toContain(reason);
  });
});
