import { describe, expect, it } from "vitest";
import { NO_SKILLS } from "../../core/skill/skill.ts";
import { SNAPSHOT, skill } from "../../core/slash/snapshot.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { KIND, Shelf, steadyFields, taught } from "./taught.fixture.ts";
import { heard, withoutError } from "./work.fixture.ts";

const SKILLS = {
  path: "/skills/reload",
  field: "skill_snapshot",
  event: "skills_reloaded",
  edit: (shelf: Shelf) => {
    const entries = [...SNAPSHOT.entries.slice(1), skill("zeta")];
    shelf.skills = { entries, diagnostics: [] };
  },
  says: /^\+ zeta/m,
} as const;

const PERSONA = {
  path: "/persona/reload",
  field: "persona",
  event: "persona_reloaded",
  edit: (shelf: Shelf) => {
    const [soul] = KIND.files.map((file) => ({ ...file, text: "Be brief, and kind." }));
    shelf.persona = { files: soul === undefined ? [] : [soul], diagnostics: [] };
  },
  says: /SOUL\.md/,
} as const;

function full(): Shelf {
  return Object.assign(new Shelf(), { skills: SNAPSHOT, persona: KIND });
}

describe.each([SKILLS, PERSONA])("POST /session/:id$path", ({ path, field, event, edit, says }) => {
  it("changes that one field and no other, and says how", async () => {
    const shelf = full();
    const work = await taught(shelf);
    await work.turn("say hello");
    const before = await steadyFields(work);
    edit(shelf);
    expect(await steadyFields(work)).toEqual(before);
    const { status, body } = await work.call("POST", path);
    expect(status).toBe(200);
    expect(body).toEqual({
      from: { version: 1, hash: Object(before[field]).hash },
      to: { version: 2, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      difference: expect.stringMatching(says),
    });
    const after = await steadyFields(work);
    expect(after[field]).not.toEqual(before[field]);
    const change = { [field]: after[field], reload_count: 1 };
    expect(after).toEqual({ ...before, ...change });
  });

  it("tells everybody, and who did it", async () => {
    const shelf = full();
    const work = await taught(shelf, {}, "ada", "bob");
    const stream = await work.stream();
    edit(shelf);
    const { body } = await work.call("POST", path, { clientId: "bob" });
    const told = await heard(stream, event);
    expect(told.data).toMatchObject({ originatorClientId: "bob", data: body });
  });

  it("raises the version also where nothing has changed, and keeps the hash", async () => {
    const work = await taught(full());
    const { body } = await work.call("POST", path);
    const { from, to } = Object(body);
    expect([from.version, to.version, to.hash]).toEqual([1, 2, from.hash]);
  });

  it("is refused in a turn, and changes nothing", async () => {
    const shelf = full();
    const work = await taught(shelf);
    const before = await steadyFields(work);
    await work.admitted("hang");
    await work.live.until(({ running }) => running !== null);
    edit(shelf);
    const { status, body } = await work.call("POST", path);
    expect([status, body.code]).toEqual([409, "session_busy"]);
    expect(await steadyFields(work)).toEqual(before);
    await work.call("POST", "/cancel");
    await work.live.until(({ running }) => running === null);
    expect((await work.call("POST", path)).status).toBe(200);
  });

  it("leaves the session as it is where nothing can be read, and says why", async () => {
    const shelf = full();
    const work = await taught(shelf);
    const before = await steadyFields(work);
    shelf.fault = "It is gone.";
    const { status, body } = await work.call("POST", path);
    expect(status).toBe(500);
    const reason = { root: "bundled", reason: "It is gone." };
    expect(withoutError(body)).toMatchObject({ code: "skills_unavailable", ...reason });
    expect(await steadyFields(work)).toEqual(before);
  });

  it("is refused to strangers, and to clients that the session does not know", async () => {
    const work = await taught(full());
    const eve = await work.call("POST", path, { clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const foreign = await work.call("POST", path, { as: STRANGER });
    expect([foreign.status, foreign.body.code]).toEqual([404, "session_not_found"]);
  });
});

describe("two reloads at once", () => {
  it("are done one after the other, and none is lost", async () => {
    const shelf = full();
    const work = await taught(shelf);
    shelf.skills = NO_SKILLS;
    const both = await Promise.all([SKILLS, PERSONA].map(({ path }) => work.call("POST", path)));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await steadyFields(work)).reload_count).toBe(2);
  });
});
