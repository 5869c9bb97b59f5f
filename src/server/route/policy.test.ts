import { describe, expect, it } from "vitest";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { TenantPolicies } from "../../session/tenant/tenant-policies.ts";
import { value } from "../../store/kit/expect.ts";
import { DaemonWorld } from "../daemon.fixture.ts";
import { ACME, OPERATOR } from "../identity/identity.fixture.ts";
import { PolicyTeam } from "./policy.fixture.ts";
import { policyRoutes } from "./tenant.ts";

const MEMBER = { mode: "ask", autonomy: "manual", agents: ["echo"], selfApproval: false };

describe("GET /tenant/policy", () => {
  it("tells each user what binds them, and the whole of it to owners only", async () => {
    const team = await PolicyTeam.open();
    const { body: mels } = await team.mel.call("GET", "/tenant/policy");
    expect(mels).toMatchObject({
      v: 1,
      version: 0,
      policy: null,
      ceiling: { role: "member", mode: "allowlist", autonomy: "balanced", selfApproval: true },
    });
    const { body: adas } = await team.ada.call("GET", "/tenant/policy");
    expect(adas).toMatchObject({
      policy: { roles: { member: { mode: "allowlist" }, owner: { mode: "yolo" } } },
      ceiling: { role: "owner", mode: "yolo" },
    });
  });

  it("binds nobody where callers need no token, and cannot be set there", async () => {
    const world = await DaemonWorld.open({ routes: policyRoutes, needsToken: false });
    const { body } = await world.call("GET", "/tenant/policy");
    expect(body).toEqual({ v: 1, version: 0, policy: null, ceiling: null });
    const set = await world.call("PUT", "/tenant/policy", { body: { version: 0, policy: {} } });
    expect(set).toMatchObject({ status: 401, body: { code: "token_required" } });
  });
});

describe("PUT /tenant/policy", () => {
  it("is for owners, replaces the whole, and is in the audit with what changed", async () => {
    const team = await PolicyTeam.open();
    const body = { version: 0, policy: { roles: { member: MEMBER }, visibility: "tenant" } };
    const put = (who: typeof team.ada) => who.call("PUT", "/tenant/policy", { body });
    expect(await put(team.mel)).toMatchObject({ status: 403, body: { code: "role_required" } });
    const set = await put(team.ada);
    expect(set).toMatchObject({
      status: 200,
      body: { version: 1, policy: { roles: { member: { ...MEMBER, models: "any" } } } },
    });
    const { body: audit } = await team.ada.call("GET", "/audit?act=policy_set");
    expect(audit.entries).toMatchObject([
      {
        act: "policy_set",
        actor: { kind: "client", userId: "ada" },
        details: {
          version: 1,
          changed: [
            "member.mode: ask",
            "member.autonomy: manual",
            "member.agents: echo",
            "member.selfApproval: no",
            "visibility: tenant",
          ],
        },
      },
    ]);
  });

  it("tells the second of two owners who change it at once what to do", async () => {
    const team = await PolicyTeam.open();
    const body = { version: 0, policy: { visibility: "tenant" } };
    const both = await Promise.all([
      team.ada.call("PUT", "/tenant/policy", { body }),
      team.ada.call("PUT", "/tenant/policy", { body }),
    ]);
    const [first, second] = both.toSorted((a, b) => a.status - b.status);
    expect(first?.status).toBe(200);
    expect(second).toMatchObject({
      status: 409,
      body: { code: "policy_conflict", version: 1, expected: 0 },
    });
    const again = { body: { ...body, version: second?.body.version } };
    expect((await team.ada.call("PUT", "/tenant/policy", again)).status).toBe(200);
  });

  it.each([
    ["a mode", { roles: { member: { mode: "free" } } }, ["roles.member.mode", '"yolo"']],
    ["a profile", { roles: { admin: { autonomy: 3 } } }, ["roles.admin.autonomy", '"manual"']],
    ["a field of a role", { roles: { member: { colour: [] } } }, ["colour;", "agents, models"]],
    ["a mistyped one", { roles: { member: { agent: [] } } }, ["roles.member.agent", '"agents"']],
    ["a role", { roles: { guest: {} } }, ["guest;", "owner, admin, member"]],
    ["a field", { visible: "tenant" }, ["visible;", "roles, visibility"]],
    ["a visibility", { visibility: "public" }, ["policy.visibility", '"private"']],
    ["a list", { roles: { member: { models: "large" } } }, ["roles.member.models"]],
    ["an agent", { roles: { member: { agents: ["nobody"] } } }, ["nobody", "echo"]],
    ["too many names", { roles: { member: { skills: many(65) } } }, ["roles.member.skills"]],
    ["no version", undefined, ["version"]],
  ])("refuses unknown words, with those that there are: %s", async (_what, policy, texts) => {
    const team = await PolicyTeam.open();
    const body = policy === undefined ? { policy: {} } : { version: 0, policy };
    const set = await team.ada.call("PUT", "/tenant/policy", { body });
    expect(set.status, set.text).toBe(400);
    for (const text of texts) expect(String(set.body.error)).toContain(text);
    expect((await team.ada.call("GET", "/tenant/policy")).body.version).toBe(0);
  });

  it("says who sees new sessions; without it they are private", async () => {
    const team = await PolicyTeam.open({ visibility: "policy" });
    const seen = async () => {
      const { body } = await team.mel.call("POST", "/session", {
        body: { sessionScope: "thread" },
      });
      return (await team.max.call("GET", `/session/${body.sessionId}/status`)).status;
    };
    expect(await seen()).toBe(404);
    await team.policy({ visibility: "tenant" });
    expect(await seen()).toBe(200);
  });

  it("counts at once if another process makes it", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, { mode: "yolo" });
    await room.verdict(await room.admitted(team.ada, "ask command=ls", "say done"));
    const { store } = team.people.world.daemon;
    const elsewhere = new TenantPolicies(store, SYSTEM_CLOCK);
    const { policy } = await value(elsewhere.of(ACME));
    const owner = { ...policy.roles.owner, mode: "ask", autonomy: "manual" } as const;
    const lowered = { ...policy, roles: { ...policy.roles, owner } };
    await value(elsewhere.set(ACME, { version: 0, policy: lowered }, OPERATOR));
    const ask = await room.asked(team.ada, "ask command=ls", "say done");
    expect(ask).toMatchObject({ capped: { role: "owner" } });
    await room.vote(team.ada, ask.requestId);
  });

  it("is refused, not ignored, if what is stored cannot be read", async () => {
    const team = await PolicyTeam.open();
    const { store } = team.people.world.daemon.world;
    const value1 = { roles: { member: { mode: "free" } } };
    const document = { kind: "policy", key: "all", expectedVersion: 0, value: value1 };
    await value(store.writeDocument(ACME, document));
    const made = await team.mel.call("POST", "/session", { body: {} });
    expect(made.status, made.text).toBeGreaterThanOrEqual(500);
    const set = await team.ada.call("PUT", "/tenant/policy", { body: { version: 1, policy: {} } });
    expect(set.status, set.text).toBe(200);
    expect((await team.mel.call("POST", "/session", { body: {} })).status).toBe(200);
  });
});

function many(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `skill-${index}`);
}
