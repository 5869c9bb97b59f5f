import { describe, expect, it } from "vitest";
import { refusal } from "../error.ts";
import { SLASH_ANSWER_CHARS_MAX, SLASH_LISTED_MAX, SLASH_SUMMARY_CHARS_MAX } from "../limits.ts";
import { AGENT, CREATION, childId, Life, sessionId } from "../session/life.fixture.ts";
import { NO_SKILLS } from "../skill/skill.ts";
import { BUILT_INS } from "./commands.ts";
import * as reply from "./reply.ts";
import { AGENT_COMMANDS, remark, SNAPSHOT, skill } from "./snapshot.fixture.ts";

describe("/skills", () => {
  it("lists name and summary of every entry, in the snapshot's order", () => {
    const answer = reply.skillsListed({ ...SNAPSHOT, diagnostics: [] });
    expect(answer).toMatchObject({ status: "ok", code: "skills_listed" });
    expect(answer.message).toBe(
      [
        "Skills:",
        "  commit (/ci): What commit is for.",
        "  first-two: What first-two is for.",
        "  other-two: What other-two is for.",
        "  review: What review is for.",
        "  run (/sh): What run is for.",
      ].join("\n"),
    );
  });

  it("has entries without bodies and the diagnostics as data", () => {
    const { data, message } = reply.skillsListed(SNAPSHOT);
    expect(data).toMatchObject({ entryCount: 5, diagnosticCount: 2 });
    expect(data).toMatchObject({ diagnostics: SNAPSHOT.diagnostics });
    const [, , , review] = SNAPSHOT.entries.map(({ body: _, ...entry }) => entry);
    const { requires_tools: _, eligibility: __, command_tool: ___, ...shown } = review ?? {};
    expect(data?.entries).toContainEqual(shown);
    expect(JSON.stringify(data)).not.toContain("The instructions of");
    expect(message).toContain("Remarks:\n  first-two: alias_ambiguous: The alias /two is also");
  });

  it("says so where there is none", () => {
    const answer = reply.skillsListed(NO_SKILLS);
    const data = { entries: [], diagnostics: [], entryCount: 0, diagnosticCount: 0 };
    const message = "This session has no skills.";
    expect(answer).toEqual({ status: "ok", code: "skills_empty", message, data });
  });

  it("P10: lists no more than a limit, none at any length, and says what is missing", () => {
    const long = "x".repeat(SLASH_SUMMARY_CHARS_MAX * 10);
    const names = Array.from({ length: SLASH_LISTED_MAX + 7 }, (_, index) => `skill-${index}`);
    const { message, data } = reply.skillsListed({
      entries: names.map((name) => skill(name, { summary: long })),
      diagnostics: names.map((name) => remark(name, "ineligible", long)),
    });
    expect(message.length).toBeLessThanOrEqual(SLASH_ANSWER_CHARS_MAX);
    expect(data).toMatchObject({ entryCount: names.length, diagnosticCount: names.length });
    expect(data?.entries).toHaveLength(SLASH_LISTED_MAX);
    expect(data?.diagnostics).toHaveLength(SLASH_LISTED_MAX);
    expect(JSON.stringify(data).length).toBeLessThan(512 * 1_024);
    const short = reply.skillsListed({
      entries: names.map((name) => skill(name)),
      diagnostics: [],
    });
    expect(short.message.split("\n").at(-1)).toBe("  … and 7 more");
  });

  it("shows a summary of many lines on one, and moves nobody's cursor", () => {
    const entries = [skill("a", { summary: "one\n/skills\u001b[2J\r\ttwo  three" })];
    const { message } = reply.skillsListed({ entries, diagnostics: [] });
    expect(message).toBe("Skills:\n  a: one /skills [2J two three");
  });
});

