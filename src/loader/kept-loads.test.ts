import { chmod, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { describe, expect, it, vi } from "vitest";
import { LOAD_SETTLED_MS_MIN } from "../core/limits.ts";
import type { Persona } from "../core/persona.ts";
import type { SkillSnapshot } from "../core/skill/skill.ts";
import { LoaderMemory } from "./kept-loads.ts";
import { listFolder } from "./skills.ts";
import { type Tree, withTree } from "./tree.fixture.ts";

/** A loader with a memory, in a machine whose files were all changed long ago. */
class Settled {
  readonly tree: Tree;
  readonly kept = new LoaderMemory();
  /** How often a root was listed, which only a load from the disk does. */
  listings = 0;

  constructor(tree: Tree) {
    this.tree = tree;
  }

  skills(): Promise<SkillSnapshot> {
    const listing = (folder: string) => {
      this.listings += 1;
      return listFolder(folder);
    };
    return this.tree.skills({ kept: this.kept, listing });
  }

  persona(): Promise<Persona> {
    return this.tree.persona({ kept: this.kept });
  }

  async bodies(): Promise<readonly string[]> {
    return (await this.skills()).entries.map(({ body }) => body);
  }

  /** As if so long had passed since all that was done to the files. */
  async later<Value>(act: () => Promise<Value>): Promise<Value> {
    const nowMs = Date.now() + LOAD_SETTLED_MS_MIN + 1_000;
    const clock = vi.spyOn(Date, "now").mockReturnValue(nowMs);
    return act().finally(() => clock.mockRestore());
  }
}

const withSettled = (run: (settled: Settled) => Promise<void>) =>
  withTree(async (tree) => {
    await tree.skill("bundled", "one", "first");
    await tree.skill("user", "two", "second");
    await tree.skill("workspace", "three", "third");
    await tree.write(`${tree.workspace}/AGENTS.md`, "be kind");
    await run(new Settled(tree));
  });

/** What can happen to the skills of a workspace, and what a session has of them then. */
const CHANGES: Readonly<
  Record<string, readonly [(tree: Tree) => Promise<unknown>, readonly string[]]>
> = {
  "edited in place": [
    (tree) => writeFile(tree.at("workspace", "three", "SKILL.md"), "edited"),
    ["first", "edited", "second"],
  ],
  "edited in place with its time put back": [
    async (tree) => {
      const file = tree.at("workspace", "three", "SKILL.md");
      await writeFile(file, "THIRD");
      await utimes(file, 1, 1);
    },
    ["first", "THIRD", "second"],
  ],
  "replaced by another file": [
    async (tree) => {
      const next = await tree.write(`${tree.root}/next`, "third again");
      await rename(next, tree.at("workspace", "three", "SKILL.md"));
    },
    ["first", "third again", "second"],
  ],
  "moved out, with a link in its place": [
    async (tree) => {
      await rename(tree.at("workspace", "three"), `${tree.root}/outside`);
      await symlink(`${tree.root}/outside`, tree.at("workspace", "three"));
    },
    ["first", "second"],
  ],
  "in a folder that became a link out of the workspace": [
    async (tree) => {
      await rename(`${tree.workspace}/.fermata`, `${tree.root}/outside`);
      await symlink(`${tree.root}/outside`, `${tree.workspace}/.fermata`);
    },
    ["first", "second"],
  ],
  removed: [(tree) => rm(tree.at("workspace", "three"), { recursive: true }), ["first", "second"]],
  "joined by another": [
    (tree) => tree.skill("workspace", "zero", "fourth"),
    ["first", "third", "second", "fourth"],
  ],
};

describe("P7: skills that were loaded before", () => {
  it("are not read again while their files stay as they are", () =>
    withSettled(async (settled) => {
      const [first, again] = await settled.later(async () => [
        await settled.skills(),
        await settled.skills(),
      ]);
      expect(settled.listings).toBe(3);
      expect(again).toBe(first);
    }));

  for (const [what, [change, bodies]] of Object.entries(CHANGES)) {
    it(`are what the files say, after one was ${what}`, () =>
      withSettled(async (settled) => {
        await settled.later(() => settled.skills());
        await change(settled.tree);
        expect(await settled.later(() => settled.bodies())).toEqual(bodies);
        expect(await settled.tree.skills()).toEqual(await settled.skills());
      }));
  }

  it("are read again if a link above them leads somewhere else, or nowhere", () =>
    withSettled(async (settled) => {
      const { tree } = settled;
      const folder = `${tree.userFolder}/skills`;
      await rm(folder, { recursive: true });
      for (const name of ["old", "new"])
        await tree.write(`${tree.root}/${name}/two/SKILL.md`, name);
      const leadTo = async (name: string) => {
        await rm(folder, { force: true });
        await symlink(`${tree.root}/${name}`, folder);
        return settled.later(() => settled.bodies());
      };
      expect(await leadTo("old")).toEqual(["first", "third", "old"]);
      await settled.later(() => settled.skills());
      expect(settled.listings).toBe(3);
      expect(await leadTo("new")).toEqual(["first", "third", "new"]);
      expect(await leadTo("nowhere")).toEqual(["first", "third"]);
    }));

  it("are read again as long as a change is so new that the next might not show", () =>
    withSettled(async (settled) => {
      await settled.skills();
      await settled.skills();
      expect(settled.listings).toBe(6);
      await settled.later(() => settled.skills());
      await settled.later(() => settled.skills());
      expect(settled.listings).toBe(9);
    }));

  it("are read again if our clock was put back behind their last change", () =>
    withSettled(async (settled) => {
      const clock = vi.spyOn(Date, "now").mockReturnValue(1_000);
      await settled.skills();
      await settled.skills().finally(() => clock.mockRestore());
      expect(settled.listings).toBe(6);
    }));

  it("P6: are tried again if one could not be read, which may be over without a trace", () =>
    withSettled(async (settled) => {
      const file = settled.tree.at("workspace", "three", "SKILL.md");
      await rm(file);
      await symlink(file, file);
      await settled.later(() => settled.skills());
      await settled.later(() => settled.skills());
      expect(settled.listings).toBe(6);
    }));

  it("can be used while their programs are somewhere on PATH, wherever that is", () =>
    withSettled(async ({ tree, kept }) => {
      await tree.skill("user", "two", "---\neligibility: {binaries: [tool]}\n---\n");
      const [near, far] = [`${tree.root}/near`, `${tree.root}/far`];
      await tree.write(`${near}/tool`, "");
      await tree.write(`${far}/text`, "");
      await chmod(`${near}/tool`, 0o755);
      const count = async (...path: readonly string[]) => {
        const env = { PATH: path.join(":") };
        return (await tree.skills({ kept, env })).entries.length;
      };
      expect(await count(near, far)).toBe(3);
      await rename(`${near}/tool`, `${far}/tool`);
      expect(await count(near, far)).toBe(3);
      expect(await count(near)).toBe(2);
      await chmod(`${far}/tool`, 0o644);
      expect(await count(near, far)).toBe(2);
    }));

  it("are read again under other rights, and when it is another user's right to read them", () =>
    withSettled(async (settled) => {
      const { tree, kept } = settled;
      await settled.later(() => settled.skills());
      await chmod(tree.at("workspace", "three", "SKILL.md"), 0o640);
      await settled.later(() => settled.skills());
      expect(settled.listings).toBe(6);
      let asked = 0;
      const fileFor = async () => {
        asked += 1;
        return null;
      };
      const rights = { isClosed: () => false, fileFor };
      const others = new LoaderMemory();
      await settled.later(() => tree.skills({ kept: others, rights }));
      await settled.later(() => tree.skills({ kept: others, rights }));
      expect(asked).toBe(2);
      const untrusted = { kept, isTrusted: async () => false };
      expect((await tree.skills(untrusted)).entries).toHaveLength(2);
    }));

  it("are shared by requests that come together, and each gets what was there after it came", () =>
    withSettled(async (settled) => {
      const file = settled.tree.at("workspace", "three", "SKILL.md");
      const early = settled.bodies();
      await writeFile(file, "new");
      const late = await Promise.all(Array.from({ length: 50 }, () => settled.bodies()));
      expect(late).toEqual(Array(50).fill(["first", "new", "second"]));
      await early;
      expect(settled.listings).toBe(6);
    }));
});

describe("P7: a persona that was loaded before", () => {
  it("is what the files say, after each of them came, changed or went", () =>
    withSettled(async (settled) => {
      const { workspace, userFolder } = settled.tree;
      const texts = async () => (await settled.later(() => settled.persona())).files;
      const first = await settled.later(() => settled.persona());
      expect(await settled.later(() => settled.persona())).toBe(first);
      await settled.tree.write(`${userFolder}/SOUL.md`, "a soul");
      expect((await texts()).map(({ text }) => text)).toEqual(["be kind", "a soul"]);
      await settled.tree.write(`${workspace}/.fermata/AGENTS.md`, "be kinder");
      expect((await texts()).map(({ text }) => text)).toEqual(["be kinder", "a soul"]);
      await rm(`${userFolder}/SOUL.md`);
      expect((await texts()).map(({ text }) => text)).toEqual(["be kinder"]);
    }));
});

describe("P7: a hundred loads beside edits", () => {
  it("never give less than what was written before they began", () =>
    withSettled(async (settled) => {
      const file = settled.tree.at("workspace", "three", "SKILL.md");
      const untilOver = new AbortController();
      let written = 0;
      const edit = async () => {
        for (; !untilOver.signal.aborted; written += 1) {
          await writeFile(`${file}.next`, String(written + 1));
          await rename(`${file}.next`, file);
        }
      };
      const load = async () => {
        const before = written;
        const three = (await settled.skills()).entries.find((one) => one.skill_name === "three");
        // One that is replaced at the moment when it is opened is left out, with a diagnostic.
        if (three !== undefined) expect(Number(three.body)).toBeGreaterThanOrEqual(before);
      };
      await writeFile(file, "0");
      const editing = edit();
      try {
        await settled.later(async () => {
          for (let n = 0; n < 10; n += 1) await Promise.all(Array.from({ length: 10 }, load));
        });
      } finally {
        untilOver.abort();
        await editing;
      }
      expect(await settled.later(() => settled.bodies())).toContain(String(written));
    }));
});
