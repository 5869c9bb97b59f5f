import { describe, expect, it } from "vitest";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { ACME, BY_OWNER, user } from "../../server/identity/identity.fixture.ts";
import { Members } from "../../server/identity/members.ts";
import { TenantPolicies } from "../../session/tenant/tenant-policies.ts";
import { value } from "../../store/kit/expect.ts";
import { runIn, servedFolder } from "./data-folder.fixture.ts";
import { policy } from "./policy.ts";

async function opened() {
  const { folder, store } = await servedFolder();
  await value(new Members(store, SYSTEM_CLOCK).put(ACME, user("ada"), "owner", BY_OWNER));
  const run = (...args: readonly string[]) => runIn(folder, policy, ...args, "--tenant", "acme");
  return { run, store, policies: new TenantPolicies(store, SYSTEM_CLOCK) };
}

describe("fermata policy", () => {
  it("shows what holds, and says that it is no policy of the owners'", async () => {
    const { run } = await opened();
    const { exitCode, shown, stderr } = await run("show");
    expect(exitCode).toBe(0);
    expect(shown).toMatch(/FIELD +OWNER +ADMIN +MEMBER\nmode +yolo +yolo +allowlist\n/);
    expect(shown).toContain("New sessions are visible to: private");
    expect(stderr).toContain("No policy is set");
  });

  it("sets single fields, keeps the others, and takes all of them back", async () => {
    const { run, policies } = await opened();
    const first = ["member.mode=ask", "member.agents=claude,codex", "member.selfApproval=no"];
    expect((await run("set", ...first)).exitCode).toBe(0);
    const more = ["member.skills=none", "member.children=atOnce:2,tokens:500", "visibility=tenant"];
    expect((await run("set", ...more)).exitCode).toBe(0);
    expect((await run("show")).shown).toMatch(/children +any +any +atOnce:2,tokens:500\n/);
    expect(await value(policies.of(ACME))).toMatchObject({
      version: 2,
      policy: {
        roles: {
          member: {
            mode: "ask",
            autonomy: "balanced",
            agents: ["claude", "codex"],
            models: "any",
            skills: [],
            selfApproval: false,
          },
        },
        visibility: "tenant",
      },
    });
    expect((await run("reset")).shown).toMatch(/mode +yolo +yolo +allowlist/);
  });

  it("takes back a policy that cannot be read", async () => {
    const { run, store, policies } = await opened();
    const unreadable = { roles: { member: { mode: "free" } } };
    const document = { kind: "policy", key: "all", expectedVersion: 0, value: unreadable };
    await value(store.writeDocument(ACME, document));
    expect((await run("show")).exitCode).toBe(1);
    expect((await run("reset")).shown).toMatch(/mode +yolo +yolo +allowlist/);
    expect((await value(policies.of(ACME))).version).toBe(2);
    expect((await run("reset")).exitCode).toBe(0);
  });

  it.each([
    [["set", "member.mode=free"], 1, 'expected one of "ask"|"allowlist"|"yolo"'],
    [["set", "member.modes=ask"], 1, "its fields are mode, autonomy"],
    [["set", "guest.mode=ask"], 1, "its fields are owner, admin, member"],
    [["set", "member.selfApproval=maybe"], 1, "member.selfApproval"],
    [["set", "member.children=atOnce:9"], 1, "member.children"],
    [["set", "member.children=2"], 1, "member.children"],
    [["set", "mode"], 2, "expected ROLE.FIELD=VALUE"],
    [["set"], 2, "expected show, set ROLE.FIELD=VALUE or reset"],
    [["show", "all"], 2, 'unexpected argument "all"'],
  ])("refuses what it does not know, with what there is: %s", async (args, code, text) => {
    const { run, policies } = await opened();
    const { exitCode, stderr } = await run(...args);
    expect(stderr).toContain(text);
    expect(exitCode).toBe(code);
    expect((await value(policies.of(ACME))).version).toBe(0);
  });
});
