import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { STORE_BYTES_WAITING_MAX } from "../core/limits.ts";
import { GuardedStore } from "./guarded.ts";
import { storePromises, volatileHarness } from "./kit/index.ts";
import { SessionLocator } from "./locator.ts";
import { memoryStore } from "./memory/store.ts";
import { commitOf, HOST, keyOf, newSession, record, snapshotOf } from "./sample.fixture.ts";
import { SecretGuard } from "./secret.ts";
import type { SessionStore } from "./store.ts";

const SECRET = "hush-4711-do-not-tell";

async function opened(change: Partial<SessionStore> = {}, location?: SessionLocator) {
  const guard = new SecretGuard();
  guard.know(SECRET);
  const inner = Object.assign(memoryStore(), change);
  const place = location && { location: { locator: location, isLasting: true } };
  const store = new GuardedStore(inner, { guard, ...place });
  await store.init(HOST, { active: true });
  await store.activate();
  return { store, inner };
}

describe("a store of a third party, with the steps of a server around it", () => {
  storePromises(
    { test: it },
    volatileHarness(() => new GuardedStore(memoryStore(4_194_304), { guard: new SecretGuard() })),
  );

  it("P11: is given no secret of the texts that it is to write", async () => {
    const { store, inner } = await opened();
    const key = keyOf("s1");
    const made = await store.create(key, newSession("s1"));
    const term = made.ok ? made.value.term : 0;
    const written = await store.commit(key, term, {
      ...commitOf({ events: [`{"text":"${SECRET}"}`] }),
      journal: [{ journal: "audit", key: "k", sessionId: null, atMs: 1, text: SECRET }],
    });
    expect(written).toMatchObject({ ok: true });
    const events = await inner.readEvents(key, { after: 0, limit: 9 });
    const audit = await inner.readJournal(key.tenantId, { journal: "audit", after: 0, limit: 9 });
    expect(events).toMatchObject({ value: { lastEventId: 1 } });
    expect(JSON.stringify([events, audit])).not.toContain(SECRET);
  });

  it("P11: is not asked to write a field or a slot with a secret in it", async () => {
    const { store } = await opened();
    const key = keyOf("s1");
    const { tenantId } = key;
    const made = await store.create(key, newSession("s1"));
    const term = made.ok ? made.value.term : 0;
    const slot = { owner: "core", version: "1", payload: new TextEncoder().encode(SECRET) };
    const named = record({ displayName: SECRET });
    const value = { password: SECRET };
    const answers = [
      await store.create(keyOf("s2"), newSession("s2", { record: named })),
      await store.commit(key, term, commitOf({ record: named })),
      await store.commit(key, term, commitOf({ snapshot: snapshotOf({ slots: [slot] }) })),
      await store.writeDocument(tenantId, { kind: "k", key: "a", expectedVersion: 0, value }),
      await store.writeBlob(tenantId, slot.payload),
    ];
    const codes = answers.map((answer) => (answer.ok ? "written" : answer.refusal.code));
    expect(new Set(codes)).toEqual(new Set(["secret_leak"]));
  });

  it("answers with a refusal where the store throws, against its promise", async () => {
    const throws = () => {
      throw new Error(`no connection for ${SECRET}`);
    };
    const { store } = await opened({ commit: throws, readRecord: throws, tenants: throws });
    const answers = [
      await store.commit(keyOf("s1"), 1, commitOf({})),
      await store.readRecord(keyOf("s1")),
      await store.tenants(),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ refusal: { code: "store_unavailable" } });
      expect(JSON.stringify(answer)).not.toContain(SECRET);
    }
  });

  it("P10: has only so many bytes wait for it, of any kind, however slow it is", async () => {
    const slow = Promise.withResolvers<never>();
    let calls = 0;
    const wait = () => {
      calls += 1;
      return slow.promise;
    };
    const change = { commit: wait, writeBlob: wait, writeDocument: wait, appendJournal: wait };
    // Nothing is scanned for secrets, because that takes seconds for so much text.
    const store = new GuardedStore(Object.assign(memoryStore(), change), {});
    const key = keyOf("s1");
    const { tenantId } = key;
    const text = "x".repeat(STORE_BYTES_WAITING_MAX / 4 - 1_024);
    const entry = { journal: "audit", key: "k", sessionId: null, atMs: 1, text } as const;
    const value = { text };
    const writes = [
      () => store.commit(key, 1, commitOf({ events: [text] })),
      () => store.writeBlob(tenantId, Buffer.from(text)),
      () => store.writeDocument(tenantId, { kind: "k", key: "a", expectedVersion: 0, value }),
      () => store.appendJournal(tenantId, [entry]),
    ];
    const waiting = writes.map((write) => write());
    for (const write of writes) {
      expect(await write()).toMatchObject({
        refusal: {
          code: "store_unavailable",
          details: { reason: "too much is waiting to be written" },
        },
      });
    }
    expect(calls).toBe(writes.length);
    slow.reject(new Error("it is over"));
    await Promise.all(waiting);
    const again = await store.commit(key, 1, commitOf({ events: [text] }));
    expect(again).toMatchObject({ refusal: { details: { reason: "it is over" } } });
  });

  it("P8: notes where its sessions are, and forgets those that are gone", async () => {
    const root = await mkdtemp(join(tmpdir(), "fermata-guarded-"));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const locator = new SessionLocator(root);
    const { store } = await opened({}, locator);
    await locator.note(keyOf("s2"), "elsewhere");
    expect(await store.readRecord(keyOf("s2"))).toMatchObject({
      refusal: { code: "resume_mismatch", details: { stored: "elsewhere" } },
    });
    await store.create(keyOf("s1"), newSession("s1"));
    expect(await locator.find(keyOf("s1"))).toEqual({ ok: true, value: "memory" });
    await store.delete(keyOf("s1"), newSession("s1").holder, []);
    expect(await locator.find(keyOf("s1"))).toEqual({ ok: true, value: null });
  });
});
