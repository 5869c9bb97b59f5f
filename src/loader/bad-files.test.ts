import { once } from "node:events";
import { mkdir, open, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  SKILL_FILE_BYTES_MAX,
  SKILL_ROOT_ENTRIES_MAX,
  SKILLS_BYTES_MAX,
  SKILLS_READ_BYTES_MAX,
} from "../core/limits.ts";
import { codes, names } from "../core/skill/skill.fixture.ts";
import type { SkillSnapshot } from "../core/skill/skill.ts";
import { listedAs, makePipe, type Tree, withTree } from "./tree.fixture.ts";

/** Each diagnostic as `path: code: message`. */
const told = ({ diagnostics }: SkillSnapshot) => {
  return diagnostics.map(({ path, code, message }) => `${path}: ${code}: ${message}`);
};

async function sparse(path: string, bytes: number): Promise<void> {
  const handle = await open(path, "w");
  await handle.truncate(bytes);
  await handle.close();
}

describe("what stands in the place of SKILL.md", () => {
  it.each<[string, string, (tree: Tree, file: string) => Promise<unknown>]>([
    ["a directory", "not a regular file", (_, file) => mkdir(file)],
    ["a pipe that nobody writes to", "not a regular file", async (_, file) => makePipe(file)],
    ["a device", "leads outside of its root", (_, file) => symlink("/dev/zero", file)],
    ["a link to nowhere", "link leads nowhere", (_, file) => symlink("none", file)],
    ["a link to itself", "links lead in a circle", (_, file) => symlink("SKILL.md", file)],
    [
      "a link that leads outside",
      "leads outside of its root",
      async (tree, file) => {
        await symlink(await tree.write(join(tree.root, "secret"), "SECRET"), file);
      },
    ],
    [
      "a link into what the kernel shows",
      "leads outside of its root",
      (_, file) => symlink("/proc/self/environ", file),
    ],
    ["bytes that are no text", "not UTF-8", (tree, file) => tree.write(file, Buffer.from([0xff]))],
    ["UTF-16", "not UTF-8", (tree, file) => tree.write(file, Buffer.from("\ufeffhi", "utf16le"))],
  ])("is unreadable if it is %s", (_, reason, make) =>
    withTree(async (tree) => {
      await tree.skill("user", "good", "Good.");
      await mkdir(tree.at("user", "bad"));
      await make(tree, tree.at("user", "bad", "SKILL.md"));
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["good (user)"]);
      const [line, ...others] = told(snapshot);
      expect(others).toEqual([]);
      expect(line).toContain("bad/SKILL.md: unreadable: SKILL.md cannot be used: ");
      expect(line).toContain(reason);
      expect(JSON.stringify(snapshot)).not.toContain("SECRET");
    }),
  );

  it("may be a link to another file of the same root", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "Shared.");
      await mkdir(tree.at("user", "b"));
      await symlink("../a/SKILL.md", tree.at("user", "b", "SKILL.md"));
      expect((await tree.skills()).entries).toMatchObject([
        { body: "Shared." },
        { body: "Shared." },
      ]);
    }));
});

describe("a socket in the place of SKILL.md", () => {
  it("is seen before anybody tries to open it", () =>
    withTree(async (tree) => {
      await mkdir(tree.at("user", "bad"), { recursive: true });
      const server = createServer().listen(tree.at("user", "bad", "SKILL.md"));
      await once(server, "listening");
      const lines = told(await tree.skills());
      server.close();
      expect(lines[0]).toContain("bad/SKILL.md: unreadable: ");
      expect(lines[0]).toContain("it is not a regular file");
    }));
});

describe("a link in the place of a skill's directory", () => {
  it("is followed inside of its root", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "Shared.");
      await symlink("a", tree.at("user", "b"));
      expect(names(await tree.skills())).toEqual(["a (user)", "b (user)"]);
    }));

  it("is not followed outside, in circles or to nowhere, and hides what is weaker", () =>
    withTree(async (tree) => {
      const outside = await tree.write(join(tree.root, "outside", "SKILL.md"), "SECRET");
      for (const name of ["out", "loop", "none", "good"])
        await tree.skill("bundled", name, "Good.");
      await mkdir(tree.at("user"), { recursive: true });
      await symlink(join(outside, ".."), tree.at("user", "out"));
      await symlink("loop-2", tree.at("user", "loop"));
      await symlink("loop", tree.at("user", "loop-2"));
      await symlink("nowhere", tree.at("user", "none"));
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["good (bundled)"]);
      expect(codes(snapshot).filter((code) => code.endsWith("unreadable"))).toEqual([
        "loop: unreadable",
        "loop-2: unreadable",
        "none: unreadable",
        "out: unreadable",
      ]);
      expect(JSON.stringify(snapshot)).not.toContain("SECRET");
    }));

  it("may lead back to the root itself, where no skill is", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a");
      await symlink(".", tree.at("user", "self"));
      expect(codes(await tree.skills())).toEqual(["self: missing_skill_md"]);
    }));

  it("is nothing if it leads to a file, and so is any other file", () =>
    withTree(async (tree) => {
      await tree.write(tree.at("user", "README.md"), "");
      await symlink("README.md", tree.at("user", "link"));
      makePipe(tree.at("user", "pipe"));
      expect(await tree.skills()).toEqual({ entries: [], diagnostics: [] });
    }));
});

