import { describe, expect, it } from "vitest";
import { NO_PERSONA, type Persona } from "../../core/persona.ts";
import { fail, ok } from "../../core/result.ts";
import type { Instructed } from "../../core/session/state.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { altered } from "../altered-store.fixture.ts";
import { PERSONA, SKILLS, take } from "../knowledge.ts";
import { type Hand, Stage, TENANT, value } from "../stage.fixture.ts";
import { Briefing } from "./briefing.ts";

function kind(text: string): Persona {
  return { files: [{ name: "SOUL.md", source: "user", path: "SOUL.md", text }], diagnostics: [] };
}

/** A session's choice of skills and persona, as they are in the store. */
async function choice(stage: Stage, hand: Hand, persona: Persona) {
  const loader = { skills: async () => ok(SNAPSHOT), persona: async () => ok(persona) };
  const world = { ...stage.world, loader };
  const place = { tenantId: TENANT, workspaceCwd: "/" };
  const skills = { version: 1, hash: value(await take(world, place, SKILLS)).hash };
  const self = { version: 1, hash: value(await take(world, place, PERSONA)).hash };
  return { ...hand.live.session.chosen, skills, persona: self };
}

async function begun(instructed: Instructed | null = null) {
  const stage = await Stage.open();
  const hand = await stage.created();
  const chosen = await choice(stage, hand, kind("Be kind."));
  const briefing = new Briefing(stage.world, TENANT, { ...hand.live.session, instructed });
  await briefing.learn(chosen);
  const told = { skills: chosen.skills.hash, persona: chosen.persona.hash };
  return { stage, hand, chosen, briefing, told };
}

describe("what an agent is told beside the conversation", () => {
  it("is told at once where the agent has a place for it, and not again", async () => {
    const { briefing, told } = await begun();
    const sent = briefing.arrived("new", true);
    expect(sent).toEqual({ via: "system_prompt", text: briefing.text, ...told });
    expect(sent?.text).toContain("Be kind.");
    expect(briefing.updates()).toEqual([]);
  });

  it("is told with the first prompt where it has none, which has it already", async () => {
    const { briefing, told } = await begun();
    expect(briefing.arrived("seeded", false)).toBeNull();
    const sent = { via: "context_block", text: briefing.text, ...told };
    expect(briefing.updates()).toEqual([{ sent, block: null }]);
    expect(briefing.updates()).toEqual([]);
  });

  it("is nothing, for an agent that remembers having been told", async () => {
    const { briefing, told, stage, hand, chosen } = await begun();
    const back = new Briefing(stage.world, TENANT, { ...hand.live.session, instructed: told });
    await back.learn(chosen);
    expect(back.arrived("resumed", false)).toBeNull();
    expect(back.updates()).toEqual([]);
    expect(back.arrived("loaded", true)).toBeNull();
    expect(briefing.isOf(chosen)).toBe(true);
  });

  it("P7: is told to one that remembers a time at which nothing had been told", async () => {
    const { briefing } = await begun();
    expect(briefing.arrived("resumed", false)).toBeNull();
    const [update] = briefing.updates();
    expect(update?.block).toMatchObject({ text: expect.stringContaining("Be kind.") });
    expect(update?.block).toMatchObject({ text: expect.stringMatching(/^<instructions>\n/) });
  });

  it("is told anew after a reload, behind what the first prompt carries", async () => {
    const { stage, hand, briefing } = await begun();
    briefing.arrived("new", false);
    const other = await choice(stage, hand, kind("Be brief."));
    expect(briefing.isOf(other)).toBe(false);
    await briefing.learn(other);
    const [carried, news, ...rest] = briefing.updates();
    expect([carried?.sent.text, news?.sent.text]).toEqual([
      expect.stringContaining("Be kind."),
      expect.stringContaining("Be brief."),
    ]);
    expect([carried?.block, news?.block?.type, rest]).toEqual([null, "text", []]);
  });

  it("is told once to apply no more, if there is nothing any more", async () => {
    const { briefing, hand } = await begun();
    briefing.arrived("new", true);
    await briefing.learn(hand.live.session.chosen);
    const [update] = briefing.updates();
    expect(update?.sent.text).toBe(
      "The instructions that you were given before do not apply any more.",
    );
    expect(briefing.updates()).toEqual([]);
  });

  it("is nothing at all where there is nothing to say", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const briefing = new Briefing(stage.world, TENANT, hand.live.session);
    await briefing.learn(await choice(stage, hand, NO_PERSONA));
    const silent = new Briefing(stage.world, TENANT, hand.live.session);
    await silent.learn(hand.live.session.chosen);
    expect(silent.text).toBeNull();
    expect([silent.arrived("new", false), silent.updates()]).toEqual([null, []]);
    expect(briefing.text).toContain("# Skills");
  });

  it("P6: is missed and logged where it cannot be read, and stops nobody", async () => {
    const { stage, hand, chosen } = await begun();
    const store = altered(stage.world.store, {
      readBlob: async () => fail("session_corrupt", { reason: "it is damaged" }),
    });
    stage.world.known.forget(TENANT);
    const briefing = new Briefing({ ...stage.world, store }, TENANT, hand.live.session);
    await briefing.learn(chosen);
    expect(briefing.isOf(chosen)).toBe(true);
    expect([briefing.text, briefing.updates()]).toEqual([null, []]);
    expect(stage.logs).toContain("snapshot not read");
  });
});

describe("the skill that a prompt calls for", () => {
  it("is looked for in the session's own snapshot, by name and by alias", async () => {
    const { briefing } = await begun();
    const called = (text: string) => briefing.skillIn([{ type: "text", text }]);
    expect(called("/skill review this  file")).toMatchObject({
      entry: { skill_name: "review" },
      words: "this  file",
    });
    expect(called("/ci now")).toMatchObject({ entry: { skill_name: "commit" }, words: "now" });
    for (const none of ["/skills", "/skill nowhere", "/nowhere", "review", " /ci", "/two"]) {
      expect([none, called(none)]).toEqual([none, null]);
    }
    expect(briefing.skillIn([])).toBeNull();
  });
});
