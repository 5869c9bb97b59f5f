import { lstat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceRights } from "./text-file.ts";
import { type Tree, withTree } from "./tree.fixture.ts";

/** A workspace with a secret, to which links are put in place of a persona and of a skill. */
async function linked(tree: Tree): Promise<string> {
  const secret = await tree.write(join(tree.workspace, "secrets", "KEY"), "OF-THE-SERVER");
  await tree.skill("workspace", "own", "---\nsummary: Own.\n---\nOwn.");
  await symlink(secret, join(tree.workspace, "AGENTS.md"));
  await tree.write(join(tree.at("workspace"), "leak", "readme"), "");
  await symlink(secret, join(tree.at("workspace"), "leak", "SKILL.md"));
  await tree.write(join(tree.workspace, "SOUL.md"), "A soul.");
  return secret;
}

/** By what is closed: the server's own folders, or what the agents' user may not read. */
const RIGHTS: Readonly<Record<string, (secret: string) => WorkspaceRights>> = {
  "a folder of the server": (secret) => ({
    isClosed: (real) => real.startsWith(dirname(secret)),
    fileFor: null,
  }),
  "what the agents' user may not read": (secret) => ({
    isClosed: () => false,
    fileFor: async (real) => (real === secret ? null : lstat(real)),
  }),
  "another file than the agents' user gets there": (secret) => ({
    isClosed: () => false,
    fileFor: async (real) => lstat(real === secret ? dirname(real) : real),
  }),
};

describe("P8: personas and skills of a workspace", () => {
  it.each(Object.entries(RIGHTS))("are not read by a link to %s", (_, rightsFor) =>
    withTree(async (tree) => {
      await tree.skill("bundled", "given", "---\nsummary: Given.\n---\nGiven.");
      const rights = rightsFor(await linked(tree));
      const persona = await tree.persona({ rights });
      expect(persona.files.map(({ text }) => text)).toEqual(["A soul."]);
      expect(persona.diagnostics).toMatchObject([{ name: "AGENTS.md", code: "unreadable" }]);
      const skills = JSON.stringify(await tree.skills({ rights }));
      expect(skills).toContain("Own.");
      expect(`${skills}${JSON.stringify(persona)}`).not.toContain("OF-THE-SERVER");
    }),
  );
});
