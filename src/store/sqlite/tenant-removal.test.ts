import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { refused, tenantState, value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import { StoreWorld, withStore } from "./damage.fixture.ts";
import { databaseFile, makeDatabaseFile, TenantDatabase } from "./database.ts";
import { clearAway, Handles, takeAway } from "./handles.ts";

const { ACME, GLOBEX, entry } = sample;

const tenantsIn = ({ path }: StoreWorld) => readdir(join(path, "tenants"));

describe("a tenant of the SQLite store that is removed", () => {
  it("P8: leaves no file behind, and no folder of its name", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await world.fill();
      await value(world.store.appendJournal(GLOBEX, [entry("stays")]));
      await value(world.store.removeTenant(ACME, sample.holder()));
      expect(await tenantsIn(world)).toEqual(["globex"]);
    });
  });

  it("P8: is cleared away at the next start, if a crash came between", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await value(world.store.appendJournal(GLOBEX, [entry("stays")]));
      await world.stop();
      const left = join(world.path, "tenants", "+removed-6f1c");
      await mkdir(left);
      await writeFile(join(left, "sessions.db"), "what was in it");
      await value(world.start());
      expect(await tenantsIn(world)).toEqual(["globex"]);
      expect(await value(world.store.tenants())).toEqual([GLOBEX]);
    });
  });

  it("44: takes no write from whoever waited for its lock, and acknowledges none", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await value(world.store.appendJournal(ACME, [entry("before")]));
      const remover = new TenantDatabase(databaseFile(world.path, ACME), "write");
      remover.run("BEGIN IMMEDIATE");
      // The thread answers the first of these, and is then about to wait for the other's lock.
      const first = world.store.appendJournal(GLOBEX, [entry("first")]);
      const waiting = world.store.appendJournal(ACME, [entry("waited")]);
      await value(first);
      await value(Promise.resolve(takeAway(remover, world.path, ACME, sample.holder())));
      remover.run("COMMIT");
      remover.close();
      const answer = await waiting;
      const { audit } = await tenantState(world.store, ACME);
      expect(audit.map(({ key }) => key)).toEqual(answer.ok ? ["waited"] : []);
      expect(await tenantsIn(world)).toContain("globex");
    });
  });

  it("41: is told from one that was moved away, which nobody can look into", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await value(world.store.appendJournal(ACME, [entry("before")]));
      await tenantState(world.store, ACME);
      const other = new StoreWorld(world.path);
      await value(other.start());
      await value(other.store.removeTenant(ACME, sample.holder()));
      await other.stop();
      const { audit } = await tenantState(world.store, ACME);
      expect(audit).toEqual([]);
      await refused(world.store.open(sample.keyOf("a"), sample.holder(), []), "session_not_found");
    });
  });

  it("41: is not missed by whoever asks in the very moment of its removal, or after", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await value(world.store.appendJournal(ACME, [entry("before")]));
      await tenantState(world.store, ACME);
      const remover = new TenantDatabase(databaseFile(world.path, ACME), "write");
      remover.run("BEGIN IMMEDIATE");
      await value(Promise.resolve(takeAway(remover, world.path, ACME, sample.holder())));
      const amid = await tenantState(world.store, ACME);
      remover.run("COMMIT");
      remover.close();
      const after = await tenantState(world.store, ACME);
      expect([amid.audit, after.audit]).toEqual([[], []]);
      await refused(world.store.open(sample.keyOf("a"), sample.holder(), []), "session_not_found");
    });
  });

  it("41: is not missed by one who had closed it before, while others may ask", async () => {
    await withStore(async ({ path }) => {
      await mkdir(join(path, "tenants"), { recursive: true });
      const [file, stays] = [makeDatabaseFile(path, ACME), makeDatabaseFile(path, GLOBEX)];
      const handles = new Handles(
        (name) => new TenantDatabase(name, "write"),
        () => {},
      );
      const db = handles.get(file);
      handles.get(stays);
      await value(Promise.resolve(takeAway(db, path, ACME, sample.holder())));
      // As when many other tenants have been asked for since.
      handles.drop(file);
      handles.drop(stays);
      clearAway(path, { isAlone: false });
      expect(handles.isThere(file)).toBe(false);
      await rename(stays, `${stays}.away`);
      expect(() => handles.isThere(stays)).toThrow(/is gone/);
      clearAway(path, { isAlone: true });
      expect(await readdir(join(path, "tenants"))).toEqual(["globex"]);
    });
  });

  it("P8: leaves an empty folder while others have the store open, no longer", async () => {
    await withStore(async (world) => {
      await value(world.start());
      const other = new StoreWorld(world.path);
      await value(other.start());
      await value(world.store.appendJournal(ACME, [entry("before")]));
      await value(other.store.removeTenant(ACME, sample.holder()));
      const [left = "", ...more] = await tenantsIn(world);
      expect([left, more]).toEqual([expect.stringMatching(/^\+removed-/), []]);
      expect(await readdir(join(world.path, "tenants", left))).toEqual([]);
      await other.stop();
      await world.stop();
      expect(await tenantsIn(world)).toEqual([]);
    });
  });
});