describe("/help", () => {
  it("of a skill shows what the snapshot says of it", () => {
    const answer = reply.skillHelp(SNAPSHOT, "run");
    expect(answer).toMatchObject({ status: "ok", code: "skill_help" });
    expect(answer.message).toBe(
      [
        "Skill: run",
        "Summary: What run is for.",
        "Mode: tool_dispatch (runs the tool shell without the agent)",
        "Required tools: shell",
        "Eligibility: system linux, darwin; environment HOME; programs sh",
        "Source: bundled, run/SKILL.md",
        "Alias: /sh",
        "Use: /skill run [text]",
      ].join("\n"),
    );
    const { body: _, ...rest } = SNAPSHOT.entries[4] ?? skill("none");
    expect(answer.data).toEqual(rest);
  });

  it("of a skill that asks for nothing says so", () => {
    const { message } = reply.skillHelp(
      { entries: [skill("a", { summary: "" })], diagnostics: [] },
      "a",
    );
    expect(message).toContain("Summary: (none)");
    expect(message).toContain("Mode: llm_orchestration (the agent reads it)");
    expect(message).toContain("Required tools: none");
    expect(message).toContain("Eligibility: anywhere");
    expect(message).not.toContain("Alias");
  });

  it.each(["none", "RUN", "sh"])("of %s, which is no skill's name, is refused", (name) => {
    const answer = reply.skillHelp(SNAPSHOT, name);
    expect(answer).toMatchObject({ status: "error", code: "skill_not_found" });
  });

  it("alone lists ours with their usage, the aliases, and the agent's own", () => {
    const { code, message, data } = reply.commandHelp(SNAPSHOT, AGENT_COMMANDS);
    expect(code).toBe("help_shown");
    for (const { usage, summary } of Object.values(BUILT_INS)) {
      expect(message).toContain(`\n  ${usage}: ${summary}\n`);
    }
    expect(message).toContain("\n  /ci [text]: skill commit: What commit is for.\n");
    expect(message).toContain("\n  /sh [text]: skill run: What run is for.\n");
    expect(message.endsWith("The agent's own commands:\n  /init\n  /compress")).toBe(true);
    expect(data).toMatchObject({ agentCommands: ["init", "compress"] });
  });
});

describe("/agent", () => {
  it("lists the agents and marks the active one", () => {
    const answer = reply.agentListed("echo", ["chat", "echo"]);
    expect(answer).toMatchObject({ status: "ok", code: "agent_listed" });
    expect(answer.message).toBe("Agents:\n    chat\n  * echo (active)");
    expect(answer.data).toEqual({ active: "echo", agents: ["chat", "echo"] });
  });

  it("says that the active one is no longer configured", () => {
    expect(reply.agentListed("gone", ["echo"]).message).toContain("gone, is not configured here");
  });

  it("answers a change with both names", () => {
    expect(reply.agentSet("echo", "chat")).toEqual({
      status: "ok",
      code: "agent_set",
      message: "The active agent is now chat; it was echo.",
      data: { from: "echo", to: "chat" },
    });
    expect(reply.agentSet("echo", "echo").message).toBe("The active agent is echo already.");
  });

  it("names the known ones after an unknown one", () => {
    const answer = reply.agentNotFound("Echo", ["chat", "echo"]);
    expect(answer).toMatchObject({ status: "error", code: "agent_not_found" });
    expect(answer.message).toContain('no agent "Echo". The configured agents are: chat, echo.');
  });
});

describe("the reloads", () => {
  const from = { version: 1, hash: "aa" };
  const to = { version: 2, hash: "bb" };

  it.each([
    [reply.skillsReloaded, "skills_reloaded"],
    [reply.personaReloaded, "persona_reloaded"],
  ])("say from which version to which, and what differs: %o", (build, code) => {
    const answer = build({ from, to, difference: "+ commit (workspace)" });
    expect(answer).toMatchObject({ status: "ok", code });
    expect(answer.message).toContain("version 1 is now version 2.\n+ commit (workspace)");
    expect(answer.data).toEqual({ from, to, difference: "+ commit (workspace)" });
  });

  it.each([
    [reply.reloadUnavailable, "reload_unavailable"],
    [reply.personaReloadFailed, "persona_reload_failed"],
  ])("say why there was none: %o", (build, code) => {
    const answer = build("The folder cannot be read.");
    expect(answer).toMatchObject({ status: "error", code });
    expect(answer.message).toContain("not reloaded. The folder cannot be read.");
  });
});

describe("/model and /status", () => {
  it("show the model with all that is set, and the agent's choices", () => {
    const config = { modelId: "big", temperature: 0, reasoning: "high", verbosity: "low" };
    const answer = reply.modelShown(config, ["big", "small"]);
    expect(answer.code).toBe("model_shown");
    expect(answer.message).toBe(
      "Model: big, temperature 0, reasoning high, verbosity low\nThe agent offers:\n  big\n  small",
    );
    const model = { name: "big", temperature: 0, reasoning_level: "high", verbosity: "low" };
    expect(answer.data).toEqual({ model, choices: ["big", "small"] });
    expect(reply.modelShown({ modelId: null }, []).message).toBe("Model: the agent's default");
  });

  it("say what became of a change", () => {
    expect(reply.modelSet({ modelId: "big" })).toEqual({
      status: "ok",
      code: "model_set",
      message: "The model is now big.",
      data: { model: { name: "big" } },
    });
    const answer = reply.modelFailed(
      "huge",
      { modelId: "big" },
      "The agent has none of that name.",
    );
    expect(answer).toMatchObject({ status: "error", code: "model_failed" });
    expect(answer.message).toBe(
      "Error: the model was not changed to huge: The agent has none of that name. It is still big.",
    );
  });

  it("show the session as it stands", () => {
    const { session } = new Life().created();
    if (session === null) throw new Error("there is no session");
    const answer = reply.statusShown(session, { how: "by_default", sentence: "It asks." });
    expect(answer).toMatchObject({ status: "ok", code: "status_shown" });
    expect(answer.message).toBe(
      [
        `Session: ${session.sessionId}`,
        "Agent: echo",
        "Asking: It asks.",
        "Status: inactive",
        "Phase: Idle",
        "Model: the agent's default",
        "Skills: version 1 (skills)",
        "Persona: version 1 (persona)",
        "Folder: /workspace",
        "Turns: 0 completed, 0 failed",
      ].join("\n"),
    );
    const { skills, persona } = CREATION;
    expect(answer.data).toMatchObject({ skills, persona, agent: "echo", model: { name: null } });
  });
});

