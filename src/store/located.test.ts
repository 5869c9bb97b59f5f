import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { thisHolder } from "./holder.ts";
import { withLocator } from "./located.ts";
import { SessionLocator } from "./locator.ts";
import { keyOf, newSession, openMemoryStore } from "./sample.fixture.ts";

const holder = thisHolder("located");

async function located() {
  const root = await mkdtemp(join(tmpdir(), "fermata-located-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const locator = new SessionLocator(root);
  return { locator, store: withLocator(await openMemoryStore(), locator) };
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
