import { describe, expect, it } from "vitest";
import { isObject, type JsonObject, objectAt } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { asked, type Said, SessionCaller } from "./caller.fixture.ts";
import { dataOf, typesOf } from "./ear.fixture.ts";
import { echoAgent, Files, skill } from "./files.fixture.ts";

const server = sharedServer({ agents: { second: echoAgent() } });

async function withSkills(): Promise<SessionCaller> {
  const files = new Files(server());
  files.skill("deploy", skill("Ships it.", "Deploy from main.", ["command: ship"]));
  files.skill("greedy", skill("Wants too much.", "No.", ["command: help"]));
  files.skill("one", skill("Shares.", "One.", ["command: both"]));
  files.skill("two", skill("Shares.", "Two.", ["command: both"]));
  return SessionCaller.create(server());
}

/** What a command does: on its way, or in the very commit of its answer. */
interface Effects {
  readonly before?: readonly string[];
  readonly effects?: readonly string[];
}

/** What a command may say on the wire, and in which order: the line itself, and the answer. */
function expectCommand(said: Said, code: string, { before = [], effects = [] }: Effects = {}) {
  const isUnknown = code === "unknown_command";
  const verdict = isUnknown ? "turn_error" : "turn_complete";
  const answer = ["command_result", "agent_message_chunk", verdict];
  const all = ["prompt_admitted", ...before, "user_message_chunk", ...effects, ...answer];
  expect(said.events.map(kindOf)).toEqual(all);
  const { promptId, result, text } = said;
  expect(result).toMatchObject({ promptId, code });
  expect(text).toBe(result.message);
  const how = isUnknown ? { code, message: text } : { stopReason: "end_turn" };
  expect(said.verdict).toMatchObject({ promptId, ...how });
  expect(said.verdict).not.toHaveProperty("turnId");
}

/** The type of an event, or of the update that is in it. */
function kindOf(event: JsonObject): unknown {
  return objectAt(dataOf(event), "update")?.sessionUpdate ?? event.type;
}

const ANSWERS = [
  { line: "/skills", code: "skills_listed" },
  { line: "/help", code: "help_shown" },
  { line: "/help deploy", code: "skill_help" },
  { line: "/agent", code: "agent_listed" },
  { line: "/agent list", code: "agent_listed" },
  { line: "/model", code: "model_shown" },
  { line: "/status", code: "status_shown" },
  { line: "/new", code: "session_created" },
];

const CHANGES = [
  { line: "/reload_skills", code: "skills_reloaded", effects: ["skills_reloaded"] },
  { line: "/reload_persona", code: "persona_reloaded", effects: ["persona_reloaded"] },
  {
    line: "/model echo-large",
    code: "model_set",
    before: ["model_switched", "model_config_changed"],
  },
];

const BAD_LINES = [
  { line: "/", code: "parse_error" },
  { line: "/ skills", code: "parse_error" },
  { line: "/nonsense", code: "unknown_command" },
  { line: "/Skills", code: "unknown_command" },
  { line: "/skil", code: "unknown_command" },
  { line: "/reload_skills\u0000", code: "unknown_command" },
  { line: "/skill", code: "invalid_args" },
  { line: "/skills please", code: "invalid_args" },
  { line: "/reload_skills now", code: "invalid_args" },
  { line: "/agent use second", code: "invalid_args" },
  { line: "/model a b", code: "invalid_args" },
  { line: "/new session", code: "invalid_args" },
  { line: "/save-and-close now", code: "invalid_args" },
  { line: "/skill nowhere say hello", code: "skill_not_found" },
  { line: "/skill Deploy", code: "skill_not_found" },
  { line: "/help nowhere", code: "skill_not_found" },
  { line: "/skill greedy", code: "skill_not_found" },
  { line: "/agent nobody", code: "agent_not_found" },
  { line: "/both", code: "alias_ambiguous" },
] as const;

