import { chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { thisHolder } from "../holder.ts";
import { value } from "../kit/expect.ts";
import { StoreWorld } from "./damage.fixture.ts";
import {
  isAlone,
  noteClosed,
  noteFile,
  noteOpen,
  openersOf,
  othersIn,
  unreadableIn,
} from "./openers.ts";

async function emptyRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "fermata-presence-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

const [one, other] = [thisHolder("one"), thisHolder("other")];

describe("the notes of who has a store's directory open", () => {
  it("name everybody else who lives, and whoever may", async () => {
    const root = await emptyRoot();
    const away = { ...thisHolder("away"), host: "another-machine.example" };
    for (const holder of [one, other, away]) noteOpen(root, holder);
    expect(
      othersIn(root, one)
        .map(({ label }) => label)
        .sort(),
    ).toEqual(["away", "other"]);
    noteClosed(root, other);
    expect(othersIn(root, one)).toEqual([away]);
  });

  it("P5: do not count the dead, and are cleared of them by whoever comes next", async () => {
    const root = await emptyRoot();
    noteOpen(root, { ...thisHolder("dead"), startedAt: "1" });
    await writeFile(join(root, "open", "half.json"), '{"host":"a');
    expect(othersIn(root, one)).toEqual([]);
    noteOpen(root, one);
    expect(await readdir(join(root, "open"))).toEqual(["one.json"]);
  });

  it("are none where there is no directory", async () => {
    const root = await emptyRoot();
    expect(othersIn(join(root, "nowhere"), one)).toEqual([]);
    noteClosed(join(root, "nowhere"), one);
  });

  it("hinder nobody by one that cannot be read, which stays and is named", async () => {
    const root = await emptyRoot();
    const unreadable = join(root, "open", "anothers.json");
    await mkdir(unreadable, { recursive: true });
    expect(noteOpen(root, one)).toBe(true);
    expect(openersOf(root)).toEqual([one]);
    expect([unreadableIn(root), isAlone(root, one)]).toEqual([[unreadable], false]);
    await rm(unreadable, { recursive: true });
    expect([unreadableIn(root), isAlone(root, one)]).toEqual([[], true]);
  });

  it("hinder nobody where they cannot be written: a server starts without", async () => {
    const root = await emptyRoot();
    await writeFile(join(root, "open"), "no folder");
    expect(noteOpen(root, one)).toBe(false);
    noteClosed(root, one);
    expect([openersOf(root), unreadableIn(root)]).toEqual([[], [join(root, "open")]]);
    const world = new StoreWorld(root);
    await value(world.start());
    await world.stop();
  });

  it("belong to the owner of the store, also if root has written them", async () => {
    const root = await emptyRoot();
    // Only root can give it away; other users own what they write in any case.
    const uid = process.getuid?.() === 0 ? 12_345 : (await stat(root)).uid;
    await mkdir(join(root, "open"));
    await chown(root, uid, (await stat(root)).gid);
    noteOpen(root, one);
    for (const path of [join(root, "open"), noteFile(root, one)]) {
      expect((await stat(path)).uid, path).toBe(uid);
    }
  });

  it("are not put where a link leads", async () => {
    const [root, elsewhere] = [await emptyRoot(), await emptyRoot()];
    await symlink(elsewhere, join(root, "open"));
    expect(noteOpen(root, one)).toBe(false);
    expect(await readdir(elsewhere)).toEqual([]);
  });
});
