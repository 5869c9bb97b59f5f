import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseTenantId } from "../core/id.ts";
import { fail } from "../core/result.ts";
import { thisHolder } from "./holder.ts";
import { SessionLocator } from "./locator.ts";
import { MemoryBackend } from "./memory/store.ts";
import { keyOf, newSession, openMemoryStore, openSurface } from "./sample.fixture.ts";

const holder = thisHolder("located");
const entry = { journal: "audit", key: "k", sessionId: null, atMs: 1, text: "{}" } as const;

async function located(isLasting = true) {
  const root = await mkdtemp(join(tmpdir(), "fermata-located-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const locator = new SessionLocator(root);
  return { locator, store: await openMemoryStore({ location: { locator, isLasting } }) };
}

describe("a store that notes where its sessions are", () => {
  it("tells of a session of another store by that store's name", async () => {
    const { locator, store } = await located();
    await locator.note(keyOf("s1"), "elsewhere");
    expect(await store.open(keyOf("s1"), holder, [])).toMatchObject({
      refusal: { code: "resume_mismatch", details: { stored: "elsewhere", active: "memory" } },
    });
    expect(await store.open(keyOf("s2"), holder, [])).toMatchObject({
      refusal: { code: "session_not_found" },
    });
  });

  it("tells so whatever is asked of it, and a stranger the same as ever", async () => {
    const { locator, store } = await located();
    await locator.note(keyOf("s1"), "elsewhere");
    const range = { after: 0, limit: 1 };
    const asked = (key: ReturnType<typeof keyOf>) => [
      store.seize(key, holder, [entry]),
      store.readRecord(key),
      store.readManifest(key),
      store.readEvents(key, range),
      store.readTurns(key, { before: 1, limit: 1 }),
      store.readMessages(key, range),
      store.readSlots(key),
    ];
    const codes = (await Promise.all([...asked(keyOf("s1")), ...asked(keyOf("s2"))])).map(
      (answer) => (answer.ok ? "found" : answer.refusal.code),
    );
    expect(new Set(codes.slice(0, 7))).toEqual(new Set(["resume_mismatch"]));
    expect(new Set(codes.slice(7))).toEqual(new Set(["session_not_found"]));
  });

  it("notes and forgets nothing if its own sessions end with the process", async () => {
    const { locator, store } = await located(false);
    await locator.note(keyOf("s2"), "elsewhere");
    for (const id of ["s1", "s2"]) {
      expect(await store.create(keyOf(id), newSession(id))).toMatchObject({ ok: true });
    }
    expect(await locator.find(keyOf("s1"))).toEqual({ ok: true, value: null });
    const { holder: owner } = newSession("s2");
    expect(await store.delete(keyOf("s2"), owner, [])).toMatchObject({ ok: true });
    expect(await locator.find(keyOf("s2"))).toEqual({ ok: true, value: "elsewhere" });
  });

  it("notes a session that is there already, and none that could not be made", async () => {
    const { locator, store } = await located();
    expect(await store.create(keyOf("s1"), newSession("s1"))).toMatchObject({ ok: true });
    const again = await store.create(keyOf("s1"), newSession("s1"));
    expect(again).toMatchObject({ refusal: { code: "session_id_conflict" } });
    expect(await locator.find(keyOf("s1"))).toEqual({ ok: true, value: "memory" });
    const backend = new MemoryBackend();
    backend.create = async () => fail("store_unavailable");
    const away = await openSurface(backend, { location: { locator, isLasting: true } });
    expect(await away.create(keyOf("s2"), newSession("s2"))).toMatchObject({ ok: false });
    expect(await locator.find(keyOf("s2"))).toEqual({ ok: true, value: null });
  });

  it("P8: forgets a tenant that it removes, and no other", async () => {
    const { locator, store } = await located();
    const other = { ...keyOf("s1"), tenantId: parseTenantId("globex") ?? expect.fail() };
    await locator.note(other, "elsewhere");
    expect(await store.create(keyOf("s1"), newSession("s1"))).toMatchObject({ ok: true });
    const { holder: owner } = newSession("s1");
    expect(await store.removeTenant(keyOf("s1").tenantId, owner)).toMatchObject({ ok: true });
    expect(await locator.find(keyOf("s1"))).toEqual({ ok: true, value: null });
    expect(await locator.find(other)).toEqual({ ok: true, value: "elsewhere" });
  });

  it("P8: forgets it first: a removal that a crash cuts off leaves no names behind", async () => {
    const { locator, store } = await located();
    expect(await store.create(keyOf("s1"), newSession("s1"))).toMatchObject({ ok: true });
    const refused = await store.removeTenant(keyOf("s1").tenantId, holder);
    expect(refused).toMatchObject({ refusal: { code: "session_locked" } });
    expect(await locator.find(keyOf("s1"))).toEqual({ ok: true, value: null });
  });

  it("notes what it makes, forgets what it deletes, and is as it was beside", async () => {
    const { locator, store } = await located();
    const key = keyOf("s1");
    expect(await store.create(key, newSession("s1"))).toMatchObject({ ok: true });
    expect(await locator.find(key)).toEqual({ ok: true, value: "memory" });
    expect(await store.readManifest(key)).toMatchObject({ value: { storeId: "memory" } });
    expect(await store.delete(key, newSession("s1").holder, [])).toMatchObject({ ok: true });
    expect(await locator.find(key)).toEqual({ ok: true, value: null });
  });
});

async function refusing(code: Parameters<typeof fail>[0], reason: string) {
  const logged: object[] = [];
  const backend = new MemoryBackend();
  backend.tenants = async () => fail(code, { reason });
  const store = await openSurface(backend, {
    log: (what, about) => logged.push({ what, ...about }),
  });
  return { logged, answer: await store.tenants() };
}

describe("what callers see of a store that fails", () => {
  it.each([
    "its database /var/lib/fermata/sessions/tenants/acme/sessions.db is gone",
    "ENOSPC: no space left on device, open '/data/my files/x' (free some space on its disk)",
    "its index of sessions: EACCES: permission denied, mkdir '/data/located'",
    "unable to open C:\\data\\sessions.db",
  ])("names no path of the server: %s", async (reason) => {
    const { answer, logged } = await refusing("store_unavailable", reason);
    expect(answer).toEqual(fail("store_unavailable", { reason: "the server's log says why" }));
    const code = "store_unavailable";
    expect(logged).toEqual([{ what: "store failed", operation: "tenants", code, reason }]);
  });

  it("names none if it is damaged, either", async () => {
    const reason = "file /data/sessions.db is not a database";
    const { answer } = await refusing("session_corrupt", reason);
    expect(JSON.stringify(answer)).not.toContain("/data");
  });

  it("names none if the backend throws, in a read or in a write", async () => {
    const backend = new MemoryBackend();
    const thrown = new Error("cannot open /data/sessions.db");
    backend.readRecord = () => Promise.reject(thrown);
    backend.commit = () => {
      throw thrown;
    };
    const store = await openSurface(backend, { log: () => {} });
    const commit = { afterEventId: 0, events: [], journal: [] };
    const answers = [
      await store.readRecord(keyOf("s1")),
      await store.commit(keyOf("s1"), 1, commit),
    ];
    const hidden = fail("store_unavailable", { reason: "the server's log says why" });
    expect(answers).toEqual([hidden, hidden]);
  });

  it.each([
    ["store_unavailable", "too much is waiting to be written"],
    ["session_corrupt", "document members/all"],
    ["invalid_store_input", "it begins with /"],
  ] as const)("is what the store says where it names none: %s, %s", async (code, reason) => {
    const { answer, logged } = await refusing(code, reason);
    expect(answer).toEqual(fail(code, { reason }));
    expect(logged).toEqual([]);
  });

  it("is all that is changed: what the store knows is answered as it is", async () => {
    const store = await openMemoryStore({ log: () => {} });
    expect(await store.create(keyOf("s1"), newSession("s1"))).toMatchObject({ ok: true });
    expect(await store.tenants()).toEqual({ ok: true, value: [keyOf("s1").tenantId] });
  });
});
