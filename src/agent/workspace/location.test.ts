import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { ok, type Result } from "../../core/result.ts";
import { answerFor } from "./errors.ts";
import { type Location, locate } from "./location.ts";
import { codeOf, given, type World, whyNot, withWorld } from "./world.fixture.ts";

const find = (world: World, path: string): Promise<Result<Location>> =>
  answerFor(path, async () => ok(await locate(world.workspace, path)));

describe("a path", () => {
  it("is followed to where it really leads", () =>
    withWorld(async (world) => {
      await mkdir(world.in("src"));
      await writeFile(world.in("src", "a.ts"), "");
      await symlink("src", world.in("link"));
      await symlink("link/a.ts", world.in("b.ts"));
      for (const path of [world.in("src/a.ts"), "src/a.ts", "./src//a.ts", "link/a.ts", "b.ts"]) {
        const place = given(await find(world, path));
        expect([place.real, place.name]).toEqual([world.in("src/a.ts"), "src/a.ts"]);
      }
    }));

  it("may not exist yet, as far as it begins inside", () =>
    withWorld(async (world) => {
      const place = given(await find(world, "new/./folder//a.ts"));
      expect([place.real, place.missing]).toEqual([world.workspace, ["new", "folder", "a.ts"]]);
    }));

  it("takes `..` from where a link has led, as the system does", () =>
    withWorld(async (world) => {
      await mkdir(world.in("deep", "er"), { recursive: true });
      await writeFile(world.in("deep", "a.ts"), "");
      await symlink("deep/er", world.in("link"));
      expect(given(await find(world, "link/../a.ts")).name).toBe("deep/a.ts");
      expect(whyNot(await find(world, "none/../link"))).toMatch(/does not exist/);
    }));

  it("may lead to a workspace that is itself reached through a link", () =>
    withWorld(async (world) => {
      const alias = `${world.root}/alias`;
      await symlink(world.workspace, alias);
      await writeFile(world.in("a.ts"), "");
      const search = (path: string) => locate(alias, path);
      expect((await search(`${alias}/a.ts`)).name).toBe("a.ts");
      expect((await search(world.in("a.ts"))).name).toBe("a.ts");
    }));
});

describe("P8: a path that leaves the workspace", () => {
  it("is refused alike, whether or not something is there", () =>
    withWorld(async (world) => {
      await writeFile(world.out("secret"), "");
      await mkdir(`${world.workspace}-2`);
      await writeFile(world.in("file"), "");
      await symlink(world.outside, world.in("dir"));
      await symlink("../outside/secret", world.in("there"));
      await symlink("../outside/none", world.in("nowhere"));
      await symlink("/proc/self/root", world.in("proc"));
      const paths = [
        ...["/", "/etc/passwd", "/none/at/all", "..", "../outside/secret", "../outside/none"],
        ...["../outside/secret/below", "there", "nowhere", "dir", "dir/secret", "dir/none"],
        ...["dir/../workspace-2", `${world.workspace}-2/a`, `proc${world.out("secret")}`],
        ...["/proc/self/environ", "/proc/self/cwd/none", "/proc/self/fd/0", "file/../../outside"],
      ];
      for (const path of paths) {
        expect([path, codeOf(await find(world, path))]).toEqual([path, "path_outside_workspace"]);
      }
    }));

  it("may come back: what counts is where it ends", () =>
    withWorld(async (world) => {
      await writeFile(world.in("a.ts"), "");
      await symlink(world.workspace, world.out("back"));
      await symlink("../outside", world.in("away"));
      expect(given(await find(world, "away/back/a.ts")).name).toBe("a.ts");
    }));

  it("is outside even if the workspace is `/`, where the kernel shows the server's secrets", () =>
    withWorld(async (world) => {
      const search = (path: string) =>
        answerFor(path, async () => ok((await locate("/", path)).real));
      expect(given(await search(world.workspace))).toBe(world.workspace);
      expect(codeOf(await search("/proc/self/environ"))).toBe("path_outside_workspace");
      expect(codeOf(await search("/sys/kernel"))).toBe("path_outside_workspace");
    }));
});

describe("P10: a path that is no path", () => {
  it("is refused with its reason, and shown only as far as somebody can read it", () =>
    withWorld(async (world) => {
      await symlink("ring-b", world.in("ring-a"));
      await symlink("ring-a", world.in("ring-b"));
      await writeFile(world.in("file"), "");
      expect(whyNot(await find(world, ""))).toMatch(/empty/);
      expect(whyNot(await find(world, "a\0b"))).toMatch(/NUL/);
      expect(whyNot(await find(world, "file/below"))).toMatch(/not a directory/);
      expect(whyNot(await find(world, "ring-a"))).toMatch(/too many links/);
      expect(whyNot(await find(world, "n".repeat(300)))).toMatch(/name is too long/);
      const long = await find(world, "a/".repeat(1_000_000));
      expect(whyNot(long)).toMatch(/path is too long/);
      expect(JSON.stringify(long).length).toBeLessThan(1_000);
    }));

  it("says so if the workspace itself is gone", () =>
    withWorld(async (world) => {
      await rename(world.workspace, world.out("moved"));
      expect(whyNot(await find(world, "a.ts"))).toMatch(/of the workspace itself: there is no/);
    }));
});
