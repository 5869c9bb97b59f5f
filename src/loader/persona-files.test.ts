import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PERSONA_FILE_BYTES_MAX } from "../core/limits.ts";
import type { Persona } from "../core/persona.ts";
import { makePipe, type Tree, withTree } from "./tree.fixture.ts";

const inWorkspace = (tree: Tree, ...names: readonly string[]) => join(tree.workspace, ...names);
const ofUser = (tree: Tree, name: string) => join(tree.userFolder, name);

const files = (persona: Persona) => {
  return persona.files.map(({ name, source, path, text }) => `${name} ${source} ${path} ${text}`);
};

describe("a persona", () => {
  it("is nothing where there are no files", () =>
    withTree(async (tree) => {
      expect(await tree.persona()).toEqual({ files: [], diagnostics: [] });
    }));

  it("has its files in one fixed order", () =>
    withTree(async (tree) => {
      for (const name of ["USER.md", "SOUL.md", "IDENTITY.md", "AGENTS.md"]) {
        await tree.write(ofUser(tree, name), name);
      }
      const names = (await tree.persona()).files.map(({ name }) => name);
      expect(names).toEqual(["AGENTS.md", "IDENTITY.md", "SOUL.md", "USER.md"]);
    }));

  it("takes each file from the first place that has it", () =>
    withTree(async (tree) => {
      for (const name of ["AGENTS.md", "SOUL.md", "USER.md"]) {
        await tree.write(ofUser(tree, name), "user");
      }
      await tree.write(inWorkspace(tree, "AGENTS.md"), "workspace");
      await tree.write(inWorkspace(tree, "SOUL.md"), "workspace");
      await tree.write(inWorkspace(tree, ".fermata", "SOUL.md"), "folder");
      expect(files(await tree.persona())).toEqual([
        "AGENTS.md workspace AGENTS.md workspace",
        "SOUL.md workspace .fermata/SOUL.md folder",
        "USER.md user USER.md user",
      ]);
    }));

  it("may begin with a byte order mark and have the line ends of other systems", () =>
    withTree(async (tree) => {
      await tree.write(ofUser(tree, "SOUL.md"), "\ufeffOne.\r\nTwo.\rThree.");
      expect((await tree.persona()).files[0]?.text).toBe("One.\nTwo.\nThree.");
    }));

  it("may have a link inside of the workspace", () =>
    withTree(async (tree) => {
      await tree.write(inWorkspace(tree, "CLAUDE.md"), "Shared.");
      await symlink("CLAUDE.md", inWorkspace(tree, "AGENTS.md"));
      expect(files(await tree.persona())).toEqual(["AGENTS.md workspace AGENTS.md Shared."]);
    }));

  it("is the user's alone if somebody works in the user's home", () =>
    withTree(async (tree) => {
      await tree.write(ofUser(tree, "SOUL.md"), "Mine.");
      const home = { ...tree.place, workspaceCwd: join(tree.root, "home") };
      const result = await tree.loader({ isTrusted: async () => false }).persona(home);
      const file = { name: "SOUL.md", source: "user", path: "SOUL.md", text: "Mine." };
      expect(result).toEqual({ ok: true, value: { files: [file], diagnostics: [] } });
    }));
});

describe("a persona file that cannot be used", () => {
  it.each<[string, string, string, (tree: Tree, file: string) => Promise<unknown>]>([
    [
      "too large",
      "too_large",
      "65537 bytes",
      (tree, file) => tree.write(file, "x".repeat(PERSONA_FILE_BYTES_MAX + 1)),
    ],
    ["no text", "unreadable", "UTF-8", (tree, file) => tree.write(file, Buffer.from([0xff]))],
    ["with a NUL", "unreadable", "NUL", (tree, file) => tree.write(file, "a\0b")],
    ["a directory", "unreadable", "regular", (_, file) => mkdir(file)],
    ["a pipe", "unreadable", "regular", async (_, file) => makePipe(file)],
    ["a link outside", "unreadable", "outside", (_, file) => symlink("/etc/passwd", file)],
    ["a link to nowhere", "unreadable", "nowhere", (_, file) => symlink("none", file)],
    ["a link to itself", "unreadable", "circle", (_, file) => symlink("SOUL.md", file)],
  ])("because it is %s is named, and nothing takes its place", (_, code, words, make) =>
    withTree(async (tree) => {
      await tree.write(ofUser(tree, "SOUL.md"), "Weaker.");
      await tree.write(ofUser(tree, "USER.md"), "Fine.");
      await make(tree, inWorkspace(tree, "SOUL.md"));
      const persona = await tree.persona();
      expect(files(persona)).toEqual(["USER.md user USER.md Fine."]);
      expect(persona.diagnostics).toMatchObject([{ name: "SOUL.md", code, path: "SOUL.md" }]);
      expect(persona.diagnostics[0]?.message).toContain(words);
      expect(persona.diagnostics[0]?.message).not.toContain(tree.root);
    }),
  );

  it("is not one that is as large as it may be", () =>
    withTree(async (tree) => {
      await tree.write(ofUser(tree, "SOUL.md"), "x".repeat(PERSONA_FILE_BYTES_MAX));
      expect((await tree.persona()).diagnostics).toEqual([]);
    }));
});

describe("the persona of a workspace that is not trusted", () => {
  it.each(["AGENTS.md", ".fermata/SOUL.md"])("%s is not used, and it is said", (path) =>
    withTree(async (tree) => {
      await tree.write(inWorkspace(tree, path), "Evil.");
      await tree.write(ofUser(tree, "USER.md"), "Mine.");
      const persona = await tree.persona({ isTrusted: async () => false });
      expect(files(persona)).toEqual(["USER.md user USER.md Mine."]);
      expect(persona.diagnostics).toMatchObject([{ code: "untrusted_workspace", path: "." }]);
      expect(persona.diagnostics[0]?.message).toContain("/reload_persona");
      expect(JSON.stringify(persona)).not.toContain("Evil");
    }),
  );
});
