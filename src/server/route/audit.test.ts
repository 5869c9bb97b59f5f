import { describe, expect, it } from "vitest";
import { LOCAL } from "../daemon.fixture.ts";
import { SessionBeside } from "./beside.fixture.ts";

interface Entry {
  readonly seq: number;
  readonly act: string;
}

async function pages(beside: SessionBeside, limit: number): Promise<readonly Entry[]> {
  const read: Entry[] = [];
  for (let query = `?limit=${limit}`; ; ) {
    const { status, body } = await beside.get(`/audit${query}`);
    expect(status).toBe(200);
    const entries: readonly Entry[] = Object(body.entries);
    expect(entries.length).toBeLessThanOrEqual(limit);
    read.push(...entries);
    if (body.hasMore !== true) return read;
    query = `?limit=${limit}&cursor=${body.nextCursor}`;
  }
}

describe("GET /session/:id/audit", () => {
  it("is what was done, by whom and when, newest first", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("say hello");
    const { status, body } = await beside.get("/audit");
    expect(status).toBe(200);
    expect(body).toMatchObject({ v: 1, sessionId: beside.sessionId, hasMore: false });
    const entries: readonly Entry[] = Object(body.entries);
    const seqs = entries.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
    expect(entries.map(({ act }) => act)).toContain("turn_complete");
    expect(entries.at(-1)).toMatchObject({
      act: "session_created",
      accepted: true,
      actor: { kind: "client", clientId: "ada" },
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await pages(beside, 3)).toEqual(entries);
  });

  it("is there when the session is not any more", async () => {
    const beside = await SessionBeside.open();
    const actor = { kind: "server" } as const;
    await beside.world.daemon.host.delete(beside.key, actor);
    const { status, body } = await beside.get("/audit");
    expect(status).toBe(200);
    expect(Object(body.entries).length).toBeGreaterThan(0);
  });

  it("is for those who may do something, and not for those who may only look", async () => {
    const beside = await SessionBeside.open();
    for (const role of ["owner", "admin", "member"] as const) {
      expect((await beside.get("/audit", { as: { ...LOCAL, role } })).status).toBe(200);
    }
    const { status, body } = await beside.get("/audit", { as: { ...LOCAL, role: "viewer" } });
    expect([status, body.code]).toEqual([403, "role_required"]);
  });

  it("P8: takes no cursor of another session, and none that it has not given", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("say hello");
    const { nextCursor } = (await beside.get("/audit?limit=1")).body;
    const other = await SessionBeside.open();
    for (const cursor of [nextCursor, `${nextCursor}x`, "", "odd"]) {
      const { status, body } = await other.get(`/audit?cursor=${cursor}`);
      expect([status, body.code]).toEqual([400, "invalid_cursor"]);
    }
    for (const limit of ["0", "501", "1.5", "x"]) {
      const { status, body } = await other.get(`/audit?limit=${limit}`);
      expect([status, body.code]).toEqual([400, "invalid_request"]);
    }
  });
});
