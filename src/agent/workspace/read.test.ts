import { link, mkdir, open, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { FILE_ANSWER_BYTES_MAX, FILE_READ_BYTES_MAX } from "../../core/limits.ts";
import { readTextFile } from "./files.ts";
import { openInside, pathFoundAgain } from "./location.ts";
import { codeOf, given, makePipe, type World, whyNot, withWorld } from "./world.fixture.ts";

const read = (
  world: World,
  path: string,
  line: number | null = null,
  limit: number | null = null,
) => readTextFile({ workspace: world.workspace, path, line, limit }, world.audit);

describe("reading a file", () => {
  it("gives its text, or the lines that were asked for", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "one\ntwo\nthree\n");
      expect(given(await read(world, world.in("a.txt")))).toEqual({
        content: "one\ntwo\nthree\n",
      });
      expect(given(await read(world, "a.txt", 2, 1))).toEqual({ content: "two\n" });
    }));

  it("is recorded before it happens", () =>
    withWorld(async (world) => {
      await mkdir(world.in("src"));
      await writeFile(world.in("src/a.txt"), "text");
      await symlink("src/a.txt", world.in("link"));
      await read(world, world.in("link"));
      expect(world.acts).toEqual([["fs.read", { path: "src/a.txt", bytes: 4 }]]);
    }));

  it("does not happen if it cannot be recorded", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "text");
      world.meanwhile = () => Promise.reject(new Error("disk full"));
      expect(whyNot(await read(world, "a.txt"))).toMatch(/^file_unavailable: .*not be recorded/);
    }));

  it("sees a hard link as the file inside that it is", () =>
    withWorld(async (world) => {
      await writeFile(world.out("store"), "package");
      await link(world.out("store"), world.in("module"));
      expect(given(await read(world, "module")).content).toBe("package");
    }));
});

describe("P8: what is no ordinary file inside the workspace", () => {
  it("is refused without a record, and without being opened", () =>
    withWorld(async (world) => {
      await writeFile(world.out("secret"), "secret");
      await symlink(world.out("secret"), world.in("file-link"));
      await symlink(world.outside, world.in("dir-link"));
      for (const path of ["file-link", "dir-link/secret", world.out("secret"), "/etc/passwd"]) {
        expect(codeOf(await read(world, path))).toBe("path_outside_workspace");
      }
      expect(whyNot(await read(world, "."))).toMatch(/is a directory/);
      expect(whyNot(await read(world, "none"))).toMatch(/no such file/);
      expect(world.acts).toEqual([]);
    }));

  it("cannot make us wait: a pipe, a socket, a device", () =>
    withWorld(async (world) => {
      makePipe(world.in("pipe"));
      await symlink("/dev/zero", world.in("zero"));
      const server = createServer().listen(world.in("socket"));
      await new Promise((listening) => server.once("listening", listening));
      expect(whyNot(await read(world, "pipe"))).toMatch(/not an ordinary file/);
      expect(whyNot(await read(world, "socket"))).toMatch(/not an ordinary file/);
      expect(codeOf(await read(world, "zero"))).toBe("path_outside_workspace");
      await new Promise((closed) => server.close(closed));
    }));

  it("is found out by its handle if a directory became a link after the path was followed", () =>
    withWorld(async (world) => {
      await writeFile(world.out("a.txt"), "secret");
      await symlink(world.outside, world.in("src"));
      const opening = openInside(world.scope, world.in("src/a.txt"), 0);
      await expect(opening).rejects.toMatchObject({ code: "path_outside_workspace" });
      await symlink(world.out("a.txt"), world.in("b.txt"));
      await expect(openInside(world.scope, world.in("b.txt"), 0)).rejects.toThrow(/ELOOP/);
    }));

  it("does not wait on a pipe that took the file's place", () =>
    withWorld(async (world) => {
      makePipe(world.in("pipe"));
      const handle = await openInside(world.scope, world.in("pipe"), 0);
      expect((await handle.stat()).isFile()).toBe(false);
      await handle.close();
    }));

  it("cannot slip in while the act is recorded: what was opened is what is read", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "mine");
      await writeFile(world.out("secret"), "secret");
      world.meanwhile = async () => {
        await rm(world.in("a.txt"));
        await symlink(world.out("secret"), world.in("a.txt"));
      };
      expect(given(await read(world, "a.txt")).content).toBe("mine");
    }));
});

describe("a system that does not tell the path of a handle", () => {
  it("is asked by the name again, which must lead to the same file", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.txt"), "");
      const handle = await open(world.in("a.txt"));
      expect(await pathFoundAgain(handle, world.in("a.txt"))).toBe(world.in("a.txt"));
      await rename(world.in("a.txt"), world.in("b.txt"));
      await writeFile(world.in("a.txt"), "");
      const again = pathFoundAgain(handle, world.in("a.txt"));
      await expect(again).rejects.toMatchObject({ details: { reason: /replaced/ } });
      await handle.close();
    }));
});

describe("P10: a large file", () => {
  it("is refused by its size before it is read", () =>
    withWorld(async (world) => {
      await writeFile(world.in("huge"), "");
      await truncate(world.in("huge"), FILE_READ_BYTES_MAX + 1);
      const result = await read(world, "huge", 1, 1);
      expect(result).toMatchObject({
        refusal: {
          code: "file_too_large",
          details: { path: "huge", bytes: FILE_READ_BYTES_MAX + 1, limit: FILE_READ_BYTES_MAX },
        },
      });
      expect(world.acts).toEqual([]);
    }));

  it("gives its first lines, and as a whole the advice to ask for less", () =>
    withWorld(async (world) => {
      await writeFile(world.in("large"), "one\ntwo\nthree\n");
      await truncate(world.in("large"), FILE_READ_BYTES_MAX);
      expect(given(await read(world, "large", 2, 2)).content).toBe("two\nthree\n");
      expect(whyNot(await read(world, "large"))).toMatch(/^file_too_large: .*fewer lines/);
    }));

  it("is measured as the JSON that it becomes", () =>
    withWorld(async (world) => {
      await writeFile(world.in("nul"), Buffer.alloc(Math.ceil(FILE_ANSWER_BYTES_MAX / 6)));
      expect(codeOf(await read(world, "nul"))).toBe("file_too_large");
    }));
});
