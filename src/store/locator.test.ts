import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionLocator } from "./locator.ts";
import { keyOf } from "./sample.fixture.ts";

describe("the index outside the stores", () => {
  let root = "";
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "fermata-locator-"));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it("names the store that has a session, so that resume can say which to activate", async () => {
    const locator = new SessionLocator(root);
    expect(await locator.note(keyOf("s1"), "sqlite")).toMatchObject({ ok: true });
    expect(await locator.explainMissing(keyOf("s1"), "file")).toMatchObject({
      refusal: { code: "resume_mismatch", details: { stored: "sqlite", active: "file" } },
    });
  });

  it("calls a session unknown that nobody has, or that the active store has lost", async () => {
    const locator = new SessionLocator(root);
    await locator.note(keyOf("s2"), "sqlite");
    const unknown = { refusal: { code: "session_not_found" } };
    expect(await locator.explainMissing(keyOf("s2"), "sqlite")).toMatchObject(unknown);
    expect(await locator.forget(keyOf("s2"))).toMatchObject({ ok: true });
    expect(await locator.forget(keyOf("s2"))).toMatchObject({ ok: true });
    expect(await locator.explainMissing(keyOf("s2"), "file")).toMatchObject(unknown);
    const nowhere = new SessionLocator(join(root, "not", "there"));
    expect(await nowhere.find(keyOf("s2"))).toEqual({ ok: true, value: null });
  });

  it("keeps ids apart that differ only by case, and leaves no drafts behind", async () => {
    const locator = new SessionLocator(join(root, "case"));
    await Promise.all([locator.note(keyOf("A"), "one"), locator.note(keyOf("a"), "two")]);
    expect(await locator.find(keyOf("A"))).toEqual({ ok: true, value: "one" });
    expect(await locator.find(keyOf("a"))).toEqual({ ok: true, value: "two" });
    expect(await readdir(join(root, "case", "acme"))).toEqual(["a", "a+8"]);
  });

  it("names the store that has a tenant, which is no session of it", async () => {
    const locator = new SessionLocator(join(root, "tenants"));
    const { tenantId } = keyOf("s1");
    expect(await locator.findTenant(tenantId)).toEqual({ ok: true, value: null });
    await locator.noteTenant(tenantId, "sqlite");
    expect(await locator.findTenant(tenantId)).toEqual({ ok: true, value: "sqlite" });
    await locator.note(keyOf("s1"), "sqlite");
    expect(await locator.sessionsOf(tenantId)).toEqual({ ok: true, value: ["s1"] });
    await locator.forgetTenantItself(tenantId);
    expect(await locator.findTenant(tenantId)).toEqual({ ok: true, value: null });
    await locator.noteTenant(tenantId, "sqlite");
    await locator.forgetTenant(tenantId);
    expect(await readdir(join(root, "tenants"))).toEqual([]);
  });

  it("takes the longest id in capitals", async () => {
    const locator = new SessionLocator(join(root, "long"));
    const key = keyOf("A".repeat(128));
    expect(await locator.note(key, "sqlite")).toMatchObject({ ok: true });
    expect(await locator.find(key)).toEqual({ ok: true, value: "sqlite" });
  });

  it("says what is in its way, and does not call that unknown", async () => {
    const place = join(root, "broken", "acme", "s3");
    await mkdir(place, { recursive: true });
    const locator = new SessionLocator(join(root, "broken"));
    const unavailable = { ok: false, refusal: { code: "store_unavailable" } };
    expect(await locator.find(keyOf("s3"))).toMatchObject(unavailable);
    expect(await locator.explainMissing(keyOf("s3"), "file")).toMatchObject(unavailable);
    expect(await locator.forget(keyOf("s3"))).toMatchObject(unavailable);
    const noted = await locator.note(keyOf("s3"), "sqlite");
    expect(noted).toMatchObject(unavailable);
    const why = expect.stringContaining("its index of sessions: ");
    expect(noted).toMatchObject({ refusal: { details: { reason: why } } });
    expect(await readdir(join(root, "broken", "acme"))).toEqual(["s3"]);
  });

  it("makes nothing of a file that lost its content in a power cut", async () => {
    await mkdir(join(root, "acme"), { recursive: true });
    await writeFile(join(root, "acme", "s4"), "");
    const found = await new SessionLocator(root).find(keyOf("s4"));
    expect(found).toEqual({ ok: true, value: null });
  });

  it("P8: follows no id out of its folder", async () => {
    const locator = new SessionLocator(join(root, "inside"));
    const outside = { ...keyOf("s5"), tenantId: JSON.parse('"../acme"') };
    const refused = { ok: false, refusal: { code: "invalid_store_input" } };
    expect(await locator.note(outside, "sqlite")).toMatchObject(refused);
    expect(await locator.find(JSON.parse("null"))).toMatchObject(refused);
    expect(await locator.forgetTenant(outside.tenantId)).toMatchObject(refused);
  });
});
