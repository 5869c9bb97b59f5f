import {
  chmod,
  chown,
  link,
  mkdir,
  readFile,
  readlink,
  rename,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FILE_WRITE_BYTES_MAX } from "../../core/limits.ts";
import { readTextFile, replaceFile, writeTextFile } from "./files.ts";
import { Directory } from "./location.ts";
import { codeOf, given, makePipe, type World, whyNot, withWorld } from "./world.fixture.ts";

const write = (world: World, path: string, content: string) =>
  writeTextFile({ workspace: world.workspace, path, content }, world.audit);

const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

describe("writing a file", () => {
  it("makes it, or replaces what it held, and leaves nothing beside it", () =>
    withWorld(async (world) => {
      given(await write(world, world.in("a.txt"), "one, but longer"));
      given(await write(world, "a.txt", "zwei ü"));
      expect(await readFile(world.in("a.txt"), "utf8")).toBe("zwei ü");
      given(await write(world, "empty", ""));
      expect(await world.names()).toEqual([
        "outside",
        "workspace",
        "workspace/a.txt",
        "workspace/empty",
      ]);
    }));

  it("is recorded before it happens, by the file that is really written", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "old");
      await symlink("a.txt", world.in("link"));
      let before = "";
      world.meanwhile = async () => {
        before = await readFile(world.in("a.txt"), "utf8");
      };
      given(await write(world, "link", "ü"));
      expect(world.acts).toEqual([["fs.write", { path: "a.txt", bytes: 2 }]]);
      expect(before).toBe("old");
    }));

  it("does not happen if it cannot be recorded", () =>
    withWorld(async (world) => {
      world.meanwhile = () => Promise.reject(new Error("disk full"));
      const result = await write(world, "new/a.txt", "text");
      expect(whyNot(result)).toMatch(/^file_unavailable: .*not be recorded/);
      expect(await world.names()).toEqual(["outside", "workspace"]);
    }));

  it("makes the directories on the way, inside the workspace", () =>
    withWorld(async (world) => {
      given(await write(world, "src/new/a.txt", "text"));
      given(await write(world, "src/new/b.txt", "text"));
      expect(await readFile(world.in("src/new/a.txt"), "utf8")).toBe("text");
      await writeFile(world.in("file"), "");
      expect(whyNot(await write(world, "file/below/a.txt", ""))).toMatch(/not a directory/);
    }));

  it("keeps the mode of a file, but not that it runs as its owner", () =>
    withWorld(async (world) => {
      await writeFile(world.in("run.sh"), "");
      for (const [before, after] of [
        [0o755, "755"],
        [0o600, "600"],
        [0o4750, "750"],
      ] as const) {
        await chmod(world.in("run.sh"), before);
        given(await write(world, "run.sh", "#!/bin/sh\n"));
        expect(await modeOf(world.in("run.sh"))).toBe(after);
      }
    }));

  it("keeps the owner of a file as far as the system lets it", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "");
      // Only root can set the stage for the first half; for others the second half is all.
      const isRoot = process.getuid?.() === 0;
      if (isRoot) await chown(world.in("a.txt"), 12_345, 54_321);
      const { uid, gid } = await stat(world.in("a.txt"));
      given(await write(world, "a.txt", "text"));
      expect(await stat(world.in("a.txt"))).toMatchObject({ uid, gid });
    }));

  it("makes new files as an editor does: readable by all, unless the umask says no", () =>
    withWorld(async (world) => {
      given(await write(world, "new.txt", ""));
      const expected = 0o644 & ~process.umask();
      expect(await modeOf(world.in("new.txt"))).toBe(expected.toString(8));
    }));

  it("leaves a read-only file alone", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "old", { mode: 0o444 });
      expect(whyNot(await write(world, "a.txt", "new"))).toMatch(/read-only/);
      expect(await readFile(world.in("a.txt"), "utf8")).toBe("old");
    }));
});

describe("writing through a link", () => {
  it("replaces the target inside the workspace, and keeps the link", () =>
    withWorld(async (world) => {
      await mkdir(world.in("src"));
      await writeFile(world.in("src/a.txt"), "old");
      await symlink("src/a.txt", world.in("link"));
      await symlink("src/new.txt", world.in("dangling"));
      given(await write(world, "link", "new"));
      given(await write(world, "dangling", "made"));
      expect(await readFile(world.in("src/a.txt"), "utf8")).toBe("new");
      expect(await readFile(world.in("src/new.txt"), "utf8")).toBe("made");
      expect(await readlink(world.in("link"))).toBe("src/a.txt");
    }));

  it("P8: never reaches a file outside", () =>
    withWorld(async (world) => {
      await writeFile(world.out("a.txt"), "theirs");
      await symlink(world.out("a.txt"), world.in("link"));
      await symlink(world.out("new.txt"), world.in("dangling"));
      await symlink(world.outside, world.in("dir"));
      const paths = ["link", "dangling", "dir/a.txt", "dir/new.txt", "dir/new/a.txt"];
      for (const path of [...paths, "../outside/a.txt", "/proc/self/comm", "/dev/null"]) {
        expect([path, codeOf(await write(world, path, "x"))]).toEqual([
          path,
          "path_outside_workspace",
        ]);
      }
      expect(await readFile(world.out("a.txt"), "utf8")).toBe("theirs");
      expect(world.acts).toEqual([]);
      expect((await world.names()).filter((name) => name.startsWith("outside"))).toEqual([
        "outside",
        "outside/a.txt",
      ]);
    }));

  it("P8: leaves the other names of a hard link as they were", () =>
    withWorld(async (world) => {
      await writeFile(world.out("a.txt"), "theirs");
      await link(world.out("a.txt"), world.in("a.txt"));
      given(await write(world, "a.txt", "mine"));
      expect(await readFile(world.out("a.txt"), "utf8")).toBe("theirs");
    }));
});

