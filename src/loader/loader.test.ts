import type { Dirent } from "node:fs";
import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { codes, names } from "../core/skill/skill.fixture.ts";
import { canonicalJson } from "../core/skill/snapshot.ts";
import { listFolder } from "./skills.ts";
import { listedAs, type Tree, withTree } from "./tree.fixture.ts";

const SEED_SKILL = `---
summary: Greets somebody.
invocation_mode: tool_dispatch
command: greet
command_tool: shell
requires_tools: [shell]
eligibility:
  os: [linux, darwin]
  env: [HOME]
---

Say hello.
`;

const PUBLIC_SKILL = `---
name: pdf
description: Reads PDF files.
license: MIT
metadata: {author: somebody}
---
# PDF
`;

const withHome = (tree: Tree) => {
  return { env: { HOME: tree.root, EMPTY: "" } };
};

describe("a load of skills", () => {
  it("reads both formats, from all roots, with the body in the snapshot", () =>
    withTree(async (tree) => {
      await tree.skill("bundled", "greet", SEED_SKILL);
      await tree.skill("user", "pdf", PUBLIC_SKILL);
      await tree.skill("workspace", "plain", "Just words.\n");
      const snapshot = await tree.skills(withHome(tree));
      expect(snapshot.diagnostics).toEqual([]);
      expect(snapshot.entries).toMatchObject([
        { skill_name: "greet", source: "bundled", command: "greet", body: "Say hello." },
        { skill_name: "pdf", source: "user", summary: "Reads PDF files.", body: "# PDF" },
        { skill_name: "plain", source: "workspace", summary: "", body: "Just words." },
      ]);
    }));

  it("looks at immediate child directories only, and at nothing else in them", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "A.");
      await tree.write(tree.at("user", "a", "assets", "SKILL.md"), "Not this.");
      await tree.write(tree.at("user", "b", "deeper", "SKILL.md"), "Not this.");
      await tree.write(tree.at("user", "SKILL.md"), "Not this.");
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["a (user)"]);
      expect(codes(snapshot)).toEqual(["b: missing_skill_md"]);
    }));

  it("lets the workspace win over the user, and the user over what is bundled", () =>
    withTree(async (tree) => {
      for (const source of ["bundled", "user", "workspace"] as const) {
        await tree.skill(source, "all", source);
        if (source !== "workspace") await tree.skill(source, "two", source);
      }
      const { entries, diagnostics } = await tree.skills();
      expect(entries.map(({ body }) => body)).toEqual(["workspace", "user"]);
      expect(diagnostics.map(({ code, source }) => [code, source])).toEqual([
        ["precedence_conflict", "workspace"],
        ["precedence_conflict", "user"],
      ]);
    }));

  it("has no fallback for a winner that is malformed, ineligible or unreadable", () =>
    withTree(async (tree) => {
      for (const name of ["bad", "picky", "odd", "good"])
        await tree.skill("bundled", name, "Good.");
      await tree.skill("workspace", "bad", "---\n");
      await tree.skill("workspace", "picky", "---\neligibility: {os: [win32]}\n---\n");
      await mkdir(tree.at("workspace", "odd", "SKILL.md"), { recursive: true });
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["good (bundled)"]);
      expect(codes(snapshot).filter((code) => !code.includes("precedence"))).toEqual([
        "bad: malformed_frontmatter",
        "odd: unreadable",
        "picky: ineligible",
      ]);
    }));

  it("counts a variable that is set to nothing as missing", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "---\neligibility: {env: [HOME, EMPTY]}\n---\n");
      const { diagnostics } = await tree.skills(withHome(tree));
      expect(diagnostics).toMatchObject([{ message: "These variables are not set: EMPTY." }]);
    }));

  it("looks for programs on PATH: files that may be run, in absolute directories", () =>
    withTree(async (tree) => {
      const bin = join(tree.root, "bin");
      await mkdir(join(bin, "folder"), { recursive: true });
      await writeFile(join(bin, "tool"), "", { mode: 0o755 });
      await writeFile(join(bin, "text"), "", { mode: 0o644 });
      await tree.write(join(tree.root, "near", "by"), "");
      await chmod(join(tree.root, "near", "by"), 0o755);
      const yaml = "eligibility: {binaries: [tool, folder, text, by]}";
      await tree.skill("user", "a", `---\n${yaml}\n---\n`);
      const near = relative(process.cwd(), join(tree.root, "near"));
      const env = { PATH: `${near}:::${bin}` };
      const tools = async () => [];
      const { diagnostics } = await tree.skills({
        env,
        tools,
      });
      const message = "These programs are not on PATH: folder, text, by.";
      expect(diagnostics).toMatchObject([{ code: "ineligible", message }]);
    }));

  it("is read anew each time, and only then", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "One.");
      const before = await tree.skills();
      await tree.skill("user", "a", "Two.");
      await tree.skill("user", "b", "New.");
      expect(before.entries.map(({ body }) => body)).toEqual(["One."]);
      expect((await tree.skills()).entries.map(({ body }) => body)).toEqual(["Two.", "New."]);
    }));
});

