import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { SEARCH_QUERY_CHARS_MAX } from "../../core/limits.ts";
import { Team } from "../identity/team.fixture.ts";

const rows = (body: JsonObject): readonly JsonObject[] =>
  Array.isArray(body.hits) ? body.hits : [];

/** Two sessions of Ada's with a turn each, the older first, and one of Bob's. */
async function open() {
  const team = await Team.open();
  const later = () => {
    team.people.world.stage.aheadMs += 1_000;
  };
  const one = await team.made(team.ada);
  await team.turn(team.ada, one.path, "say the harbour is closed");
  later();
  const two = await team.made(team.ada);
  await team.turn(team.ada, two.path, "say the Hafen, no: fixHarbourGate");
  later();
  const bobs = await team.made(team.bob);
  await team.turn(team.bob, bobs.path, "say bob was at the harbour");
  const search = async (by: typeof team.ada, query: string, more = "") => {
    const q = encodeURIComponent(query);
    const { status, body } = await by.call("GET", `/search?q=${q}${more}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  const found = async (by: typeof team.ada, query: string, more = "") => {
    const hits = rows(await search(by, query, more));
    return hits.map(({ session, role }) => `${nameOf(session)} ${role}`);
  };
  const nameOf = (session: unknown) => {
    const { sessionId } = Object(session);
    const names: Readonly<Record<string, string>> = {
      [String(one.sessionId)]: "one",
      [String(two.sessionId)]: "two",
      [String(bobs.sessionId)]: "bobs",
    };
    return names[sessionId];
  };
  return { team, one, two, bobs, search, found };
}

describe("GET /search", () => {
  it("finds what people and agents said, the newest first, with what was found", async () => {
    const { team, two, found, search } = await open();
    expect(await found(team.ada, "harbour")).toEqual([
      "two assistant",
      "two user",
      "one assistant",
      "one user",
    ]);
    const [hit] = rows(await search(team.ada, "hafen fixhar"));
    expect(hit).toMatchObject({
      session: { sessionId: two.sessionId, status: "ready", createdBy: "ada" },
      role: "assistant",
      snippet: "the Hafen, no: fixHarbourGate",
      marks: [
        [4, 9],
        [15, 29],
      ],
    });
    expect(hit?.turnId).toEqual(expect.any(String));
    expect(new Date(String(hit?.at)).getTime()).toBeGreaterThan(0);
  });

  it("P8: has nothing of others' private sessions, in hits, pages or cursors", async () => {
    const { team, bobs, found, search } = await open();
    expect(await found(team.ada, "bob")).toEqual([]);
    expect(await found(team.adm, "harbour")).toEqual([]);
    expect(await found(team.own, "bob")).toEqual(["bobs assistant", "bobs user"]);
    const first = await search(team.ada, "harbour", "&size=2");
    const pageOf = (cursor: unknown) => search(team.ada, "harbour", `&size=2&cursor=${cursor}`);
    const second = await pageOf(first.nextCursor);
    expect(second).not.toHaveProperty("nextCursor");
    const moved = (body: JsonObject) => JSON.stringify(body).replaceAll(/"updatedAt":"[^"]*"/g, "");
    await team.turn(team.bob, bobs.path, "say harbour, harbour");
    expect(moved(await search(team.ada, "harbour", "&size=2"))).toBe(moved(first));
    expect(moved(await pageOf(first.nextCursor))).toBe(moved(second));
  });

  it("P8: has cursors that can be neither read nor made", async () => {
    const { team, search } = await open();
    const { nextCursor } = await search(team.ada, "harbour", "&size=1");
    const bytes = Buffer.from(String(nextCursor), "base64url");
    expect(bytes.toString("latin1")).not.toMatch(/\[\d+,\d+\]/);
    bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30);
    const path = `/search?q=harbour&cursor=${bytes.toString("base64url")}`;
    expect((await team.ada.call("GET", path)).body).toMatchObject({ code: "invalid_cursor" });
  });

  it("filters as a list of sessions does", async () => {
    const { team, found } = await open();
    expect(await found(team.own, "harbour", "&user=bob")).toEqual(["bobs assistant", "bobs user"]);
    expect(await found(team.ada, "harbour", "&user=bob")).toEqual([]);
    expect(await found(team.own, "harbour", "&status=running")).toEqual([]);
    expect(await found(team.own, "harbour", "&text=Hafen")).toEqual(["two assistant", "two user"]);
    expect(await found(team.own, "harbour", "&closed=true")).toEqual([]);
  });

  it("finds what is committed: not a turn that failed, nor one of a deleted session", async () => {
    const { team, one, found } = await open();
    const prompt = { prompt: [{ type: "text", text: "say lighthouse\ncrash" }] };
    await team.ada.call("POST", `${one.path}/prompt`, { body: prompt });
    const status = async () => (await team.ada.call("GET", `${one.path}/status`)).body;
    await expect.poll(status).toMatchObject({ hasTurnError: true });
    expect(await found(team.ada, "lighthouse")).toEqual([]);
    const body = { sessionIds: [one.sessionId] };
    const gone = await team.own.call("POST", "/sessions/delete", { body });
    expect(gone.body).toMatchObject({ removed: [one.sessionId] });
    expect(await found(team.ada, "closed")).toEqual([]);
    expect(await found(team.ada, "harbour")).toEqual(["two assistant", "two user"]);
  });

  it("finds a title by its new words, and no more by the old ones", async () => {
    const { team, one, found } = await open();
    await team.ada.call("PATCH", `${one.path}/metadata`, { body: { displayName: "Quay 7" } });
    expect(await found(team.ada, "quay 7")).toEqual(["one title"]);
    await team.ada.call("PATCH", `${one.path}/metadata`, { body: { displayName: "Pier" } });
    expect(await found(team.ada, "quay")).toEqual([]);
  });

  it("takes what looks like operators as words, and refuses what has no word", async () => {
    const { team, search } = await open();
    for (const query of WORDS) await search(team.ada, query);
    for (const query of NO_WORDS) {
      const { status, body } = await team.ada.call("GET", `/search?q=${encodeURIComponent(query)}`);
      expect([status, body.code], query).toEqual([400, "invalid_search"]);
    }
    for (const [query, code] of WRONG) {
      const { status, body } = await team.ada.call("GET", `/search${query}`);
      expect([status, body.code], query).toEqual([400, code]);
    }
  });
});

const WORDS = [
  "AND OR NOT",
  "NEAR(harbour, 2)",
  '"harbour',
  "harbour*^",
  "session: harbour",
  "harbour' OR 1=1 --",
  "\u0000harbour\u0007",
  "x".repeat(SEARCH_QUERY_CHARS_MAX),
];

const NO_WORDS = [
  "",
  "***",
  '"',
  "\u0000",
  "x".repeat(10_000),
  "a b c d e f g h i j k l m n o p q",
];

const WRONG = [
  ["", "invalid_request"],
  ["?q=a&cursor=nonsense", "invalid_cursor"],
  ["?q=a&status=asleep", "invalid_request"],
  ["?q=a&workspace=%2Fnowhere", "workspace_mismatch"],
] as const;
