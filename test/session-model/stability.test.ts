import { describe, expect, it } from "vitest";
import { type ServeProcess, sharedServer } from "../server/serve.fixture.ts";
import { type Said, SessionCaller } from "./caller.fixture.ts";
import { Files, skill } from "./files.fixture.ts";

const server = sharedServer();

/** A server's files as they are at first: one skill with an alias, and a persona. */
function firstFiles(of: ServeProcess): Files {
  const files = new Files(of);
  files.skill("deploy", skill("Ships it.", "Deploy from main.", ["command: ship"]));
  files.skill("goner", skill("Will be gone.", "Go."));
  files.write("AGENTS.md", "You are called Ada.");
  return files;
}

/** One edited, one deleted, one added. */
function edit(files: Files) {
  files.skill("deploy", skill("Changed.", "Deploy from anywhere.", ["command: launch"]));
  files.skill("later", skill("Came later.", "Later."));
  files.remove(".fermata/skills/goner");
  files.write("AGENTS.md", "You are called Bob.");
}

/** Everything that a session's commands say of its skills. */
async function sayings(session: SessionCaller): Promise<readonly string[]> {
  const lines = ["/skills", "/help", "/help deploy", "/help goner", "/help later", "/launch"];
  const said: Said[] = [];
  for (const line of lines) said.push(await session.say(line));
  const used = [await session.say("/skill deploy say ok"), await session.say("/ship say ok")];
  return [...said.map(({ text }) => text), ...used.map(({ sent }) => sent)];
}

describe("a session's skills and persona", { timeout: 60_000 }, () => {
  it("P7: are those of the creation, through edits and a crash until a reload", async () => {
    const files = firstFiles(server());
    const session = await SessionCaller.create(server());
    await session.say("say ready");
    const before = await sayings(session);
    expect(before.at(-1)).toContain("Deploy from main.");
    const { skill_snapshot, persona } = await session.fields();

    edit(files);
    expect(await sayings(session)).toEqual(before);
    await server().kill("SIGKILL");
    await server().restart();
    expect((await session.say("say again")).verdict).toMatchObject({ stopReason: "end_turn" });
    expect(await sayings(session)).toEqual(before);
    expect(await session.fields()).toMatchObject({ skill_snapshot, persona });

    const reloaded = await session.say("/reload_skills");
    expect(reloaded.result).toMatchObject({ status: "ok", code: "skills_reloaded" });
    expect(reloaded.text).toMatch(/^~ deploy.*\n- goner.*\n\+ later/m);
    expect((await session.say("/skills")).text).toContain("Came later.");
    expect((await session.say("/help goner")).result).toMatchObject({ code: "skill_not_found" });
    const used = await session.say("/launch say ok");
    expect(used.sent).toContain("Deploy from anywhere.");
    expect((await session.fields()).persona).toEqual(persona);
  });

  it("are those of another session only if that was made from the same files", async () => {
    const files = firstFiles(server());
    const one = await SessionCaller.create(server());
    edit(files);
    const other = await SessionCaller.create(server());
    expect((await one.say("/skills")).text).toContain("Will be gone.");
    expect((await other.say("/skills")).text).toContain("Came later.");
    expect((await one.say("whoami")).text).toContain("Ada");
    expect((await other.say("whoami")).text).toContain("Bob");
  });
});

describe("each command that changes a session", { timeout: 60_000 }, () => {
  const changes = [
    { line: "/reload_skills", field: "skill_snapshot", reloads: 1 },
    { line: "/reload_persona", field: "persona", reloads: 1 },
    { line: "/agent second", field: "active_agent", reloads: 0 },
    { line: "/model echo-large", field: "model_config", reloads: 0 },
  ];
  const twoAgents = sharedServer({ agents: { second: { command: process.execPath, args: [] } } });

  it.each(changes)("$line changes $field and nothing else", async (change) => {
    const files = firstFiles(twoAgents());
    const session = await SessionCaller.create(twoAgents());
    await session.say("say hello", "tool t1 kind=read text=found status=completed");
    const before = await session.steadyFields();
    edit(files);
    expect(await session.steadyFields()).toEqual(before);
    expect((await session.say(change.line)).result).toMatchObject({ status: "ok" });
    const after = await session.steadyFields();
    const { field, reloads } = change;
    expect(after[field]).not.toEqual(before[field]);
    expect(after).toEqual({ ...before, [field]: after[field], reload_count: reloads });
  });

  it("/reload_skills counts up also where nothing is new, and keeps the hash", async () => {
    const session = await SessionCaller.create(twoAgents());
    const before = await session.steadyFields();
    await session.say("/reload_skills");
    const skill_snapshot = { ...Object(before.skill_snapshot), snapshot_version: 2 };
    expect(await session.steadyFields()).toEqual({ ...before, skill_snapshot, reload_count: 1 });
  });
});
