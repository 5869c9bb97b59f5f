import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { SUBMIT_TRIES_MAX, TENANT_CHANGES_WAITING_MAX } from "../../core/limits.ts";
import { ok } from "../../core/result.ts";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import { value } from "../../store/kit/expect.ts";
import { HOST } from "../../store/sample.fixture.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { SessionStore } from "../../store/store.ts";
import { ACME, IdentityWorld, OPERATOR, tenant } from "./identity.fixture.ts";
import { changeDocument, withTenantMutex } from "./tenant-document.ts";

const PLACE = { tenantId: ACME, kind: "count", key: "all" };

const countIn = (value: JsonObject | null) => Number(value?.count ?? 0);

/** Counts one on, and tells from where. */
function counted(store: SessionStore, place = PLACE) {
  return changeDocument(store, place, (before) => {
    const from = countIn(before);
    const told = { act: "member_set", by: OPERATOR, details: { from }, atMs: 1 } as const;
    return ok({ value: { count: from + 1 }, entry: changeEntry(told), outcome: from + 1 });
  });
}

const countOf = async ({ store }: IdentityWorld) => {
  const found = await value(store.readDocument(ACME, PLACE.kind, PLACE.key));
  return countIn(found?.value ?? null);
};

const toldOf = async (world: IdentityWorld) =>
  (await world.audit()).map(({ details }) => details.from);

/** A store between whose reading and writing another process does this, a few times. */
function raced(store: SessionStore, times: number, other: () => Promise<unknown>): SessionStore {
  let left = times;
  return altered(store, {
    writeDocument: async (tenantId, document) => {
      left -= 1;
      if (left >= 0) await other();
      return store.writeDocument(tenantId, document);
    },
  });
}

describe("a change of what is a tenant's", () => {
  it("that somebody else was faster with is told as it happened, and once", async () => {
    const world = await IdentityWorld.open();
    const elsewhere = altered(world.store, {});
    const store = raced(world.store, 3, () => value(counted(elsewhere)));
    expect(await value(counted(store))).toBe(4);
    expect(await toldOf(world)).toEqual([0, 1, 2, 3]);
    expect(await countOf(world)).toBe(4);
  });

  it("that others are always faster with is refused, and not told", async () => {
    const world = await IdentityWorld.open();
    const elsewhere = altered(world.store, {});
    const store = raced(world.store, SUBMIT_TRIES_MAX, () => value(counted(elsewhere)));
    expect(await counted(store)).toMatchObject({ refusal: { code: "server_busy" } });
    expect(await countOf(world)).toBe(SUBMIT_TRIES_MAX);
    expect(await toldOf(world)).toHaveLength(SUBMIT_TRIES_MAX);
  });

  it("that is none is not told, nor written", async () => {
    const world = await IdentityWorld.open();
    const mute = altered(world.store, { writeDocument: async () => AWAY });
    const same = () => ok({ value: {}, entry: null, outcome: "as it was" });
    expect(await value(changeDocument(mute, PLACE, same))).toBe("as it was");
  });

  it("that the audit cannot be told of does not happen", async () => {
    const world = await IdentityWorld.open();
    const told = changeEntry({ act: "member_set", by: OPERATOR, details: {}, atMs: 1, key: "k" });
    await value(world.store.appendJournal(ACME, [{ ...told, text: "another text" }]));
    const change = () => ok({ value: { count: 7 }, entry: told, outcome: null });
    const changed = await changeDocument(world.store, PLACE, change);
    expect(changed).toMatchObject({ refusal: { code: "journal_conflict" } });
    expect(await countOf(world)).toBe(0);
  });
});

describe("changes of one tenant through several stores, as processes have them", () => {
  /** A further store over this directory: it does not wait for the other. */
  async function opened(path: string): Promise<SessionStore> {
    const store = sqliteStore();
    onTestFinished(async () => void (await store.dispose()));
    await value(store.init(HOST, { active: true, path }));
    await value(store.activate());
    return store;
  }

  it("are told as often as they were made, and in their order", async () => {
    const folder = await mkdtemp(join(tmpdir(), "fermata-changes-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const store = await opened(folder);
    const stores = [store, await opened(folder), await opened(folder)];
    const changes = await Promise.all(
      stores.flatMap((one) => Array.from({ length: 20 }, () => counted(one))),
    );
    const made = changes.filter(({ ok: isMade }) => isMade).length;
    for (const one of changes) {
      if (!one.ok) expect(one.refusal.code).toBe("server_busy");
    }
    const world = new IdentityWorld(store);
    expect(await countOf(world)).toBe(made);
    expect(await toldOf(world)).toEqual(Array.from({ length: made }, (_, n) => n));
  });
});

describe("changes of one tenant at the same time", () => {
  it("are made one after the other, whichever part of a server asks, in their order", async () => {
    const world = await IdentityWorld.open();
    const counts = await Promise.all(Array.from({ length: 50 }, () => value(counted(world.store))));
    expect(counts).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(await toldOf(world)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  it("P10: are so many at most; more are told to come later, and others are not", async () => {
    const world = await IdentityWorld.open();
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = altered(world.store, {
      readDocument: async (tenantId, ...place) => {
        if (tenantId === ACME) await promise;
        return world.store.readDocument(tenantId, ...place);
      },
    });
    const most = Array.from({ length: TENANT_CHANGES_WAITING_MAX }, () => counted(slow));
    expect(await counted(slow)).toMatchObject({ refusal: { code: "server_busy" } });
    expect(await value(counted(slow, { ...PLACE, tenantId: tenant("other") }))).toBe(1);
    resolve();
    for (const one of await Promise.all(most)) expect(one.ok).toBe(true);
    expect(await value(counted(slow))).toBe(TENANT_CHANGES_WAITING_MAX + 1);
    expect(await countOf(world)).toBe(TENANT_CHANGES_WAITING_MAX + 1);
  });

  it("may be several in one turn, and nobody comes between", async () => {
    const world = await IdentityWorld.open();
    const { store } = world;
    const order: string[] = [];
    const both = withTenantMutex(store, ACME, async (change) => {
      for (const key of ["one", "two"]) {
        await value(change({ kind: "count", key }, () => ok({ ...NOTHING, outcome: key })));
        order.push(key);
      }
      return ok(null);
    });
    const after = counted(store).then(() => order.push("after"));
    await Promise.all([both, after]);
    expect(order).toEqual(["one", "two", "after"]);
  });

  it("go on after one that has failed", async () => {
    const world = await IdentityWorld.open();
    const failing = withTenantMutex(world.store, ACME, () => Promise.reject(new Error("no")));
    const next = counted(world.store);
    await expect(failing).rejects.toThrow("no");
    expect(await value(next)).toBe(1);
  });
});

const NOTHING = { value: null, entry: null } as const;
