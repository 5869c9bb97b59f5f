import { describe, expect, it } from "vitest";
import { PolicyTeam } from "./policy.fixture.ts";

const ROLES_MATTER = "P8, P9: roles are rules";

describe(`${ROLES_MATTER}: a member does not become an owner with two requests`, () => {
  it("is refused a session in which everything happens, by a named rule", async () => {
    const team = await PolicyTeam.open();
    const body = { mode: "yolo", sessionScope: "thread" };
    const made = await team.mel.call("POST", "/session", { body });
    expect(made).toMatchObject({
      status: 403,
      body: {
        code: "policy_forbids",
        rule: "mode",
        wanted: "yolo",
        allowed: "ask, allowlist",
        role: "member",
      },
    });
  });

  it.each([
    ["by its alias", "/sh touch pwned"],
    ["by its name", "/skill run touch pwned"],
    ["by another skill that dispatches to the shell", "/ship touch pwned"],
  ])("runs no shell of ours, approved by themselves or not: %s", async (_how, line) => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.mel);
    expect(await room.command(team.mel, line)).toMatchObject({
      status: "error",
      code: "session_shell_disabled",
    });
    expect(room.all("permission_request")).toEqual([]);
    expect(team.isMarked()).toBe(false);
  });

  it("runs none in a colleague's session, nor in an owner's where everything happens", async () => {
    const team = await PolicyTeam.open();
    for (const owner of [team.max, team.ada]) {
      const room = await team.session(owner, owner === team.ada ? { mode: "yolo" } : {});
      const answer = await room.command(team.mel, "/sh touch pwned");
      expect(answer).toMatchObject({ code: "session_shell_disabled" });
    }
    expect(team.isMarked()).toBe(false);
  });
});
