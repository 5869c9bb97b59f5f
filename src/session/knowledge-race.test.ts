import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { profileOf } from "../agent/profile/profile.ts";
import { LOAD_SETTLED_MS_MIN } from "../core/limits.ts";
import { FilesLoader } from "../loader/loader.ts";
import { readKnowledge } from "./knowledge.ts";
import { echo, type Hand, Stage, TENANT, value } from "./stage.fixture.ts";

const AT_ONCE = 10;

/** A workspace with one skill, which a stage loads from the disk, and what happens to that. */
class Disk {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  static async make(): Promise<Disk> {
    const disk = new Disk(await realpath(await mkdtemp(join(tmpdir(), "fermata-race-"))));
    onTestFinished(() => rm(disk.#root, { recursive: true, force: true }));
    for (const name of ["bundled", "home"]) await mkdir(disk.at(name));
    await disk.write(SKILL, "first");
    return disk;
  }

  at(path: string): string {
    return join(this.#root, path);
  }

  get workspace(): string {
    return this.at("workspace");
  }

  async write(path: string, text: string) {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), text);
  }

  /** As one step: the skill is there before and after, and never half. */
  async replace(make: (next: string) => Promise<unknown>) {
    await make(this.at("next"));
    await rename(this.at("next"), this.at(SKILL));
  }

  async stage(): Promise<Stage> {
    const loader = new FilesLoader({
      ...{ bundled: this.at("bundled"), userFolder: this.at("home"), platform: "linux", env: {} },
      ...{ tools: async () => [], reserved: new Set(), isTrusted: async () => true },
    });
    const [name, profile] = echo();
    const many = profileOf({ ...profile, limits: { ...profile.limits, sessionsPerProcess: 256 } });
    const settings = { sessionsLiveMax: null };
    return Stage.open({ loader, settings, profiles: new Map([[name, many]]) });
  }
}

const FOLDER = "workspace/.fermata/skills/deploy";
const SKILL = `${FOLDER}/SKILL.md`;

/** What happens to the skill, one after the other, and what is known of it from then on. */
const CHANGES: readonly (readonly [(disk: Disk) => Promise<unknown>, readonly string[]])[] = [
  [(disk) => disk.replace((next) => writeFile(next, "edited")), ["edited"]],
  [(disk) => disk.write("elsewhere/SKILL.md", "not for agents"), ["edited"]],
  [(disk) => disk.replace((next) => symlink(disk.at("elsewhere/SKILL.md"), next)), []],
  [(disk) => disk.replace((next) => writeFile(next, "back")), ["back"]],
  [(disk) => disk.replace((next) => symlink("SKILL.md", next)), []],
  [(disk) => disk.replace((next) => writeFile(next, "again")), ["again"]],
  [(disk) => rm(disk.at(FOLDER), { recursive: true }), []],
  [(disk) => disk.write(SKILL, "new"), ["new"]],
];

it("P7: a session knows what the files say when it is made, whatever happens to them", async () => {
  // All changes count as old, so what was loaded is kept, and used again where it may be.
  const now = Date.now;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 2 * LOAD_SETTLED_MS_MIN);
  onTestFinished(() => clock.mockRestore());
  const disk = await Disk.make();
  const stage = await disk.stage();
  const bodies = async ({ live }: Hand) => {
    const { skills } = value(await readKnowledge(stage.world, TENANT, live.session.chosen));
    return skills.entries.map(({ body }) => body);
  };
  const hands = () =>
    Array.from({ length: AT_ONCE }, () => stage.created({ workspaceCwd: disk.workspace }));
  const made: (readonly [Hand, readonly string[]])[] = [];
  for (const [change, known] of CHANGES) {
    const beside = hands();
    await change(disk);
    for (const hand of await Promise.all(hands())) made.push([hand, known]);
    // What those got that were asked for before is one or the other; each is there.
    expect(await Promise.all(beside)).toHaveLength(AT_ONCE);
  }
  // At the end, when all of the changes are long over.
  for (const [hand, known] of made) expect(await bodies(hand)).toEqual(known);
});
