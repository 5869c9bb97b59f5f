import { describe, expect, it } from "vitest";
import { NO_PERSONA } from "../../core/persona.ts";
import { ok } from "../../core/result.ts";
import { loaded, SURROUNDINGS, skill } from "../../core/skill/skill.fixture.ts";
import { NO_TOOLS } from "../../session/world.fixture.ts";
import { PolicyTeam } from "./policy.fixture.ts";

const ENABLED = { stage: { settings: { enableShell: true } } };

describe("a shell of the server's", () => {
  it("works through its ask where callers need no token, as it always has", async () => {
    const team = await PolicyTeam.open({ needsToken: false });
    const room = await team.session(team.ada);
    const { requestId } = await room.asked(team.ada, "/sh touch wanted");
    expect((await room.vote(team.ada, requestId, "allow")).status).toBe(200);
    await room.stream.until(() => room.all("command_result").length === 1);
    expect(team.isMarked("wanted")).toBe(true);
  });

  it("is off for owners, too, unless the operator enables it", async () => {
    const team = await PolicyTeam.open();
    const room = await team.session(team.ada, { mode: "yolo" });
    const answer = await room.command(team.ada, "/sh touch pwned");
    expect(answer).toMatchObject({ code: "session_shell_disabled" });
    expect(team.isMarked()).toBe(false);
  });

  it("runs for an owner where it is enabled, and is asked of a member there", async () => {
    const team = await PolicyTeam.open(ENABLED);
    const room = await team.session(team.ada, { mode: "yolo" });
    expect(await room.command(team.ada, "/sh touch wanted")).toMatchObject({ status: "ok" });
    expect(team.isMarked("wanted")).toBe(true);
    const { requestId, capped } = await room.asked(team.mel, "/sh touch pwned");
    expect(capped).toMatchObject({ role: "member" });
    await room.vote(team.ada, requestId, "reject");
    await room.stream.until(() => room.all("command_result").length === 2);
    expect(team.isMarked()).toBe(false);
  });

  it("is not approved by its own user where the policy forbids that", async () => {
    const team = await PolicyTeam.open(ENABLED);
    await team.policy({ roles: { member: { selfApproval: false } } });
    const room = await team.session(team.mel);
    const { requestId } = await room.asked(team.mel, "/sh touch pwned");
    expect((await room.vote(team.mel, requestId, "allow")).status).toBe(403);
    expect((await room.vote(team.mel, requestId, "allow_always")).status).toBe(403);
    await room.vote(team.max, requestId, "reject");
    await room.stream.until(() => room.all("command_result").length === 1);
    expect(team.isMarked()).toBe(false);
  });
});

describe("a tool of an MCP server", () => {
  it("is asked of a member in an owner's session where everything happens", async () => {
    const ran: string[] = [];
    const header = { command: "db", commandTool: "db:drop" };
    const db = skill("db", "bundled", { ...header, invocationMode: "tool_dispatch" });
    const skills = loaded([db], { ...SURROUNDINGS, tools: new Set(["db:drop"]) });
    const loader = { skills: async () => ok(skills), persona: async () => ok(NO_PERSONA) };
    const call = {
      name: "db:drop",
      title: "drop",
      kind: "other",
      input: {},
      locations: [],
    } as const;
    const tools = {
      ...NO_TOOLS,
      callOf: async () => ok(call),
      run: async () => {
        ran.push("drop");
        return { isError: false, text: "dropped" };
      },
    };
    const team = await PolicyTeam.open({ stage: { loader, tools } });
    const room = await team.session(team.ada, { mode: "yolo" });
    const { requestId, capped } = await room.asked(team.mel, "/db all");
    expect(capped).toMatchObject({ role: "member" });
    await room.vote(team.ada, requestId, "reject");
    await room.stream.until(() => room.all("command_result").length === 1);
    expect(ran).toEqual([]);
  });
});
