import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { readTextFile, writeTextFile } from "./files.ts";
import { OwnFolders, openInside } from "./location.ts";
import { codeOf, given, type World, withWorld } from "./world.fixture.ts";

/** A workspace that contains the server's home and data, as a home directory does. */
async function withOwn(run: (world: World, own: OwnFolders) => Promise<void>): Promise<void> {
  await withWorld(async (world) => {
    await mkdir(world.in("home", "skills", "one"), { recursive: true });
    await mkdir(world.in("data", "tenants"), { recursive: true });
    await writeFile(world.in("home", "agents.json"), "SECRET");
    await writeFile(world.in("home", "skills", "one", "SKILL.md"), "a skill");
    await writeFile(world.in("data", "tenants", "other.db"), "SECRET");
    await writeFile(world.in("data-sheet.md"), "not theirs");
    await run(world, await OwnFolders.at([world.in("home"), world.in("data")], ["skills"]));
  });
}

function reading(world: World, own: OwnFolders) {
  return (path: string) => {
    const order = { workspace: world.workspace, path, line: null, limit: null, own };
    return readTextFile(order, world.audit);
  };
}

function writing(world: World, own: OwnFolders) {
  return (path: string) => {
    return writeTextFile({ workspace: world.workspace, path, content: "MINE", own }, world.audit);
  };
}

describe("P8: the server's own directories", () => {
  it("are closed to reading and writing, by whichever way", () =>
    withOwn(async (world, own) => {
      await symlink("data", world.in("link"));
      await symlink("data/tenants/other.db", world.in("direct"));
      await mkdir(world.in("src"));
      const [read, write] = [reading(world, own), writing(world, own)];
      const paths = [
        ...["data/tenants/other.db", "link/tenants/other.db", "direct", "home/agents.json"],
        ...["src/../data/tenants/other.db", world.in("data/tenants/other.db"), "data/none"],
        ...["data/none/at/all", "home/skills/../agents.json"],
      ];
      for (const path of paths) {
        expect([path, codeOf(await read(path))]).toEqual([path, "path_outside_workspace"]);
        expect([path, codeOf(await write(path))]).toEqual([path, "path_outside_workspace"]);
      }
      expect(await readFile(world.in("data/tenants/other.db"), "utf8")).toBe("SECRET");
      expect(world.acts).toEqual([]);
    }));

  it("are closed to who works in them, too", () =>
    withOwn(async (world, own) => {
      const order = { workspace: world.in("data"), path: "tenants/other.db", own };
      const read = await readTextFile({ ...order, line: null, limit: null }, world.audit);
      expect(codeOf(read)).toBe("path_outside_workspace");
    }));

  it("leave what is beside them as it is", () =>
    withOwn(async (world, own) => {
      expect(given(await reading(world, own)("data-sheet.md")).content).toBe("not theirs");
      expect(codeOf(await writing(world, own)("datas/a.md"))).toBe("ok");
    }));

  it("have skills in them, which are read and not written", () =>
    withOwn(async (world, own) => {
      const path = "home/skills/one/SKILL.md";
      expect(given(await reading(world, own)(path)).content).toBe("a skill");
      expect(codeOf(await writing(world, own)(path))).toBe("path_outside_workspace");
    }));

  it("are closed before they are there, so that nobody makes them in the server's place", () =>
    withWorld(async (world) => {
      await symlink(world.workspace, world.out("link"));
      const own = await OwnFolders.at([world.out("link", ".fermata")], []);
      const written = await writing(world, own)(".fermata/agents.json");
      expect(codeOf(written)).toBe("path_outside_workspace");
      expect(existsSync(world.in(".fermata"))).toBe(false);
    }));

  it("stay closed when a directory became a link to them after it was looked at", () =>
    withOwn(async (world, own) => {
      await symlink("data/tenants", world.in("src"));
      const reach = { root: world.workspace, isClosed: own.isUnreadable };
      const opening = openInside(reach, world.in("src/other.db"), 0);
      await expect(opening).rejects.toThrow("path_outside_workspace");
    }));
});

describe("a folder in them that is open to agents", () => {
  it("is neither closed nor unreadable, and what is around it still is", async () => {
    const own = await OwnFolders.at(["/nowhere/home"], ["skills"], ["/nowhere/home/scratch"]);
    for (const path of ["/nowhere/home/scratch", "/nowhere/home/scratch/a/b"]) {
      expect([path, own.isClosed(path), own.isUnreadable(path)]).toEqual([path, false, false]);
    }
    for (const path of ["/nowhere/home", "/nowhere/home/sessions", "/nowhere/home/scratch2"]) {
      expect([path, own.isClosed(path), own.isUnreadable(path)]).toEqual([path, true, true]);
    }
    expect(OwnFolders.of(own.paths).isClosed("/nowhere/home/scratch")).toBe(false);
    // Nothing else of the server's is to be put there.
    expect(own.isTouchedBy("/nowhere/home/scratch/web")).toBe(true);
  });
});

describe("a directory", () => {
  it("touches them if it is one, lies in one, or has one in it", async () => {
    const own = await OwnFolders.at(["/nowhere/home", "/nowhere/data"], ["skills"]);
    const touched = ["/", "/nowhere", "/nowhere/data", "/nowhere/data/x", "/nowhere/home/skills"];
    for (const path of touched) expect([path, own.isTouchedBy(path)]).toEqual([path, true]);
    const others = ["/nowhere/data2", "/nowhere/dat", "/elsewhere"];
    for (const path of others) expect([path, own.isTouchedBy(path)]).toEqual([path, false]);
    expect(OwnFolders.NONE.isTouchedBy("/")).toBe(false);
  });
});
