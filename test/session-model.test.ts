import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServeProcess } from "./server/serve.fixture.ts";
import { SessionCaller } from "./session-model.fixture.ts";

let server: ServeProcess;

beforeAll(async () => {
  server = await ServeProcess.start();
}, 60_000);
afterAll(() => server.end(), 60_000);

function write(path: string, text: string) {
  const file = join(server.workspace, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const skill = (summary: string, body: string, more = "") =>
  `---\nsummary: ${summary}\n${more}---\n${body}\n`;

describe("a session's skills and persona", () => {
  it("P7: are as they were at its creation, through edits and a crash, until it is told to reload", async () => {
    write(".fermata/skills/deploy/SKILL.md", skill("Ships it.", "Deploy from main."));
    write("AGENTS.md", "You are called Ada.");
    const session = await SessionCaller.create(server);
    const before = await session.say("/skills");
    expect(before.result).toMatchObject({ status: "ok", code: "skills_listed" });
    expect(before.text).toContain("deploy");
    const fields = await session.fields();

    write(".fermata/skills/deploy/SKILL.md", skill("Changed.", "Deploy from anywhere."));
    write(".fermata/skills/later/SKILL.md", skill("Came later.", "Later."));
    write("AGENTS.md", "You are called Bob.");
    expect((await session.say("/skills")).text).toBe(before.text);

    await server.kill("SIGKILL");
    await server.restart();
    expect((await session.say("/skills")).text).toBe(before.text);
    const told = await session.say("/skill deploy now");
    expect(told.sent).toContain("Deploy from main.");
    expect(told.sent).not.toContain("Deploy from anywhere.");
    const after = await session.fields();
    expect(after.skill_snapshot).toEqual(fields.skill_snapshot);
    expect(after.persona).toEqual(fields.persona);

    const reloaded = await session.say("/reload_skills");
    expect(reloaded.result).toMatchObject({ status: "ok", code: "skills_reloaded" });
    expect(reloaded.text).toContain("later");
    expect((await session.say("/skills")).text).toContain("Came later.");
    expect((await session.fields()).persona).toEqual(fields.persona);
  }, 60_000);
});
