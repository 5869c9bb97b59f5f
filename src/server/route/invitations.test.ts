import { describe, expect, it } from "vitest";
import { ATTEMPTS_FAILED_MAX, INVITATION_LIFE_MS } from "../../core/limits.ts";
import { REAL_CLOCK } from "../../session/world.fixture.ts";
import { tenant } from "../identity/identity.fixture.ts";
import { People, type Person } from "../identity/people.fixture.ts";
import type { ServerOptions } from "../settings.ts";

const DAY_MS = 86_400_000;

async function opened(settings: Pick<ServerOptions, "requireAuth" | "hasIdentities"> = {}) {
  const time = { aheadMs: 0 };
  const clock = { ...REAL_CLOCK, nowMs: () => Date.now() + time.aheadMs };
  const people = await People.open({ world: { clock }, clock, settings });
  const ada = await people.person("ada", "owner");
  const invite = (by: Person, user: string, role: string, more = {}) =>
    by.call("POST", "/invitations", { body: { user, role, ...more } });
  const redeem = (code: unknown) =>
    people.world.call("POST", "/invitations/redemption", { body: { code } });
  const code = async (user = "ben", role = "member") => {
    const { status, body } = await invite(ada, user, role);
    expect(status).toBe(200);
    return String(body.code);
  };
  const stored = async () => {
    const { store } = people.world.daemon;
    const page = await store.listDocuments(tenant("acme"), "invitation", null);
    return JSON.stringify(page);
  };
  return { people, ada, time, invite, redeem, code, stored };
}

describe("an invitation", () => {
  it("makes its user a member with a token of their own, once", async () => {
    const { people, ada, redeem, code, stored } = await opened();
    const ben = await code();
    expect(ben).toMatch(/^fmi_acme_[0-9a-f]{8}_[0-9a-z]{20}$/);
    expect(await stored()).not.toContain(ben.split("_").at(-1));
    const joined = await redeem(ben);
    expect([joined.status, joined.body]).toEqual([
      200,
      {
        tenant: "acme",
        user: "ben",
        role: "member",
        tokenId: expect.any(String),
        token: expect.stringMatching(/^fmt_acme_/),
      },
    ]);
    const caller = people.stranger(String(joined.body.token));
    expect((await caller.call("GET", "/tenant")).body).toMatchObject({ user: "ben" });
    const again = await redeem(ben);
    const unknown = await redeem(`fmi_acme_00000000_${"0".repeat(20)}`);
    expect([again.status, again.text]).toEqual([unknown.status, unknown.text]);
    expect(again.body.code).toBe("invitation_not_found");
    const { invitations } = (await ada.call("GET", "/invitations")).body;
    expect(invitations).toMatchObject([
      { user: "ben", role: "member", state: "redeemed", invitedBy: "ada" },
    ]);
    const { entries } = (await ada.call("GET", "/audit?limit=500")).body;
    const acts = Object(entries).map(({ act }: { act: string }) => act);
    const told = ["invitation_created", "invitation_redeemed", "member_set", "token_created"];
    expect(acts).toEqual(expect.arrayContaining(told));
  });

  it("lets one in of many who send its code at once", async () => {
    const { redeem, code } = await opened();
    const ben = await code();
    const all = await Promise.all(Array.from({ length: 4 }, () => redeem(ben)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("P8: is refused like an unknown one if expired, revoked, foreign or malformed", async () => {
    const { ada, time, redeem, code } = await opened();
    const [late, revoked] = [await code("late"), await code("revoked")];
    const { invitations } = (await ada.call("GET", "/invitations")).body;
    const { id } = Object(invitations).find(({ user }: { user: string }) => user === "revoked");
    expect((await ada.call("DELETE", `/invitations/${id}`)).status).toBe(204);
    expect((await ada.call("DELETE", `/invitations/${id}`)).status).toBe(404);
    time.aheadMs = INVITATION_LIFE_MS;
    const refused = await redeem(`fmi_acme_00000000_${"0".repeat(20)}`);
    expect(refused.status).toBe(404);
    const other = late.replace("acme", "other");
    for (const wrong of [late, revoked, other, "", "fmi", 7, null, "x".repeat(10_000)]) {
      const answer = await redeem(wrong);
      expect([answer.status, answer.text]).toEqual([refused.status, refused.text]);
    }
  });

  it("P10: is guessed no more often than a token", async () => {
    const { redeem, code } = await opened();
    const ben = await code();
    const guess = (n: number) => redeem(`fmi_acme_${`${n}`.padStart(8, "0")}_${"0".repeat(20)}`);
    for (let n = 0; n < ATTEMPTS_FAILED_MAX; n += 1) expect((await guess(n)).status).toBe(404);
    const held = await redeem(ben);
    expect([held.status, held.body.code]).toEqual([429, "too_many_attempts"]);
  });

  it("is redeemed without a token also where every other route needs one", async () => {
    const { people, redeem, code } = await opened({ requireAuth: true, hasIdentities: true });
    expect((await people.world.call("GET", "/health")).status).toBe(401);
    expect((await redeem(await code())).status).toBe(200);
  });

  it("is for those who are no members, never above the role of the inviter", async () => {
    const { people, ada, invite, redeem } = await opened();
    const grace = await people.person("grace", "admin");
    const member = await people.person("max", "member");
    const codeOf = async (role: string, by: Person) => {
      const { status, body } = await invite(by, `new-${role}`, role);
      return [status, body.code];
    };
    expect(await codeOf("owner", grace)).toEqual([403, "role_required"]);
    expect(await codeOf("viewer", member)).toEqual([403, "role_required"]);
    expect((await invite(grace, "ada", "viewer")).body.code).toBe("member_exists");
    const [, code] = await codeOf("admin", grace);
    const owned = await invite(ada, "second", "owner");
    const revoked = await grace.call("DELETE", `/invitations/${owned.body.id}`);
    expect(revoked.body.code).toBe("role_required");
    // Who may not invite any more has not invited.
    await ada.call("POST", "/members/grace", { body: { role: "member" } });
    expect((await redeem(code)).status).toBe(404);
    await ada.call("POST", "/members/grace", { body: { role: "admin" } });
    expect((await redeem(code)).status).toBe(200);
  });

  it("has a bounded life, a week unless it is told otherwise", async () => {
    const { ada, invite } = await opened();
    const { body } = await invite(ada, "ben", "member");
    const lifeMs = Date.parse(String(body.expiresAt)) - Date.parse(String(body.createdAt));
    expect(lifeMs).toBe(7 * DAY_MS);
    for (const expiresInMs of [0, 31 * DAY_MS, 1.5, "1d"]) {
      expect((await invite(ada, "cyd", "member", { expiresInMs })).status).toBe(400);
    }
  });
});
