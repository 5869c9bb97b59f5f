import { describe, expect, it } from "vitest";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import type { Persona } from "../../core/persona.ts";
import { fail, ok } from "../../core/result.ts";
import { NO_SKILLS, type SkillSnapshot } from "../../core/skill/skill.ts";
import { SNAPSHOT, skill } from "../../core/slash/snapshot.fixture.ts";
import type { Loader } from "../../loader/loader.ts";
import type { SessionStore } from "../../store/store.ts";
import { look, NO_KNOWLEDGE, PERSONA, readKnowledge, SKILLS, take } from "../knowledge.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";

const STRANGER = parseTenantId("stranger") ?? expect.fail();
const NONE = { version: 1, hash: "none" };

const KIND: Persona = {
  files: [{ name: "SOUL.md", source: "user", path: "SOUL.md", text: "Be kind." }],
  diagnostics: [],
};

function loaderOf(skills: SkillSnapshot, persona: Persona = KIND): Loader {
  return { skills: async () => ok(skills), persona: async () => ok(persona) };
}

const placeOf = (tenantId: TenantId) => ({ tenantId, workspaceCwd: "/" });

function chosen(hash: string) {
  return { skills: { version: 1, hash }, persona: NONE };
}

async function codeOf(stage: Stage, tenantId: TenantId, hash: string): Promise<string> {
  const known = await readKnowledge(stage.world, tenantId, chosen(hash));
  return known.ok ? "ok" : known.refusal.code;
}

