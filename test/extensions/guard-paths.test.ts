// The bundled extension `guard-paths`, in a real thread, with real files and links.

import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlayedSession, playSession } from "../../src/extension/testing.ts";

const FOLDER = new URL("../../extensions/guard-paths", import.meta.url);

const workspaceCwd = realpathSync(mkdtempSync(join(tmpdir(), "guarded-")));
let session: PlayedSession;

beforeAll(async () => {
  const at = (path: string) => join(workspaceCwd, path);
  for (const folder of ["src/keys", "elsewhere"]) mkdirSync(at(folder), { recursive: true });
  for (const file of [".env", "src/keys/a.pem", "src/main.ts"]) writeFileSync(at(file), "text");
  symlinkSync(".env", at("harmless.txt"));
  symlinkSync("../src/keys", at("elsewhere/folder"));
  symlinkSync("src/keys/new.pem", at("not-yet"));
  symlinkSync("round", at("round"));
  linkSync(at(".env"), at("second-name"));
  linkSync(at("src/keys/a.pem"), at("b.pem"));
  const config = { deny: [".env", "src/keys"], ask: ["lock.json", "~/.config"] };
  session = await playSession(FOLDER, { workspaceCwd, config });
});

afterAll(async () => {
  await session.end();
  rmSync(workspaceCwd, { recursive: true, force: true });
});

const CALL = { toolCallId: "t1", title: "Work", kind: "edit", paths: [], rawInput: {} };

/** What it says to a call, in one word. */
async function said(call: object): Promise<string> {
  const before = await session.hook("before_tool_call", { ...CALL, ...call });
  expect(await session.hook("before_ask", { ...CALL, ...call })).toEqual(before);
  return before.verdict;
}

describe("guard-paths", () => {
  it.each([
    ".env",
    join(workspaceCwd, ".env"),
    "./src/../.env",
    "src//../src/keys/a.pem",
    "src/keys/new/deep.pem",
    "src/keys",
    "harmless.txt",
    "elsewhere/folder/a.pem",
    "elsewhere/folder/../keys/a.pem",
    "not-yet",
    "second-name",
    `file://${workspaceCwd}/.env`,
    `/proc/self/root${workspaceCwd}/.env`,
  ])("denies a write to %s", async (path) => {
    expect(await said({ paths: [path] })).toBe("deny");
    expect(await said({ rawInput: { file_path: path } })).toBe("deny");
    expect(await said({ kind: "other", rawInput: { edits: [{ target: path }] } })).toBe("deny");
  });

  it.each(["src/main.ts", "src/keys.ts", ".env.example", "elsewhere/new", "src", "env"])(
    "lets a write to %s pass",
    async (path) => {
      expect(await said({ paths: [path] })).toBe("pass");
    },
  );

  it.each<[string, object]>([
    ["of the paths of `ask`", { paths: ["lock.json"] }],
    ["in the home", { paths: [join(homedir(), ".config/x")] }],
    ["that does not say what it changes", { kind: "edit", rawInput: { text: "x" } }],
    ["to a link that leads in a circle", { paths: ["round"] }],
    ["to a file with other names, which may be in a guarded folder", { paths: ["b.pem"] }],
  ])("has people asked about a write %s", async (_, call) => {
    expect(await said(call)).toBe("ask");
  });

  it("tells people why", async () => {
    expect(await session.hook("before_ask", { ...CALL, paths: [".env", "lock.json"] })).toEqual({
      verdict: "deny",
      reason: ".env is guarded",
    });
  });

  it("sees files that a patch names", async () => {
    const patches = [
      "*** Begin Patch\n*** Update File: src/keys/a.pem\n@@\n-a\n+b\n*** End Patch",
      "--- a/src/main.ts\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b",
      "diff --git a/x b/y\nrename from x\nrename to src/keys/x",
    ];
    for (const patch of patches) expect(await said({ rawInput: { patch } })).toBe("deny");
    expect(await said({ rawInput: { patch: "--- a/src/main.ts\n+++ b/src/main.ts" } })).toBe(
      "pass",
    );
  });

  it("lets a folder that something guarded is in be neither moved nor deleted", async () => {
    expect(await said({ kind: "delete", paths: ["src"] })).toBe("deny");
    expect(await said({ kind: "move", paths: ["src", "source"] })).toBe("deny");
    expect(await said({ kind: "delete", paths: ["elsewhere"] })).toBe("pass");
  });

  it("lets reads pass", async () => {
    expect(await said({ kind: "read", paths: [".env"] })).toBe("pass");
    expect(await said({ kind: "search", paths: ["src/keys"] })).toBe("pass");
  });

  it.each([
    "cat .env",
    "echo x > .env",
    "echo x >.env",
    "rm -rf src/keys",
    "rm -rf src",
    "rm -rf .",
    "rm -rf *",
    "rm .e*",
    "rm src/k?ys/a.pem",
    "cd src && rm keys/a.pem",
    "pushd src; rm -r ke''ys",
    'rm ".e"nv',
    "rm .e\\nv",
    "cp x harmless.txt",
    "tee elsewhere/folder/a.pem",
    "curl -o.env http://host",
    "dd of=.env",
    "rm $FILE",
    "rm {x,.env}",
    "rm .e{nv,x}",
    "cd elsewhere/folder && rm a.pem",
    "rm elsewhere/folder/../keys/a.pem",
    "rm `cat list`",
    "node -e \"require('fs').writeFileSync('.env', '')\"",
    `rm ${workspaceCwd}/.env`,
    "rm ../$(basename $PWD)/.env",
  ])("has people asked about the command %s", async (command) => {
    expect(await said({ kind: "execute", rawInput: { command } })).toBe("ask");
    // It is one by any name that the agent has for it.
    expect(await said({ kind: "read", rawInput: { command } })).toBe("ask");
  });

  it.each([
    "npm test",
    "git status",
    "rm src/main.ts",
    "ls ./elsewhere.d",
    "cat src/*.ts",
    "rm env",
  ])("lets the command %s pass", async (command) => {
    expect(await said({ kind: "execute", rawInput: { command } })).toBe("pass");
  });

  it("reads a command in the directory that the call names for it", async () => {
    const inside = (command: string, cwd: string) =>
      said({ kind: "execute", rawInput: { command: [command, "main.ts"], cwd } });
    expect(await inside("rm", "src")).toBe("pass");
    expect(await inside("rm", "src/keys")).toBe("ask");
  });

  it("asks about what is called a command and has none", async () => {
    expect(await said({ kind: "execute", title: "rm .env" })).toBe("ask");
    expect(await said({ kind: "execute", title: "Run tests" })).toBe("pass");
  });

  it("does not come up if it is to guard nothing", async () => {
    const nothing = playSession(FOLDER, { workspaceCwd, config: { deny: [] } });
    await expect(nothing).rejects.toThrow('it guards nothing: name paths in "deny" or "ask"');
    const mistyped = playSession(FOLDER, { workspaceCwd, config: { deni: [".env"] } });
    await expect(mistyped).rejects.toThrow("is not valid at deni: there is no such option");
  });
});
