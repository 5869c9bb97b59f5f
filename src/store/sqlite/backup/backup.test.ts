import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { thisHolder } from "../../holder.ts";
import { refused, sessionState, tenantState, value } from "../../kit/expect.ts";
import * as sample from "../../kit/sample.ts";
import { withStore } from "../damage.fixture.ts";
import { noteClosed, noteOpen } from "../openers.ts";
import {
  backupOf,
  CAPITALS,
  PATIENT,
  reasonOf,
  restore,
  take,
  withBackup,
} from "./backup.fixture.ts";
import { readContents } from "./contents.ts";

const { ACME, GLOBEX, keyOf } = sample;

describe("a backup of the SQLite store", PATIENT, () => {
  it("P11: is whole while the store is at work, says what it has, and is its owner's", async () => {
    await withBackup(async (world) => {
      const folder = backupOf(world);
      const contents = await value(
        Promise.resolve(readContents(await readFile(join(folder, "backup.json"), "utf8"))),
      );
      expect(contents).toMatchObject({
        format: 1,
        fermata: "1.2.3",
        takenAt: "2026-05-01T12:00:00.000Z",
        tenants: [
          { tenantId: "MyTeam", sessions: 0 },
          { tenantId: "acme", sessions: 3 },
        ],
      });
      const names = (await readdir(folder, { recursive: true })).sort();
      expect(names.filter((name) => name.includes("."))).toEqual([
        "backup.json",
        "tenants/acme/sessions.db",
        "tenants/myteam+a/sessions.db",
      ]);
      for (const name of ["", ...names]) {
        expect((await stat(join(folder, name))).mode & 0o077, name).toBe(0);
      }
    });
  });

  it("does not have what was deleted before it", async () => {
    await withStore(async (world) => {
      await value(world.start());
      const mark = "a word that nobody else says";
      await value(world.store.writeBlob(ACME, sample.bytes(mark)));
      await value(world.store.removeTenant(ACME, sample.holder()));
      const key = keyOf("s-1", GLOBEX);
      const manifest = sample.manifest(key, world.store.contract.storeId);
      const commit = sample.commit({ events: [sample.event(1, mark)] });
      await value(world.store.create(key, sample.newSession(manifest, { commit })));
      await value(world.store.delete(key, sample.holder(), []));
      await value(take(world.path, backupOf(world)));
      const copied = await readFile(join(backupOf(world), "tenants/globex/sessions.db"));
      expect(copied.includes(mark)).toBe(false);
      expect(await readdir(join(backupOf(world), "tenants"))).toEqual(["globex"]);
    });
  });

  it("is not made where something is, or of nothing, and nothing is left of the try", async () => {
    await withBackup(async (world) => {
      const before = await readdir(join(world.path, ".."));
      const full = await reasonOf(take(world.path, backupOf(world)), "backup_failed");
      expect(full).toMatch(/is not empty; name a directory that is not there yet/);
      const nowhere = take(`${world.path}.nowhere`, `${world.path}.other`);
      expect(await reasonOf(nowhere, "backup_failed")).toMatch(/with --data/);
      expect(await readdir(join(world.path, ".."))).toEqual(before);
    });
  });

  it("may be put into a directory that is there and empty", async () => {
    await withBackup(async (world) => {
      const target = `${world.path}.empty`;
      await mkdir(target);
      await value(take(world.path, target));
      expect(await readdir(target)).toEqual(["backup.json", "tenants"]);
    });
  });
});

