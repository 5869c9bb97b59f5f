import { mkdir, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { thisHolder } from "../../holder.ts";
import { value } from "../../kit/expect.ts";
import { ACME } from "../../kit/sample.ts";
import { databaseFile } from "../database.ts";
import { CAPITALS, PATIENT, reasonOf, restore, take, withBackup } from "./backup.fixture.ts";

describe("a tenant that cannot be read", PATIENT, () => {
  it("keeps no other out of a backup, which names it and so does its restoring", async () => {
    await withBackup(async (world, next) => {
      await writeFile(databaseFile(world.path, CAPITALS), "no database");
      const target = `${world.path}.other`;
      const { tenants, damaged } = await value(take(world.path, target));
      expect(tenants).toMatchObject([{ tenantId: "acme", sessions: 3 }]);
      expect(damaged).toEqual([
        { tenantId: "MyTeam", reason: expect.stringMatching(/not a data/) },
      ]);
      const { damaged: said } = JSON.parse(await readFile(join(target, "backup.json"), "utf8"));
      expect(said).toEqual(damaged);
      expect(await readdir(join(target, "tenants"))).toEqual(["acme"]);
      expect((await value(restore(target, next.path))).damaged).toEqual(damaged);
    });
  });

  it("is no backup if it is all that there is, and nothing is left of the try", async () => {
    await withBackup(async (world) => {
      for (const id of [ACME, CAPITALS]) await writeFile(databaseFile(world.path, id), "none");
      const before = await readdir(join(world.path, ".."));
      const refusal = await reasonOf(take(world.path, `${world.path}.other`), "backup_failed");
      expect(refusal).toMatch(/^tenant MyTeam: /);
      expect(await readdir(join(world.path, ".."))).toEqual(before);
    });
  });
});

describe("the place of a backup", PATIENT, () => {
  it("is not in the store itself, whichever way leads there", async () => {
    await withBackup(async (world) => {
      const around = `${world.path}.around`;
      await symlink(world.path, around);
      const inside = [world.path, join(world.path, "tenants", "x"), join(around, "a", "b")];
      for (const target of inside) {
        expect(await reasonOf(take(world.path, target), "backup_failed")).toMatch(
          /is in the store itself; name a directory elsewhere/,
        );
      }
      expect(await readdir(join(world.path, "tenants"))).toEqual(["acme", "myteam+a"]);
      await value(take(world.path, `${world.path}..beside`));
    });
  });

  it("is no link and no file, which is said before anything is copied", async () => {
    await withBackup(async (world) => {
      const [folder, link, dangling, file] = ["folder", "link", "dangling", "file"].map(
        (name) => `${world.path}.${name}`,
      );
      await mkdir(`${folder}`);
      await symlink(`${folder}`, `${link}`);
      await symlink("nowhere", `${dangling}`);
      await writeFile(`${file}`, "");
      const of = (target: string | undefined) =>
        reasonOf(take(world.path, `${target}`), "backup_failed");
      expect(await of(link)).toBe(`${link} is a link; name a directory itself`);
      expect(await of(dangling)).toBe(`${dangling} is a link; name a directory itself`);
      expect(await of(file)).toBe(`${file} is a file; name a directory`);
    });
  });
});

describe("what a killed backup left behind", PATIENT, () => {
  it("is cleared by the next one to the same place, and what others do is not", async () => {
    await withBackup(async (world) => {
      const target = `${world.path}.other`;
      const draft = async (of: string, name: string, maker: object | null) => {
        const folder = `${of}.partial-${name}`;
        await mkdir(join(folder, "tenants"), { recursive: true });
        if (maker) await writeFile(join(folder, "maker.json"), JSON.stringify(maker));
        return folder;
      };
      const dead = { ...thisHolder("backup"), startedAt: "1" };
      await draft(target, "dead", dead);
      await draft(target, "alive", thisHolder("backup"));
      await draft(target, "beginning", null);
      await utimes(await draft(target, "ended", null), 1, 1);
      await draft(`${target}2`, "dead", dead);
      await value(take(world.path, target));
      const names = await readdir(join(world.path, ".."));
      expect(names.filter((name) => name.includes(".partial-")).sort()).toEqual([
        "data.other.partial-alive",
        "data.other.partial-beginning",
        "data.other2.partial-dead",
      ]);
      expect((await readdir(target)).sort()).toEqual(["backup.json", "tenants"]);
    });
  });
});
