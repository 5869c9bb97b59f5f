import { describe, expect, it } from "vitest";
import { NO_PERSONA } from "../../core/persona.ts";
import { fail, ok } from "../../core/result.ts";
import { NO_SKILLS, type SkillSnapshot } from "../../core/skill/skill.ts";
import { SNAPSHOT, skill } from "../../core/slash/snapshot.fixture.ts";
import { altered } from "../altered-store.fixture.ts";
import { ada, NEVER, withSession } from "../runtime.fixture.ts";
import { Stage, value } from "../stage.fixture.ts";
import { Reloads } from "./choices.ts";

/** A session with these skills, and the files from which they were loaded. */
async function taught(skills: SkillSnapshot) {
  const files = { skills };
  const loader = {
    skills: async () => ok(files.skills),
    persona: async () => ok(NO_PERSONA),
  };
  const stage = await Stage.open({ loader });
  const session = await withSession(stage);
  return { stage, files, reloads: new Reloads(stage.world), ...session };
}

describe("a reload", () => {
  it("is prepared without a change, and done with the same words", async () => {
    const { runtime, files, reloads, live } = await taught(SNAPSHOT);
    const before = live.session.chosen;
    files.skills = { entries: [skill("zeta")], diagnostics: [] };
    const prepared = value(await reloads.prepare(live, "reload_skills"));
    expect(live.session.chosen).toEqual(before);
    expect(prepared.from).toEqual(before.skills);
    expect(prepared.difference).toMatch(/^\+ zeta/m);
    expect(value(await reloads.now(live, "reload_skills", ada))).toEqual(prepared);
    expect(live.session.chosen).toEqual({ ...before, skills: prepared.to });
    await runtime.shutDown(NEVER);
  });

  it("tells the difference to the one before it, however many come at once", async () => {
    const { runtime, files, reloads, live } = await taught(NO_SKILLS);
    files.skills = { entries: [skill("zeta")], diagnostics: [] };
    const [first, second] = await Promise.all([
      reloads.now(live, "reload_skills", ada),
      reloads.now(live, "reload_skills", ada),
    ]);
    expect(value(first).difference).toMatch(/zeta/);
    expect(value(second).difference).not.toMatch(/zeta/);
    expect([value(first).to.version, value(second).to.version]).toEqual([2, 3]);
    expect(value(second).from).toEqual(value(first).to);
    await runtime.shutDown(NEVER);
  });

  it("goes on after one before it has failed", async () => {
    const { runtime, reloads, live } = await taught(SNAPSHOT);
    const failing = reloads.inOrder(live, () => Promise.reject(new Error("it broke")));
    const next = reloads.now(live, "reload_skills", ada);
    await expect(failing).rejects.toThrow("it broke");
    expect(value(await next).to.version).toBe(2);
    await runtime.shutDown(NEVER);
  });

  it("P6: replaces what cannot be read any more, and then differs from nothing", async () => {
    const { stage, runtime, files, live } = await taught(SNAPSHOT);
    const store = altered(stage.world.store, {
      readBlob: async () => fail("session_corrupt", { reason: "it is damaged" }),
    });
    files.skills = { entries: [skill("zeta")], diagnostics: [] };
    stage.world.known.forget(live.key.tenantId);
    const reloads = new Reloads({ ...stage.world, store });
    const reloaded = value(await reloads.now(live, "reload_skills", ada));
    expect(reloaded.difference).toMatch(/^\+ zeta/m);
    expect(reloaded.difference).not.toMatch(/^-/m);
    await runtime.shutDown(NEVER);
  });
});
