import { describe, expect, it } from "vitest";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { KIND, Shelf, taught } from "./taught.fixture.ts";

function shelfWith(change: Partial<Shelf>): Shelf {
  return Object.assign(new Shelf(), change);
}

describe("GET /session/:id/fields", () => {
  it("has every field of the session under its published name", async () => {
    const work = await taught(shelfWith({ skills: SNAPSHOT, persona: KIND }));
    const { status, body } = await work.call("GET", "/fields");
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual([
      "v",
      "session_id",
      "active_agent",
      "skill_snapshot",
      "persona",
      "model_config",
      "conversation_state",
      "created_at",
      "last_updated_at",
      "reload_count",
      "command_history",
    ]);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    const { diagnostics } = SNAPSHOT;
    expect(body).toMatchObject({
      session_id: work.id,
      active_agent: "echo",
      skill_snapshot: { snapshot_version: 1, hash, diagnostics },
      persona: { version: 1, hash, ...KIND },
      model_config: { name: null },
      reload_count: 0,
    });
  });

  it("has the bodies of skills only where they are wanted", async () => {
    const work = await taught(shelfWith({ skills: SNAPSHOT }));
    const brief = await work.call("GET", "/fields");
    expect(brief.text).not.toContain("The instructions of");
    expect(brief.text).toContain('"body_chars":27');
    const full = await work.call("GET", "/fields?detail=full");
    expect(full.body).toMatchObject({ skill_snapshot: { entries: SNAPSHOT.entries } });
  });

  it("has the conversation in pages", async () => {
    const work = await taught(new Shelf());
    await work.turn("say one");
    await work.turn("say two");
    const page = async (query: string) => {
      const { body } = await work.call("GET", `/fields${query}`);
      const { messages, ...rest } = Object(body.conversation_state);
      const indexes = messages.map(({ index }: { index: number }) => index);
      return { indexes, ...rest };
    };
    expect(await page("")).toEqual({ indexes: [1, 2, 3, 4], messageCount: 4 });
    expect(await page("?messages=3")).toEqual({
      indexes: [1, 2, 3],
      messageCount: 4,
      nextCursor: 3,
    });
    expect(await page("?messages=3&after=3")).toEqual({ indexes: [4], messageCount: 4 });
  });

  it("has the commands that were given, and what came of them", async () => {
    const work = await taught(shelfWith({ skills: SNAPSHOT }));
    await work.turn("/skills");
    await work.turn("say hello");
    await work.turn("/no-such thing");
    const { body } = await work.call("GET", "/fields");
    const at = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(body.command_history).toEqual([
      { command: "/skills", code: "skills_listed", at },
      { command: "/no-such thing", code: "unknown_command", at },
    ]);
    expect(body.conversation_state).toMatchObject({ messageCount: 2 });
  });

  it("does not see files that change, until they are reloaded", async () => {
    const shelf = shelfWith({ skills: SNAPSHOT });
    const work = await taught(shelf);
    const before = (await work.call("GET", "/fields")).body;
    shelf.skills = { entries: [], diagnostics: [] };
    shelf.fault = "It is gone.";
    expect((await work.call("GET", "/fields")).body).toEqual(before);
  });

  it("refuses a query that means nothing", async () => {
    const work = await taught(new Shelf());
    const wrong = ["detail=all", "messages=0", "messages=501", "messages=-1", "messages=some"];
    for (const query of [...wrong, "after=-1", "after=1.5", "after=99999999999999999999"]) {
      const { status, body } = await work.call("GET", `/fields?${query}`);
      expect([query, status, body.code]).toEqual([query, 400, "invalid_request"]);
    }
  });

  it("P8: answers about another tenant's session as about none", async () => {
    const work = await taught(new Shelf());
    const foreign = await work.call("GET", "/fields", { as: STRANGER });
    const unknown = await work.world.call("GET", "/session/unknown/fields", { as: STRANGER });
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(foreign.text.replaceAll(work.id, "unknown")).toBe(unknown.text);
  });
});