describe("a link in the place of a root", () => {
  it("is the owner's own business for the user's", () =>
    withTree(async (tree) => {
      await tree.write(join(tree.root, "dotfiles", "a", "SKILL.md"), "A.");
      await mkdir(tree.userFolder, { recursive: true });
      await symlink(join(tree.root, "dotfiles"), tree.at("user"));
      expect(names(await tree.skills())).toEqual(["a (user)"]);
    }));

  it("is not followed out of the workspace for the workspace's", () =>
    withTree(async (tree) => {
      await tree.write(join(tree.root, "elsewhere", "skills", "a", "SKILL.md"), "A.");
      await symlink(join(tree.root, "elsewhere"), join(tree.workspace, ".fermata"));
      const snapshot = await tree.skills();
      expect(snapshot.entries).toEqual([]);
      expect(told(snapshot)[0]).toMatch(/^\.: unreadable: .*outside of the workspace/);
    }));
});

describe("the text of a SKILL.md", () => {
  it("may begin with a byte order mark and have the line ends of other systems", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "\ufeff---\r\nsummary: Hi.\r\n---\r\nOne.\r\nTwo.\r\n");
      await tree.skill("user", "b", "---\rsummary: Hi.\r---\rOne.\rTwo.\r");
      const snapshot = await tree.skills();
      expect(snapshot.diagnostics).toEqual([]);
      for (const entry of snapshot.entries) {
        expect(entry).toMatchObject({ summary: "Hi.", body: "One.\nTwo." });
      }
      expect(snapshot.entries).toHaveLength(2);
    }));

  it("has no NUL; the file is named", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "One.\0");
      expect(told(await tree.skills())).toEqual([
        "a/SKILL.md: malformed_frontmatter: SKILL.md cannot be used: it has a NUL character.",
      ]);
    }));
});

/** Skills that are each as large as they may be; their names. */
async function fill(tree: Tree, count: number): Promise<readonly string[]> {
  const body = "x".repeat(SKILL_FILE_BYTES_MAX);
  const all = Array.from({ length: count }, (_, at) => `s${1_000 + at}`);
  for (const name of all) await tree.skill("user", name, body);
  return all;
}

describe("P10: sizes", () => {
  it("of one file end at the limit", () =>
    withTree(async (tree) => {
      await tree.skill("user", "full", "x".repeat(SKILL_FILE_BYTES_MAX));
      await tree.skill("user", "over", "x".repeat(SKILL_FILE_BYTES_MAX + 1));
      const snapshot = await tree.skills();
      expect(names(snapshot)).toEqual(["full (user)"]);
      expect(codes(snapshot)).toEqual(["over: too_large"]);
    }));

  it("of 100 MB cost nothing, because nobody reads them", () =>
    withTree(async (tree) => {
      await tree.skill("user", "huge");
      await sparse(tree.at("user", "huge", "SKILL.md"), 100 * 1_000 * 1_000);
      const before = process.memoryUsage().arrayBuffers;
      const snapshot = await tree.skills();
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
      expect(told(snapshot)[0]).toContain("huge/SKILL.md: too_large: ");
      expect(told(snapshot)[0]).toContain("100000000 bytes");
    }));

  it("of all skills together end at the limit, in the order of names", () =>
    withTree(async (tree) => {
      const large = await fill(tree, SKILLS_BYTES_MAX / SKILL_FILE_BYTES_MAX + 2);
      await tree.skill("user", "t", "Small.");
      const snapshot = await tree.skills();
      const kept = snapshot.entries.map((entry) => entry.skill_name);
      const left = snapshot.diagnostics.map((each) => each.skill_name);
      expect(kept.at(-1)).toBe("t");
      expect([...kept.slice(0, -1), ...left]).toEqual(large);
      expect(new Set(snapshot.diagnostics.map(({ code }) => code))).toEqual(new Set(["too_large"]));
    }));

  it("of all files together end at a limit, after which none is read", () =>
    withTree(async (tree) => {
      await fill(tree, SKILLS_READ_BYTES_MAX / SKILL_FILE_BYTES_MAX);
      await tree.skill("user", "t", "Small.");
      const last = told(await tree.skills()).at(-1);
      const words = `all files together have at most ${SKILLS_READ_BYTES_MAX} bytes.`;
      expect(last).toBe(`t/SKILL.md: too_large: SKILL.md cannot be used: ${words}`);
    }));

  it("of all files together count within one batch of readings, too", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a", "x".repeat(SKILL_FILE_BYTES_MAX / 2));
      await tree.skill("user", "b", "Small.");
      await fill(tree, SKILLS_READ_BYTES_MAX / SKILL_FILE_BYTES_MAX);
      const [before, last] = told(await tree.skills()).slice(-2);
      expect(before).toContain("too_large: It does not fit: all skills together");
      expect(last).toContain("too_large: SKILL.md cannot be used: all files together");
    }));

  it("of a root end at the limit: one with more names is no place for skills", () =>
    withTree(async (tree) => {
      await tree.skill("user", "a");
      const listing = listedAs(([child]) => {
        return child === undefined ? [] : Array(SKILL_ROOT_ENTRIES_MAX + 1).fill(child);
      });
      const snapshot = await tree.skills({ listing });
      expect(snapshot.entries).toEqual([]);
      expect(told(snapshot)[0]).toMatch(/^\.: unreadable: .*more than 10000 names/);
    }));

  it(
    "of 3,000 skills are loaded in good time",
    () =>
      withTree(async (tree) => {
        const text = "---\nsummary: One of many.\n---\n# Title\n\nBody.\n";
        const all = Array.from({ length: 3_000 }, (_, at) => `skill-${10_000 + at}`);
        await Promise.all(all.map((name) => tree.skill("user", name, text)));
        const startedAtMs = performance.now();
        const snapshot = await tree.skills();
        const tookMs = performance.now() - startedAtMs;
        expect(snapshot.entries.map((entry) => entry.skill_name)).toEqual(all);
        expect(tookMs).toBeLessThan(8_000);
      }),
    30_000,
  );
});
