import { mkdtemp, readdir, rm } from "node:fs/promises";
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
    await locator.note(keyOf("s1"), "sqlite");
    expect(await locator.explainMissing(keyOf("s1"), "file")).toMatchObject({
      refusal: { code: "resume_mismatch", details: { stored: "sqlite", active: "file" } },
    });
  });

  it("calls a session unknown that nobody has, or that the active store has lost", async () => {
    const locator = new SessionLocator(root);
    await locator.note(keyOf("s2"), "sqlite");
    const unknown = { refusal: { code: "session_not_found" } };
    expect(await locator.explainMissing(keyOf("s2"), "sqlite")).toMatchObject(unknown);
    await locator.forget(keyOf("s2"));
    await locator.forget(keyOf("s2"));
    expect(await locator.explainMissing(keyOf("s2"), "file")).toMatchObject(unknown);
  });

  it("keeps ids apart that differ only by case, and leaves no drafts behind", async () => {
    const locator = new SessionLocator(join(root, "case"));
    await Promise.all([locator.note(keyOf("A"), "one"), locator.note(keyOf("a"), "two")]);
    expect(await locator.find(keyOf("A"))).toBe("one");
    expect(await locator.find(keyOf("a"))).toBe("two");
    expect(await readdir(join(root, "case", "acme"))).toEqual(["+a", "a"]);
  });
});
