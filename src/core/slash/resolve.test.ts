import { describe, expect, it } from "vitest";
import { skill as found, loaded } from "../skill/skill.fixture.ts";
import { BUILT_IN_NAMES } from "./commands.ts";
import { resolveSlash } from "./resolve.ts";
import { AGENT_COMMANDS, remark, SNAPSHOT, skill } from "./snapshot.fixture.ts";

const meaning = (text: string) => resolveSlash(text, SNAPSHOT, AGENT_COMMANDS);

function refusalOf(text: string) {
  const found = meaning(text);
  if (found.kind !== "refused") throw new Error(`${text} means ${found.kind}`);
  return found.result;
}

describe("the built-in commands", () => {
  it("are these", () => {
    expect([...BUILT_IN_NAMES].sort()).toEqual([
      "agent",
      "help",
      "model",
      "new",
      "reload_persona",
      "reload_skills",
      "save-and-close",
      "skill",
      "skills",
      "status",
      "workflow",
    ]);
  });

  it.each([
    ["/skills", "skills", []],
    ["/help", "help", []],
    ["/help review", "help", ["review"]],
    ["/agent", "agent", []],
    ["/agent list", "agent", ["list"]],
    ["/agent echo", "agent", ["echo"]],
    ["/model", "model", []],
    ["/model big", "model", ["big"]],
    ["/reload_skills", "reload_skills", []],
    ["/reload_persona", "reload_persona", []],
    ["/new", "new", []],
    ["/status", "status", []],
    ["/save-and-close", "save-and-close", []],
  ])("%s is understood", (text, name, args) => {
    const rest = args.join(" ");
    expect(meaning(text)).toEqual({ kind: "built_in", name, args, rest });
  });

  it.each([
    ["/skills all", "/skills"],
    ["/help a b", "/help [skill]"],
    ["/agent use echo", "/agent [NAME]"],
    ["/model a b", "/model [NAME]"],
    ["/reload_skills now", "/reload_skills"],
    ["/reload_persona now", "/reload_persona"],
    ["/new one", "/new"],
    ["/status full", "/status"],
    ["/save-and-close now", "/save-and-close"],
  ])("%s has the wrong arguments, and is told its usage", (text, usage) => {
    const result = refusalOf(text);
    expect(result).toMatchObject({ status: "error", code: "invalid_args", data: { usage } });
    expect(result.message.endsWith(`Usage: ${usage}`)).toBe(true);
  });
});

describe("/skill", () => {
  it("is exactly that skill of the snapshot, with all of the text", () => {
    const found = meaning("/skill review the  last\ncommit");
    const words = "the  last\ncommit";
    expect(found).toEqual({ kind: "skill", entry: skill("review"), words });
    expect(meaning("/skill review")).toMatchObject({ kind: "skill", words: "" });
  });

  it("without a name is answered letter by letter as specified", () => {
    const result = { code: "invalid_args", message: "Error: /skill requires a skill name." };
    expect(refusalOf("/skill")).toEqual({ status: "error", ...result });
    expect(refusalOf("/skill \n ")).toEqual({ status: "error", ...result });
  });

  it.each(["revie", "reviews", "Review", "ci", "skills", "/review"])(
    "takes no other for skill %s, and suggests none",
    (name) => {
      const result = refusalOf(`/skill ${name}`);
      expect(result).toMatchObject({ status: "error", code: "skill_not_found" });
      expect(result.message.replace(name, "")).not.toMatch(/review|commit/);
    },
  );
});

describe("aliases", () => {
  it("mean the skill they belong to, with all of the text", () => {
    const run = meaning("/sh printf 'a  b'\nls");
    expect(run).toMatchObject({ kind: "skill", words: "printf 'a  b'\nls" });
    expect(run).toMatchObject({ entry: { skill_name: "run", command_tool: "shell" } });
  });

  it("stand before the agent's command of the same name", () => {
    expect(AGENT_COMMANDS).toContain("ci");
    expect(meaning("/ci")).toMatchObject({ kind: "skill", entry: { skill_name: "commit" } });
  });

  it("never stand before a built-in, whatever a snapshot says", () => {
    const entries = [skill("impostor", { command: "status" })];
    const found = resolveSlash("/status", { entries, diagnostics: [] }, []);
    expect(found).toMatchObject({ kind: "built_in", name: "status" });
  });

  it("that two skills ask for belong to neither, and both are named", () => {
    const result = refusalOf("/two");
    const skills = ["first-two", "other-two"];
    expect(result).toMatchObject({ code: "alias_ambiguous", data: { skills } });
    expect(result.message).toContain("first-two, other-two");
  });

  it("that two skills ask for are known by what loading them says", () => {
    const twin = (name: string) => found(name, "workspace", { command: "twin" });
    const snapshot = loaded([twin("castor"), twin("pollux")]);
    const skills = ["castor", "pollux"];
    const meant = resolveSlash("/twin", snapshot, []);
    expect(meant).toMatchObject({ result: { code: "alias_ambiguous", data: { skills } } });
  });

  it("that two skills ask for may still be the agent's", () => {
    expect(resolveSlash("/two", SNAPSHOT, ["two"])).toEqual({ kind: "agent" });
  });

  it("are ambiguous only by their whole name, and by no other remark", () => {
    expect(refusalOf("/tw").code).toBe("unknown_command");
    const diagnostics = [remark("a", "ineligible", "Its alias /two cannot be used.")];
    const found = resolveSlash("/two", { entries: [], diagnostics }, []);
    expect(found).toMatchObject({ result: { code: "unknown_command" } });
  });
});

describe("the agent's own commands", () => {
  it("are passed on", () => {
    expect(meaning("/init")).toEqual({ kind: "agent" });
    expect(meaning("/compress now, please")).toEqual({ kind: "agent" });
  });

  it("never stand before ours", () => {
    expect(AGENT_COMMANDS).toContain("status");
    expect(meaning("/status")).toMatchObject({ kind: "built_in", name: "status" });
  });
});

describe("what means nothing", () => {
  it.each(["/", "/ skills", "/\n"])("%j is a parse_error", (text) => {
    expect(refusalOf(text)).toMatchObject({ status: "error", code: "parse_error" });
  });

  it.each(["/nothing", "/skil", "/Skills", "/SKILLS", "/review", "/ini", "/INIT", "/__proto__"])(
    "%s is an unknown command, and nothing is suggested",
    (text) => {
      const result = refusalOf(text);
      expect(result).toMatchObject({ status: "error", code: "unknown_command" });
      expect(result.message).toContain(`no command ${text}.`);
      expect(result.message.match(/\/\w+/g)).toEqual([text, "/help"]);
    },
  );

  it("is shown without anything that moves a terminal's cursor, and not at any length", () => {
    const { message } = refusalOf(`/\u001b[2Jx\u202e${"y".repeat(10_000)}`);
    expect(message).toMatch(/^Error: there is no command \/\[2Jx y+…\. /u);
    expect(message.length).toBeLessThan(300);
  });
});