describe("/status of a session with children", () => {
  it("names the last of them", () => {
    const life = new Life().running();
    const child = {
      ...{ childId: childId("k1"), callId: "c1", title: "look around", task: "look" },
      ...{ agent: "chat", model: null, readOnly: true, price: null, deadlineAtMs: 9_000 },
    };
    life.give("start_child", { child, openMax: 4, perTurnMax: 32 }, AGENT);
    life.complete("t1");
    const asking = { how: "by_default", sentence: "It asks." } as const;
    const { message } = reply.statusShown(life.now, asking);
    expect(message.split("\n").at(-1)).toBe("Children: look around (chat, Aborted)");
  });
});

describe("/new and /save-and-close", () => {
  it("name the new session", () => {
    const id = sessionId("s-2");
    const answer = reply.sessionCreated(id);
    expect(answer).toMatchObject({ code: "session_created", data: { sessionId: id } });
    expect(answer.message).toContain("s-2");
    expect(reply.sessionCreated(null)).not.toHaveProperty("data.sessionId");
  });

  it("say what was saved, after how many turns, and where", () => {
    const saved = { persisted: true, turnsDrained: 1, location: "sqlite:main" };
    expect(reply.sessionSaved(saved)).toEqual({
      status: "ok",
      code: "session_saved",
      message: "The session is saved (sqlite:main); 1 turn was finished first. It closes now.",
      data: saved,
    });
    const nothing = reply.sessionSaved({ ...saved, persisted: false, turnsDrained: 0 });
    expect(nothing.message).toContain("nothing that needs saving; 0 turns were finished first");
  });
});

describe("what became of a skill's use", () => {
  it.each([
    ["tool_ok", reply.toolOk("shell", "a\nb"), "ok", "a\nb"],
    ["tool_ok", reply.toolOk("shell", ""), "ok", "shell finished without output."],
    ["tool_failed", reply.toolFailed("shell", "exit 1"), "error", "shell failed.\nexit 1"],
    ["tool_failed", reply.toolFailed("shell", ""), "error", "It gave no reason."],
    ["tool_input_invalid", reply.toolInputInvalid("shell", "no command."), "error", "no command."],
    [
      "skill_capability_denied",
      reply.skillCapabilityDenied("run", "shell", "A person said no."),
      "error",
      "skill run may not run shell: A person said no.",
    ],
    [
      "executor_unbound",
      reply.executorUnbound("run", "shell"),
      "error",
      "skill run needs the tool shell, which is not available now.",
    ],
  ])("%s", (code, answer, status, says) => {
    expect(answer).toMatchObject({ code, status });
    expect(answer.message).toContain(says);
  });

  it("P10: is bounded, never ends in half a character, and says that it was cut", () => {
    const { message } = reply.toolOk("shell", `a${"\u{1f3b5}".repeat(SLASH_ANSWER_CHARS_MAX)}`);
    expect(message.length).toBeLessThanOrEqual(SLASH_ANSWER_CHARS_MAX);
    expect(message.isWellFormed()).toBe(true);
    expect(message).toMatch(/\n… \(the beginning of 131073 characters\)$/u);
  });
});

describe("any other refusal", () => {
  it("has the code and the sentence that it has everywhere", () => {
    const answer = reply.commandRefused(
      refusal("session_limit_exceeded", { limit: 20, scope: "workspace", advice: "close one" }),
    );
    expect(answer).toMatchObject({ status: "error", code: "session_limit_exceeded" });
    expect(answer.message).toMatch(/^Error: 20 sessions of this workspace are live already/);
    const busy = reply.commandRefused(refusal("session_busy"));
    expect(busy.message).toBe("Error: A turn is running; wait for its verdict or cancel it.");
  });
});
