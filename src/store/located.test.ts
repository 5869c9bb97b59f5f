import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseTenantId } from "../core/id.ts";
import { thisHolder } from "./holder.ts";
import { withLocator } from "./located.ts";
import { SessionLocator } from "./locator.ts";
import { keyOf, newSession, openMemoryStore } from "./sample.fixture.ts";

const holder = thisHolder("located");
const entry = { journal: "audit", key: "k", sessionId: null, atMs: 1, text: "{}" } as const;

async function located(isLasting = true) {
  const root = await mkdtemp(join(tmpdir(), "fermata-located-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const locator = new SessionLocator(root);
  return { locator, store: withLocator(await openMemoryStore(), locator, { isLasting }) };
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
