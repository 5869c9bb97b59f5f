import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { asked, SessionCaller } from "./caller.fixture.ts";
import { Files, skill, write } from "./files.fixture.ts";

const server = sharedServer({ flags: ["--untrusted"] });

const SECRET_SKILL = skill("Wicked summary.", "Wicked body.", ["command: wicked"]);

describe("a workspace that is not trusted", { timeout: 60_000 }, () => {
  it("contributes one diagnostic and nothing else, until it is trusted and reloaded", async () => {
    const files = new Files(server());
    files.skill("wicked", SECRET_SKILL);
    files.write("AGENTS.md", "Wicked persona.");
    write(join(server().folder, "home"), "skills/mine/SKILL.md", skill("Mine.", "Mine."));
    const session = await SessionCaller.create(server());
    const before = await session.fields();
    expect(JSON.stringify(before)).not.toMatch(/wicked/i);
    expect(before).toMatchObject({
      skill_snapshot: { diagnostics: [{ code: "untrusted_workspace", source: "workspace" }] },
      persona: { files: [], diagnostics: [{ code: "untrusted_workspace" }] },
    });
    expect((await session.say("/skills")).text).toContain("mine");
    expect((await session.say("/wicked")).result).toMatchObject({ code: "unknown_command" });
    expect((await session.say("whoami")).text).not.toMatch(/wicked/i);
    await session.say("/reload_skills");
    expect(JSON.stringify(await session.fields())).not.toMatch(/wicked (summary|body|persona)/i);

    const trust = { cwd: server().workspace, trusted: true };
    expect((await asked(server(), "POST", "/workspaces", trust)).status).toBeLessThan(300);
    expect((await session.say("/skills")).text).not.toContain("wicked");
    await session.say("/reload_skills");
    expect((await session.say("/skills")).text).toContain("Wicked summary.");
    expect((await session.say("/wicked say ok")).sent).toContain("Wicked body.");
    expect(await session.fields()).toMatchObject({ persona: { files: [] } });
    await session.say("/reload_persona");
    expect(await session.fields()).toMatchObject({
      persona: { files: [{ name: "AGENTS.md", text: "Wicked persona." }], diagnostics: [] },
    });

    const distrust = { ...trust, trusted: false };
    await asked(server(), "POST", "/workspaces", distrust);
    expect((await session.say("/skills")).text).toContain("Wicked summary.");
    await session.say("/reload_skills");
    expect((await session.say("/skills")).text).not.toContain("Wicked summary.");
  });

  it("is no place for sessions, if it is not the server's first", async () => {
    const cwd = join(server().folder, "beside");
    mkdirSync(cwd);
    await asked(server(), "POST", "/workspaces", { cwd, trusted: false });
    const refused = await asked(server(), "POST", "/session", { cwd });
    expect(refused).toMatchObject({ status: 403, body: { code: "untrusted_workspace" } });
    await asked(server(), "POST", "/workspaces", { cwd, trusted: true });
    write(cwd, ".fermata/skills/near/SKILL.md", skill("Near.", "Near."));
    const session = await SessionCaller.create(server(), { cwd });
    expect((await session.say("/skills")).text).toContain("near");
  });
});