describe("P8: a workspace that changes while the act is recorded", () => {
  it("cannot lead a write outside by a directory that became a link", () =>
    withWorld(async (world) => {
      await mkdir(world.in("src"));
      await writeFile(world.out("a.txt"), "theirs");
      world.meanwhile = async () => {
        await rename(world.in("src"), world.in("moved"));
        await symlink(world.outside, world.in("src"));
      };
      await write(world, "src/a.txt", "mine");
      expect(await readFile(world.out("a.txt"), "utf8")).toBe("theirs");
    }));

  it("cannot lead a write outside by a directory that was moved there", () =>
    withWorld(async (world) => {
      await mkdir(world.in("src"));
      world.meanwhile = () => rename(world.in("src"), world.out("src"));
      expect(codeOf(await write(world, "src/a.txt", "mine"))).not.toBe("ok");
      expect(await world.names()).toEqual(["outside", "outside/src", "workspace"]);
    }));

  it("cannot lead a write outside by a link where a directory was to be made", () =>
    withWorld(async (world) => {
      world.meanwhile = () => symlink(world.outside, world.in("new"));
      expect(codeOf(await write(world, "new/a.txt", "mine"))).not.toBe("ok");
      expect(await world.names()).toEqual(["outside", "workspace", "workspace/new"]);
    }));

  it("cannot make it replace anything but an ordinary file", () =>
    withWorld(async (world) => {
      world.meanwhile = async () => makePipe(world.in("a.txt"));
      expect(whyNot(await write(world, "a.txt", "mine"))).toMatch(/not an ordinary file/);
      world.meanwhile = async () => void (await mkdir(world.in("b.txt")));
      expect(whyNot(await write(world, "b.txt", "mine"))).toMatch(/is a directory/);
    }));
});

describe("a write that fails", () => {
  it("says why, and leaves the old file and nothing beside it", () =>
    withWorld(async (world) => {
      await mkdir(world.in("dir"));
      makePipe(world.in("pipe"));
      const before = await world.names();
      expect(whyNot(await write(world, "dir", ""))).toMatch(/is a directory/);
      expect(whyNot(await write(world, "pipe", ""))).toMatch(/not an ordinary file/);
      expect(whyNot(await write(world, "new/", ""))).toMatch(/names a directory/);
      expect(whyNot(await write(world, "n".repeat(256), ""))).toMatch(/name is too long/);
      const large = "x".repeat(FILE_WRITE_BYTES_MAX + 1);
      expect(codeOf(await write(world, "large", large))).toBe("file_too_large");
      expect(await world.names()).toEqual(before);
    }));

  it("removes what it had written already", () =>
    withWorld(async (world) => {
      const directory = await Directory.open(world.scope, world.workspace);
      const nowhere = join("none", "a.txt");
      await expect(replaceFile(directory, nowhere, Buffer.from("x"))).rejects.toThrow(/ENOENT/);
      await directory.close();
      expect(await world.names()).toEqual(["outside", "workspace"]);
    }));
});

describe("writes at the same time", () => {
  it("end with one of the contents whole, and a reader never sees less", () =>
    withWorld(async (world) => {
      const contents = Array.from({ length: 12 }, (_, index) => `${index}`.repeat(300_000));
      given(await write(world, "a.txt", contents[0] ?? ""));
      const order = { workspace: world.workspace, path: "a.txt", line: null, limit: null };
      const acts = contents.flatMap((content) => [
        write(world, "a.txt", content).then(() => content),
        readTextFile(order, world.audit).then((result) => given(result).content),
      ]);
      for (const seen of await Promise.all(acts)) expect(contents).toContain(seen);
      expect(contents).toContain(await readFile(world.in("a.txt"), "utf8"));
      expect(await world.names()).toEqual(["outside", "workspace", "workspace/a.txt"]);
    }));

  it("may make the same directories", () =>
    withWorld(async (world) => {
      const paths = Array.from({ length: 8 }, (_, index) => `new/deep/${index}.txt`);
      for (const result of await Promise.all(paths.map((path) => write(world, path, path)))) {
        expect(codeOf(result)).toBe("ok");
      }
    }));
});