describe("what a session knows", () => {
  it("is what was loaded then, bodies and all, whatever is loaded later", async () => {
    const stage = await Stage.open({ loader: loaderOf(SNAPSHOT) });
    const skills = value(await take(stage.world, placeOf(TENANT), SKILLS));
    const persona = value(await take(stage.world, placeOf(TENANT), PERSONA));
    const later = { ...stage.world, loader: loaderOf(NO_SKILLS) };
    expect(value(await take(later, placeOf(TENANT), SKILLS)).hash).not.toBe(skills.hash);
    const known = await readKnowledge(stage.world, TENANT, {
      skills: { version: 1, hash: skills.hash },
      persona: { version: 1, hash: persona.hash },
    });
    expect(value(known)).toEqual({ skills: SNAPSHOT, persona: KIND });
  });

  it("is written and read once by all sessions of a tenant, which share it", async () => {
    const calls: string[] = [];
    const wrap = (store: SessionStore): SessionStore =>
      new Proxy(store, {
        get(target, name, receiver) {
          if (name === "writeBlob" || name === "readBlob") calls.push(name);
          const member: unknown = Reflect.get(target, name, receiver);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    const stage = await Stage.open({ loader: loaderOf(SNAPSHOT), wrap });
    const first = value(await take(stage.world, placeOf(TENANT), SKILLS));
    const again = value(await take(stage.world, placeOf(TENANT), SKILLS));
    const known = value(await readKnowledge(stage.world, TENANT, chosen(first.hash)));
    expect(again).toEqual(first);
    expect(known.skills).toBe(first.snapshot);
    expect(calls).toEqual(["writeBlob"]);
  });

  it("P6: is written anew where the store may have lost it with its tenant", async () => {
    const stage = await Stage.open({ loader: loaderOf(SNAPSHOT) });
    const { hash } = value(await take(stage.world, placeOf(STRANGER), SKILLS));
    const { store, holder } = stage.world;
    value(await store.removeTenant(STRANGER, holder));
    stage.world.known.forget(STRANGER);
    expect(await codeOf(stage, STRANGER, hash)).toBe("blob_not_found");
    value(await take(stage.world, placeOf(STRANGER), SKILLS));
    expect((await store.readBlob(STRANGER, hash)).ok).toBe(true);
  });

  it("P11: is named anew when a text in it has become a secret", async () => {
    const secret = { entries: [skill("deploy", { body: "The key is 4711." })], diagnostics: [] };
    const stage = await Stage.open({ loader: loaderOf(secret) });
    const plain = value(await take(stage.world, placeOf(TENANT), SKILLS));
    const world = { ...stage.world, redact: (text: string) => text.replaceAll("4711", "[gone]") };
    const taken = value(await take(world, placeOf(TENANT), SKILLS));
    expect(taken.snapshot.entries).toMatchObject([{ body: "The key is [gone]." }]);
    expect(taken.hash).not.toBe(plain.hash);
  });

  it("P8: cannot be read by another tenant, even by one who knows its hash", async () => {
    const stage = await Stage.open({ loader: loaderOf(SNAPSHOT) });
    const { hash } = value(await take(stage.world, placeOf(TENANT), SKILLS));
    expect(await codeOf(stage, TENANT, hash)).toBe("ok");
    const foreign = await codeOf(stage, STRANGER, hash);
    expect(foreign).toBe(await codeOf(stage, STRANGER, "0".repeat(64)));
    expect(foreign).not.toBe("ok");
    // One who has the same files has a copy of their own, under the same hash.
    expect(value(await take(stage.world, placeOf(STRANGER), SKILLS)).hash).toBe(hash);
    expect(await codeOf(stage, STRANGER, hash)).toBe("ok");
  });

  it("P11: has no secret in it, and neither has its hash", async () => {
    const secret = { entries: [skill("deploy", { body: "The key is 4711." })], diagnostics: [] };
    const stage = await Stage.open({ loader: loaderOf(secret) });
    const world = {
      ...stage.world,
      redact: (text: string) => text.replaceAll("4711", "[redacted]"),
    };
    const taken = value(await take(world, placeOf(TENANT), SKILLS));
    expect(taken.snapshot.entries).toMatchObject([{ body: "The key is [redacted]." }]);
    const plain = value(await take(stage.world, placeOf(STRANGER), SKILLS));
    expect(plain.hash).not.toBe(taken.hash);
    expect(await look(world, placeOf(TENANT), SKILLS)).toBe(taken.hash);
  });

  it("is nothing, for a session that has chosen nothing or has lost what it chose", async () => {
    const stage = await Stage.open({ loader: loaderOf(NO_SKILLS) });
    expect(value(await take(stage.world, placeOf(TENANT), SKILLS)).hash).toBe("none");
    for (const hash of ["none", "", "../../etc/passwd", "A".repeat(64)]) {
      const known = await readKnowledge(stage.world, TENANT, chosen(hash));
      expect(value(known)).toEqual(NO_KNOWLEDGE);
    }
  });

  it("P6: is refused with a reason, if what was kept is no snapshot", async () => {
    const stage = await Stage.open();
    const bytes = new TextEncoder().encode("no snapshot at all");
    const hash = value(await stage.world.store.writeBlob(TENANT, bytes));
    expect(await codeOf(stage, TENANT, hash)).toBe("session_corrupt");
  });
});

describe("a look at the files", () => {
  it("gives the hash that taking them would give, and keeps nothing", async () => {
    const stage = await Stage.open({ loader: loaderOf(SNAPSHOT) });
    const seen = await look(stage.world, placeOf(TENANT), SKILLS);
    expect(await codeOf(stage, TENANT, seen ?? "")).not.toBe("ok");
    expect(value(await take(stage.world, placeOf(TENANT), SKILLS)).hash).toBe(seen);
  });

  it("gives none where nothing can be read, and is no failure", async () => {
    const why = fail("skills_unavailable", { root: "bundled", reason: "It is gone." });
    const loader: Loader = { skills: async () => why, persona: async () => why };
    const stage = await Stage.open({ loader });
    expect(await look(stage.world, placeOf(TENANT), SKILLS)).toBeNull();
    expect(await take(stage.world, placeOf(TENANT), PERSONA)).toEqual(why);
  });
});
