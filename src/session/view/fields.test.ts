import { describe, expect, it } from "vitest";
import { type Persona, writePersona } from "../../core/persona.ts";
import { canonicalJson } from "../../core/skill/snapshot.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { altered } from "../altered-store.fixture.ts";
import { type Hand, SERVER, Stage, value } from "../stage.fixture.ts";
import { type FieldsOptions, sessionFields } from "./fields.ts";

const PERSONA: Persona = {
  files: [{ name: "SOUL.md", source: "user", path: "SOUL.md", text: "Be kind." }],
  diagnostics: [],
};

const ORDER: FieldsOptions = { isFull: false, after: 0, limit: 100 };

async function fieldsOf({ stage, live }: Hand, order: Partial<FieldsOptions> = {}) {
  return value(await sessionFields(stage.world, live, { ...ORDER, ...order }));
}

/** Gives a session these skills and this persona, as reloads do. */
async function taught(hand: Hand) {
  const skills = await stored(hand, canonicalJson(SNAPSHOT));
  await hand.say("reload_skills", { hash: skills, difference: "+ all" });
  const persona = await stored(hand, writePersona(PERSONA));
  await hand.say("reload_persona", { hash: persona, difference: "+ SOUL.md" });
}

async function stored({ stage, live }: Hand, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return value(await stage.world.store.writeBlob(live.key.tenantId, bytes));
}

describe("the fields of a session", () => {
  it("are all there, under the seed's names", async () => {
    const stage = await Stage.open();
    const modelConfig = { modelId: null, reasoning: "high", temperature: 0 };
    const hand = await stage.created({ modelConfig });
    expect(await fieldsOf(hand)).toEqual({
      v: 1,
      session_id: hand.sessionId,
      active_agent: "echo",
      skill_snapshot: { snapshot_version: 1, hash: "none", entries: [], diagnostics: [] },
      persona: { version: 1, hash: "none", files: [], diagnostics: [] },
      model_config: { name: null, temperature: 0, reasoning_level: "high" },
      conversation_state: { messages: [], messageCount: 0 },
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      last_updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      reload_count: 0,
      command_history: [],
    });
  });

  it("have the bodies of skills only for who wants them, and the persona always", async () => {
    const hand = await (await Stage.open()).created();
    await taught(hand);
    const { skill_snapshot: brief, persona } = await fieldsOf(hand);
    const { entries, diagnostics } = SNAPSHOT;
    const shown = entries.map(({ body, ...entry }) => ({ ...entry, body_chars: body.length }));
    expect(brief).toMatchObject({ entries: shown, diagnostics });
    expect(JSON.stringify(brief)).not.toContain("The instructions of");
    expect(persona).toMatchObject(PERSONA);
    const { skill_snapshot: full } = await fieldsOf(hand, { isFull: true });
    expect(full).toMatchObject({ entries, diagnostics });
  });

  it("count the reloads, each of which moves one version", async () => {
    const hand = await (await Stage.open()).created();
    await taught(hand);
    const before = await fieldsOf(hand);
    expect(before.reload_count).toBe(2);
    expect(before.skill_snapshot).toMatchObject({ snapshot_version: 2 });
    await hand.say("reload_skills", { hash: "none", difference: "- all" });
    const { skill_snapshot, reload_count, last_updated_at, ...others } = await fieldsOf(hand);
    expect([reload_count, last_updated_at >= before.last_updated_at]).toEqual([3, true]);
    const emptied = { snapshot_version: 3, hash: "none", entries: [], diagnostics: [] };
    expect(skill_snapshot).toEqual(emptied);
    expect(before).toMatchObject(others);
  });

  it("P7: are equal after a restart", async () => {
    const stage = await Stage.open();
    const hand = await stage.created({ modelConfig: { modelId: null } });
    await taught(hand);
    await hand.turn("say one", "tool t1 kind=edit title=Rename");
    await hand.say("stop", { reason: "daemon_shutdown" }, SERVER);
    await hand.live.until(({ connection }) => connection.sessionState === "inactive");
    const before = await fieldsOf(hand);
    expect(before).toMatchObject({ persona: PERSONA, conversation_state: { messageCount: 3 } });
    expect(await hand.live.release()).toBe(true);
    const after = await Stage.open({ folder: stage.folder });
    expect(await fieldsOf(await after.opened(hand.sessionId))).toEqual(before);
  });
});

describe("the conversation", () => {
  it("is in the order in which it was said, each tool's result with its call", async () => {
    const hand = await (await Stage.open()).created();
    await hand.turn("say before", "tool t1 kind=read title=Look text=seen", "say after");
    await hand.turn("say again");
    const { messages, messageCount } = (await fieldsOf(hand)).conversation_state;
    expect(messageCount).toBe(6);
    expect(messages.map(({ index, role }) => [index, role])).toEqual([
      [1, "user"],
      [2, "assistant"],
      [3, "tool"],
      [4, "assistant"],
      [5, "user"],
      [6, "assistant"],
    ]);
    expect(messages[2]).toMatchObject({
      toolCallId: "t1",
      status: "completed",
      call: { title: "Look", kind: "read" },
      result: { content: [{ content: { text: "seen" } }] },
    });
  });

  it("comes in pages that make the whole, in any size", async () => {
    const hand = await (await Stage.open()).created();
    for (const word of ["one", "two", "three"]) await hand.turn(`say ${word}`);
    const whole = (await fieldsOf(hand)).conversation_state;
    expect(whole.nextCursor).toBeUndefined();
    for (const limit of [1, 2, 4]) {
      const paged: object[] = [];
      let after: number | undefined = 0;
      while (after !== undefined) {
        const { conversation_state } = await fieldsOf(hand, { after, limit });
        expect(conversation_state.messages.length).toBeLessThanOrEqual(limit);
        paged.push(...conversation_state.messages);
        after = conversation_state.nextCursor;
      }
      expect(paged).toEqual(whole.messages);
    }
    const beyond = (await fieldsOf(hand, { after: 99 })).conversation_state;
    expect(beyond).toEqual({ messages: [], messageCount: whole.messageCount });
  });

  it("P6: goes on around a message that cannot be read, and says which", async () => {
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          readMessages: async (...args) => {
            const page = await real.readMessages(...args);
            if (!page.ok) return page;
            const rows = page.value.rows.map((row) => (row.id === 2 ? { id: 2, text: "{" } : row));
            return { ok: true, value: { ...page.value, rows } };
          },
        }),
    });
    const hand = await stage.created();
    for (const word of ["one", "two"]) await hand.turn(`say ${word}`);
    const { messages, unreadable } = (await fieldsOf(hand)).conversation_state;
    expect(messages.map(({ index }) => index)).toEqual([1, 3, 4]);
    expect(unreadable).toEqual([2]);
  });
});