describe("the same files", () => {
  const NAMES = ["b", "a", "Z", "é", "\u{1f3b5}", "\uffee", "i", "I2", "ı", "broken", "none"];
  const fill = async (tree: Tree) => {
    for (const name of NAMES) await tree.skill("user", name, `---\ncommand: hi\n---\n${name}`);
    await tree.skill("workspace", "a", "---\ncolour: red\n---\n");
    await tree.skill("workspace", "broken", "---\n");
    await rm(tree.at("user", "none", "SKILL.md"));
  };
  const byUnits = (one: Dirent, other: Dirent) => (one.name < other.name ? -1 : 1);
  const forwards = listedAs((children) => children.toSorted(byUnits));
  const backwards = listedAs((children) => children.toSorted(byUnits).toReversed());

  it("are the same snapshot to the byte, in whatever order they are listed", () =>
    withTree(async (tree) => {
      await fill(tree);
      const texts = [];
      for (const listing of [forwards, backwards, listFolder]) {
        texts.push(canonicalJson(await tree.skills({ listing })));
      }
      expect(texts[0]).toContain('"skill_name":"ı"');
      expect(new Set(texts).size).toBe(1);
    }));

  it("are the same on another machine, because no snapshot has an absolute path", () =>
    withTree((one) =>
      withTree(async (other) => {
        const texts = [];
        for (const tree of [one, other]) {
          await fill(tree);
          await symlink(tree.root, tree.at("user", "outside"));
          await symlink("loop", tree.at("user", "loop"));
          await mkdir(tree.at("user", "folder", "SKILL.md"), { recursive: true });
          texts.push(canonicalJson(await tree.skills()));
        }
        expect(texts[0]).toBe(texts[1]);
        expect(texts[0]).not.toContain(one.root);
      }),
    ));
});

describe("a root", () => {
  it("that is bundled must be there", () =>
    withTree(async (tree) => {
      await rm(tree.bundled, { recursive: true });
      const details = { root: "bundled", reason: "the directory is not there" };
      expect(await tree.loader().skills(tree.place)).toEqual({
        ok: false,
        refusal: { code: "skills_unavailable", details },
      });
    }));

  it("that is bundled must be a directory", () =>
    withTree(async (tree) => {
      const bundled = await tree.write(join(tree.root, "file"), "");
      const result = await tree.loader({ bundled }).skills(tree.place);
      expect(result).toMatchObject({
        refusal: { code: "skills_unavailable", details: { reason: "it is not a directory" } },
      });
    }));

  it("P10: that cannot be read for want of file handles is no fault of the skills", () =>
    withTree(async (tree) => {
      await tree.skill("bundled", "a");
      const listing = () => {
        throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
      };
      expect(await tree.loader({ listing }).skills(tree.place)).toMatchObject({
        refusal: { code: "files_exhausted" },
      });
    }));

  it("of the user or the workspace need not be there", () =>
    withTree(async (tree) => {
      await tree.skill("bundled", "a");
      await rm(tree.workspace, { recursive: true });
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["a (bundled)"]);
      expect(snapshot.diagnostics).toEqual([]);
    }));

  it("of the workspace must be there if that is wanted", () =>
    withTree(async (tree) => {
      const loader = tree.loader({ isWorkspaceRequired: true });
      expect(await loader.skills(tree.place)).toMatchObject({
        refusal: { code: "skills_unavailable", details: { root: "workspace" } },
      });
      await mkdir(tree.at("workspace"), { recursive: true });
      expect(await loader.skills(tree.place)).toMatchObject({ ok: true });
    }));

  it("of the user that cannot be read is said, and the others are loaded", () =>
    withTree(async (tree) => {
      await tree.skill("bundled", "a");
      await tree.write(tree.at("user"), "This is a file.");
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["a (bundled)"]);
      expect(snapshot.diagnostics).toMatchObject([
        { skill_name: "", code: "unreadable", source: "user", path: "." },
      ]);
    }));

  it("of the workspace that is the user's own folder is looked into once", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a");
      const home = { ...tree.place, workspaceCwd: join(tree.root, "home") };
      const isTrusted = async () => false;
      for (const settings of [{}, { isTrusted }]) {
        const result = await tree.loader(settings).skills(home);
        expect(result).toMatchObject({
          value: { entries: [{ skill_name: "a", source: "user" }], diagnostics: [] },
        });
      }
    }));
});

describe("a workspace that is not trusted", () => {
  const isTrusted = async () => false;

  it("contributes no skill, names none, and says how to trust it", () =>
    withTree(async (tree) => {
      await tree.skill("bundled", "a", "Bundled.");
      await tree.skill("workspace", "a", "Evil.");
      await tree.skill("workspace", "secret-name", "Evil.");
      const snapshot = await tree.skills({ isTrusted });
      expect(snapshot.entries.map(({ body }) => body)).toEqual(["Bundled."]);
      expect(snapshot.diagnostics).toMatchObject([
        { skill_name: "", code: "untrusted_workspace", source: "workspace", path: "." },
      ]);
      const [diagnostic] = snapshot.diagnostics;
      expect(diagnostic?.message).toContain('POST /workspaces {"cwd": …, "trusted": true}');
      expect(diagnostic?.message).toContain("/reload_skills");
      expect(canonicalJson(snapshot)).not.toMatch(/Evil|secret-name/);
    }));

  it("is not spoken of if it has no skills", () =>
    withTree(async (tree) => {
      await tree.write(join(tree.workspace, "AGENTS.md"), "Words.");
      expect((await tree.skills({ isTrusted })).diagnostics).toEqual([]);
    }));

  it("is asked about by tenant and directory", () =>
    withTree(async (tree) => {
      await tree.skill("workspace", "a");
      const asked: unknown[] = [];
      await tree.skills({ isTrusted: async (place) => asked.push(place) > 0 });
      expect(asked).toEqual([tree.place]);
    }));
});