describe("a restored backup", PATIENT, () => {
  it("P3: is what was backed up, with new epochs, no holders, and higher terms", async () => {
    await withBackup(async (world, next) => {
      const before = await tenantState(world.store, ACME);
      const { term } = await value(world.store.open(keyOf("a"), sample.holder(), []));
      await value(restore(backupOf(world), next.path));
      await value(next.start());
      const after = await tenantState(next.store, ACME);
      const oldEpochs = Object.values(before.sessions).map(({ record }) => record.epoch);
      const epochs: string[] = [];
      for (const [id, { record, ...rest }] of Object.entries(after.sessions)) {
        const old = before.sessions[id];
        expect({ ...rest, record: { ...record, epoch: "", holder: null } }).toEqual({
          ...old,
          record: { ...old?.record, epoch: "", holder: null },
        });
        expect(record.holder).toBeNull();
        epochs.push(record.epoch);
      }
      expect(new Set(epochs).size).toBe(3);
      expect(epochs.filter((epoch) => oldEpochs.includes(epoch))).toEqual([]);
      expect(after.audit.slice(0, -1)).toEqual(before.audit);
      expect(after.audit.at(-1)?.key).toBe("restored 2026-05-01T12:00:00.000Z");
      expect([after.ledger, after.documents]).toEqual([before.ledger, before.documents]);
      const opened = await value(next.store.open(keyOf("a"), sample.holder(), []));
      expect(opened.term).toBeGreaterThan(term);
      expect((await tenantState(next.store, CAPITALS)).audit).toHaveLength(2);
    });
  });

  it("P3: can be backed up and restored again, under yet other epochs", async () => {
    await withBackup(async (world, next) => {
      await value(restore(backupOf(world), next.path));
      await value(next.start());
      const { record } = await sessionState(next.store, keyOf("a"));
      await value(take(next.path, backupOf(next)));
      await next.stop();
      await rename(next.path, `${next.path}.away`);
      await value(restore(backupOf(next), next.path));
      await value(next.start());
      const again = await sessionState(next.store, keyOf("a"));
      expect(again.record.epoch).not.toBe(record.epoch);
    });
  });

  it("has forgotten who had it open under relaxed durability", async () => {
    await withBackup(async (world, next) => {
      world.tamper("acme", (db) => {
        const opener = JSON.stringify(thisHolder("relaxed"));
        db.prepare("INSERT INTO relaxed_openers VALUES (?)").run(opener);
      });
      const target = `${world.path}.relaxed`;
      await value(take(world.path, target));
      await value(restore(target, next.path));
      next.tamper("acme", (db) => {
        expect(db.prepare("SELECT * FROM relaxed_openers").all()).toEqual([]);
      });
    });
  });

  it("is not put where sessions are, or where somebody is at work", async () => {
    await withBackup(async (world, next) => {
      const atWork = await reasonOf(restore(backupOf(world), world.path), "restore_failed");
      expect(atWork).toMatch(/is in use by .* stop the server first/);
      await world.stop();
      const full = await reasonOf(restore(backupOf(world), world.path), "restore_failed");
      expect(full).toMatch(/holds sessions already; move it away/);
      const server = thisHolder("server");
      await mkdir(next.path);
      noteOpen(next.path, server);
      await refused(restore(backupOf(world), next.path), "restore_failed");
      noteClosed(next.path, server);
      await value(restore(backupOf(world), next.path));
    });
  });

  it("leaves nothing of a try that was killed, and is put beside an empty store", async () => {
    await withBackup(async (world, next) => {
      await value(next.start());
      await next.stop();
      await mkdir(join(next.path, "restoring-6f1c", "tenants", "acme"), { recursive: true });
      await value(restore(backupOf(world), next.path));
      expect((await readdir(next.path)).sort()).toEqual(["open", "tenants"]);
      for (const name of ["tenants", "tenants/acme", "tenants/acme/sessions.db"]) {
        expect((await stat(join(next.path, name))).mode & 0o077).toBe(0);
      }
    });
  });

  it("44: nor where a server of another machine may be, whose note is named", async () => {
    await withBackup(async (world, next) => {
      const away = { ...thisHolder("away"), host: "another-machine.example" };
      await mkdir(next.path);
      noteOpen(next.path, away);
      const reason = await reasonOf(restore(backupOf(world), next.path), "restore_failed");
      const note = join(next.path, "open", "away.json");
      expect(reason).toMatch(/is in use by away .* on another-machine\.example\); stop the server/);
      expect(reason).toContain(`; if it is gone for good, delete ${note}`);
      await rm(note);
      await mkdir(note);
      const unreadable = await reasonOf(restore(backupOf(world), next.path), "restore_failed");
      expect(unreadable).toContain(`${note} may say that ${next.path} is in use`);
      await rm(note, { recursive: true });
      await value(restore(backupOf(world), next.path));
    });
  });

  it("that was killed is cleared away when a server starts, if nobody else is there", async () => {
    await withStore(async (world) => {
      const left = join(world.path, "restoring-6f1c");
      await mkdir(join(left, "tenants", "acme"), { recursive: true });
      const other = thisHolder("restore");
      noteOpen(world.path, other);
      await value(world.start());
      expect(await readdir(world.path)).toContain("restoring-6f1c");
      await world.stop();
      noteClosed(world.path, other);
      await value(world.start());
      expect((await readdir(world.path)).sort()).toEqual(["open", "tenants"]);
    });
  });
});
