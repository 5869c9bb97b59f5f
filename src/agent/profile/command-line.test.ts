import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { adHocProfile } from "./command-line.ts";

/** The command and its arguments, or why there are none. */
function words(line: string): unknown {
  const read = adHocProfile(line, { directory: "/here" });
  return read.ok ? [read.value.command, ...read.value.args] : read.refusal.details.reason;
}

describe("a command in place of a profile", () => {
  it.each([
    ["my-agent --acp", ["my-agent", "--acp"]],
    ["  my-agent   --acp  ", ["my-agent", "--acp"]],
    [`agent 'a b' "c d" e\\ f`, ["agent", "a b", "c d", "e f"]],
    [`agent 'a"b\\' "c'd" "e\\"f\\\\" "g\\h"`, ["agent", 'a"b\\', "c'd", 'e"f\\', "g\\h"]],
    [`agent '' "" x''y`, ["agent", "", "", "xy"]],
    ["agent $HOME `id` *.ts ~ ; rm && |", "agent $HOME `id` *.ts ~ ; rm && |".split(" ")],
    ["./agent", ["/here/agent"]],
    ["../bin/agent", ["/bin/agent"]],
    ["/opt/agent", ["/opt/agent"]],
  ])("is split as by a shell, and nothing is expanded: %s", (line, expected) => {
    expect(words(line)).toEqual(expected);
  });

  it.each([
    ["", "the command is empty"],
    ["   ", "the command is empty"],
    ["'' --acp", "the command is empty"],
    ["agent 'a b", "a quote or backslash is open at: 'a b"],
    ['agent "a b', 'a quote or backslash is open at: "a b'],
    ["agent \\", "a quote or backslash is open at: \\"],
    ["agent a\nb", "it has control characters"],
    ["KEY=1 agent", expect.stringContaining("variables")],
    [`agent ${"x".repeat(20_000)}`, "it is too long"],
    [`agent ${"x ".repeat(300)}`, "it has too many words"],
  ])("is refused with a reason: %j", (line, reason) => {
    expect(words(line)).toEqual(reason);
  });

  it.each([
    ["my-agent", "my-agent"],
    ["/opt/My Agent!".replace(" ", "\\ "), "my-agent-"],
    ["/opt/...", "agent"],
  ])("gets a name from its file: %s", (line, name) => {
    expect(adHocProfile(line)).toMatchObject({ value: { name } });
  });

  it("has the environment of the known agent that it is", () => {
    const read = adHocProfile("/opt/bin/qwen --acp -m x", { inherit: ["MINE"] });
    expect(read).toMatchObject({
      value: { name: "qwen", title: "Qwen Code", args: { length: 3 } },
    });
    expect(read.ok && read.value.inherit).toEqual(
      expect.arrayContaining(["OPENAI_API_KEY", "MINE"]),
    );
  });
});

describe("paths in a command in place of a profile", () => {
  it("begin in the folder of the shell, for the agent runs in its workspace", () => {
    const directory = mkdtempSync(join(tmpdir(), "fermata-command-line-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, "agent.mjs"), "");
    mkdirSync(join(directory, "acp.d"));
    const line =
      "node agent.mjs ./missing.mjs ../up --config=./a.json --x=y other.mjs acp.d -v . @a/b";
    const read = adHocProfile(line, { directory });
    expect(read.ok && read.value.args).toEqual([
      ...[join(directory, "agent.mjs"), join(directory, "missing.mjs")],
      ...[join(directory, "..", "up"), `--config=${join(directory, "a.json")}`],
      ...["--x=y", "other.mjs", "acp.d", "-v", ".", "@a/b"],
    ]);
    expect(read.ok && read.value.commandLine).toMatch(/^node \/.*agent\.mjs/);
  });
});

describe("the name and the variables of such a command", () => {
  it("are chosen, and a known name brings its profile", () => {
    const read = adHocProfile("npx @google/gemini-cli --acp", { name: "gemini", inherit: ["A"] });
    expect(read).toMatchObject({
      value: {
        name: "gemini",
        command: "npx",
        signIn: expect.stringContaining("GEMINI_API_KEY"),
        withhold: ["fs.read"],
      },
    });
    expect(read.ok && read.value.inherit).toEqual(expect.arrayContaining(["GEMINI_API_KEY", "A"]));
    expect(adHocProfile("npx x", { name: "mine" })).toMatchObject({ value: { name: "mine" } });
  });

  it.each([
    [{ name: "No Name" }, "name"],
    [{ inherit: ["A=b"] }, "A=b"],
    [{ inherit: ["FERMATA_AGENT_MARK"] }, "FERMATA_AGENT_MARK"],
  ])("are refused where they cannot be: %j", (options, path) => {
    expect(adHocProfile("agent", options)).toMatchObject({
      refusal: { code: "invalid_agent_profile", details: { path } },
    });
  });
});
