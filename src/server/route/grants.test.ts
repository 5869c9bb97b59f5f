import { describe, expect, it } from "vitest";
import { Approvals } from "./approval.fixture.ts";
import { heard } from "./work.fixture.ts";

const LIST = "ask kind=execute command=ls";
const EDIT = "ask kind=edit path=/a/b.ts";

/** A session in which two things have been allowed for good. */
async function granted(): Promise<Approvals> {
  const session = await Approvals.open();
  await session.vote(await session.asked(LIST), "allow_always");
  await session.vote(await session.asked(EDIT), "allow_always");
  await session.turn(LIST, EDIT);
  expect(session.decided).toEqual(["grant", "grant"]);
  return session;
}

const keys = async (session: Approvals) => {
  const { grants } = await session.view();
  return Array.isArray(grants) ? grants.map(({ key }) => key) : grants;
};

const keyPath = (key: string) => `/grants/${encodeURIComponent(key)}`;

describe("DELETE /session/:id/grants/:key", () => {
  it("P4: takes one back, and the next such call asks again", async () => {
    const session = await granted();
    const { status } = await session.call("DELETE", keyPath("edit:/a/b.ts"));
    expect(status).toBe(204);
    const revoked = await heard(session.stream, "session_grant_revoked");
    expect(revoked.data).toMatchObject({
      originatorClientId: "ada-1",
      originatorUserId: "ada",
      data: { key: "edit:/a/b.ts" },
    });
    expect(await keys(session)).toEqual(["execute:ls"]);
    const requestId = await session.asked(LIST, EDIT);
    expect(session.decided).toHaveLength(3);
    await session.vote(requestId, "allow_once");
    expect(await keys(session)).toEqual(["execute:ls"]);
  });

  it("of a key that was not granted, or no more, is 404", async () => {
    const session = await granted();
    const again = async (key: string) => {
      const { status, body } = await session.call("DELETE", keyPath(key));
      return [status, body.code, body.key];
    };
    expect(await again("execute:rm")).toEqual([404, "grant_not_found", "execute:rm"]);
    await session.call("DELETE", keyPath("execute:ls"));
    expect(await again("execute:ls")).toEqual([404, "grant_not_found", "execute:ls"]);
  });

  it("is for whoever may vote, in their own name", async () => {
    const session = await granted();
    const { people, path } = session;
    const viewer = await people.person("vic", "viewer");
    const path1 = `${path}${keyPath("execute:ls")}`;
    const refused = await viewer.call("DELETE", path1);
    expect([refused.status, refused.body.code]).toEqual([403, "role_required"]);
    const member = await people.person("bob", "member");
    const other = await member.call("DELETE", path1, { clientId: "ada-1" });
    expect([other.status, other.body.code]).toEqual([400, "invalid_client_id"]);
    expect((await member.call("DELETE", path1)).status).toBe(204);
    const revoked = await heard(session.stream, "session_grant_revoked");
    expect(revoked.data).toMatchObject({ originatorUserId: "bob" });
  });
});

describe("DELETE /session/:id/grants", () => {
  it("takes all of them back, and is done if there are none", async () => {
    const session = await granted();
    expect((await session.call("DELETE", "/grants")).status).toBe(204);
    expect(await keys(session)).toEqual([]);
    expect((await session.call("DELETE", "/grants")).status).toBe(204);
    await session.vote(await session.asked(LIST), "allow_once");
  });
});

describe("grants", () => {
  it("end with the live instance: after a close and a load the same call asks", async () => {
    const session = await granted();
    expect((await session.call("DELETE", "")).status).toBe(204);
    const { ada, people, path } = session;
    const loaded = await ada.call("POST", `${path}/load`, { body: {}, clientId: "ada-1" });
    expect(loaded.status).toBe(200);
    expect(await keys(session)).toEqual([]);
    const prompt = [{ type: "text", text: LIST }];
    await ada.call("POST", `${path}/prompt`, { body: { prompt }, clientId: "ada-1" });
    const live = people.world.daemon.host.live[0] ?? expect.fail();
    await live.until(({ connection }) => connection.sessionState === "waiting");
  });
});