describe("a command over the prompt route", { timeout: 60_000 }, () => {
  it.each(ANSWERS)("is answered and is no turn: $line", async ({ line, code }) => {
    const session = await withSkills();
    await session.say("say hello");
    const before = await session.steadyFields();
    const said = await session.say(line);
    expectCommand(said, code);
    expect(said.result).toMatchObject({ status: "ok" });
    expect(await session.steadyFields()).toEqual(before);
  });

  it.each(CHANGES)("does what it says, and is no turn: $line", async ({ line, code, ...done }) => {
    const session = await withSkills();
    await session.say("say hello");
    const before = await session.messages();
    expectCommand(await session.say(line), code, done);
    expect(await session.messages()).toEqual(before);
  });

  it("that is wrong is an error, reaches no model and changes nothing", async () => {
    const session = await withSkills();
    await session.say("say hello");
    const before = await session.steadyFields();
    for (const { line, code } of BAD_LINES) {
      const said = await session.say(line);
      expectCommand(said, code);
      expect([line, said.result.status]).toEqual([line, "error"]);
    }
    expect(await session.steadyFields()).toEqual(before);
    expect((await session.say("recall")).text).toBe(
      'I remember 1 turn; last you said "say hello".\n',
    );
    const { command_history } = await session.fields();
    expect(command_history).toMatchObject(BAD_LINES.map(({ code }) => ({ code })));
  });

  it("without the name of a skill has the specified answer", async () => {
    const session = await withSkills();
    expect((await session.say("/skill")).text).toBe("Error: /skill requires a skill name.");
  });

  it("is conversation, if anything stands before the slash", async () => {
    const session = await withSkills();
    const said = await session.say(" /skills");
    expect(said.result).toEqual({});
    expect(said.verdict).toHaveProperty("turnId");
    expect(said.text).toContain("/skills");
  });

  it("is the agent's own, if the agent says so, and then it is a turn", async () => {
    const session = await withSkills();
    expectCommand(await session.say("/compact now"), "unknown_command");
    await session.say("commands compact,skills,ship");
    const passedOn = await session.say("/compact now");
    expect(passedOn.verdict).toHaveProperty("turnId");
    expect(passedOn.text).toContain("/compact now");
    expectCommand(await session.say("/skills"), "skills_listed");
    expect((await session.say("/ship say ok")).sent).toContain("Deploy from main.");
    const help = await session.say("/help");
    expect(objectAt(help.result, "data")).toMatchObject({ agentCommands: ["compact"] });
  });

  it("needs no agent: a session at rest answers and stays at rest", async () => {
    const session = await withSkills();
    await server().kill("SIGKILL");
    await server().restart();
    const lines = [
      "/status",
      "/skills",
      "/help",
      "/agent second",
      "/reload_skills",
      "/reload_persona",
    ];
    const said: Said[] = [];
    for (const line of lines) said.push(await session.say(line));
    expect(said.map(({ result }) => result.status)).toEqual(lines.map(() => "ok"));
    expect(objectAt(said[0]?.result ?? {}, "data")).toMatchObject({ status: "inactive" });
    const types = new Set(said.flatMap(({ events }) => typesOf(events)));
    expect(types).not.toContain("session_status");
    expect(types).not.toContain("session_lifecycle");
    expect((await session.say("whoami")).verdict).toMatchObject({ stopReason: "end_turn" });
  });
});

describe("an alias", { timeout: 60_000 }, () => {
  it("does what its skill does, with the same words", async () => {
    const session = await withSkills();
    const byName = await session.say("/skill deploy say two  words");
    const byAlias = await session.say("/ship say two  words");
    expect([byName.text, byAlias.text]).toEqual(["two  words", "two  words"]);
    expect(byName.sent).toContain("Deploy from main.");
    const ofSkill = ({ events }: Said) => {
      return events.filter(({ type }) => type === "skill_invoked").map(dataOf);
    };
    const { promptId } = byAlias;
    expect(ofSkill(byAlias)).toEqual(ofSkill(byName).map((data) => ({ ...data, promptId })));
  });

  it("never takes a built-in command's name, and no other skill's", async () => {
    const session = await withSkills();
    expectCommand(await session.say("/help"), "help_shown");
    const { skill_snapshot } = await session.fields();
    const { entries, diagnostics } = Object(skill_snapshot);
    const names = entries.map((entry: unknown) => (isObject(entry) ? entry.skill_name : null));
    expect(names).not.toContain("greedy");
    expect(names).toEqual(expect.arrayContaining(["one", "two"]));
    expect(diagnostics).toMatchObject([
      { skill_name: "greedy", code: "command_alias_collision" },
      { skill_name: "one", code: "alias_ambiguous" },
      { skill_name: "two", code: "alias_ambiguous" },
    ]);
    const route = `/session/${session.sessionId}/supported-commands`;
    const { body } = await asked(server(), "GET", route);
    expect(JSON.stringify(body)).toContain('"ship"');
    expect(JSON.stringify(body)).not.toContain('"both"');
  });
});
