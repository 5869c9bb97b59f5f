import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { value } from "../../store/kit/expect.ts";
import { keyOf, manifest, newSession } from "../../store/sample.fixture.ts";
import { main } from "../main.ts";
import { backup, restore } from "./backup.ts";
import { run, runIn, servedFolder } from "./data-folder.fixture.ts";

/** A data directory with one session in it, whose server has stopped. */
async function leftFolder() {
  const { folder, store } = await servedFolder();
  const own = { manifest: manifest({ storeId: "sqlite" }) };
  await value(store.create(keyOf("s1"), newSession("s1", own)));
  return { folder, store };
}

describe("fermata backup and restore", () => {
  it("say what they have done, and where", async () => {
    const { folder, store } = await leftFolder();
    const target = `${folder}/backup`;
    const made = await runIn(folder, backup, target);
    expect(made).toMatchObject({ exitCode: 0, stderr: "" });
    expect(made.shown).toMatch(/^Backed up 1 tenant, 1 session, \d+ bytes to .*backup\.\n$/);
    await value(store.dispose());
    await rename(`${folder}/sessions`, `${folder}/sessions.away`);
    const restored = await runIn(folder, restore, target);
    expect(restored).toMatchObject({ exitCode: 0, stderr: "" });
    expect(restored.shown).toMatch(
      /^Restored 1 tenant, 1 session, \d+ bytes, as of 20\d\d-.* into /,
    );
  });

  it("say who is not in it, and backup ends with 1", async () => {
    const { folder, store } = await leftFolder();
    await mkdir(`${folder}/sessions/tenants/broken`);
    await writeFile(`${folder}/sessions/tenants/broken/sessions.db`, "no database");
    const made = await runIn(folder, backup, `${folder}/backup`);
    expect(made.exitCode).toBe(1);
    expect(made.shown).toMatch(/^Backed up 1 tenant, /);
    expect(made.stderr).toMatch(
      /^fermata: Tenant broken is not in it, because it cannot be read: /,
    );
    await value(store.dispose());
    const restored = await runIn(`${folder}/new`, restore, `${folder}/backup`);
    expect(restored.exitCode).toBe(0);
    expect(restored.stderr).toBe(
      "fermata: Tenant broken is missing: it could not be read when the backup was made.",
    );
  });

  it("say what to do next where they cannot", async () => {
    const { folder } = await leftFolder();
    const full = await runIn(folder, backup, folder);
    expect(full).toMatchObject({ exitCode: 1, shown: "" });
    expect(full.stderr).toMatch(/^fermata: No backup was made: .* is not empty; name a directory/);
    const nowhere = await runIn(`${folder}/nowhere`, backup, `${folder}/backup`);
    expect(nowhere.stderr).toMatch(/there is no store in .*; say where the server's data is/);
    const none = await runIn(`${folder}/other`, restore, folder);
    expect(none.stderr).toMatch(
      /^fermata: Nothing was restored, because the backup is not whole: /,
    );
    await runIn(folder, backup, `${folder}/backup`);
    const used = await runIn(folder, restore, `${folder}/backup`);
    expect(used.stderr).toMatch(
      /^fermata: Nothing was restored: .* is in use by .*; stop the server/,
    );
    // A restore takes the data directory for itself, and the file of that lock stays.
    expect(await readdir(`${folder}/other`)).toEqual(["server.lock"]);
    expect((await readdir(folder)).sort()).toEqual(["backup", "other", "server.lock", "sessions"]);
  });

  it.each([
    ["backup", backup],
    ["restore", restore],
  ])("explain themselves: %s", async (name, command) => {
    const help = await run(main, name, "--help");
    expect(help.shown).toMatch(new RegExp(`^Usage: fermata ${name} DIR \\[--data DIR\\]`));
    for (const [args, why] of [
      [[], "expected one directory"],
      [["one", "two"], "expected one directory"],
      [["--tenant", "acme", "one"], "there is no option --tenant"],
    ] as const) {
      const stderr = `fermata: ${name}: ${why}; see "fermata ${name} --help".`;
      expect(await runIn("", command, ...args)).toEqual({ exitCode: 2, shown: "", stderr });
    }
  });
});
