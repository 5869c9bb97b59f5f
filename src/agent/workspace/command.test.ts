import { describe, expect, it } from "vitest";
import { commandLine, readCommand, shownLine } from "./command.ts";

function shown(params: Record<string, unknown>, directory = "/w"): string {
  const order = readCommand(params);
  return typeof order === "string" ? expect.fail(order) : shownLine(order, directory, "/w");
}

const withVariable = (name: string, value: string) =>
  shown({ command: "git", args: ["status"], env: [{ name, value }] });

describe("the line that people are asked about", () => {
  it("is the command with its arguments, without the shell around it", () => {
    expect(shown({ command: "git", args: ["status"] })).toBe("git status");
    expect(shown({ command: "/bin/bash -lc 'git status'" })).toBe("git status");
    expect(shown({ command: "sh", args: ["-c", "cd /w && git status"] })).toBe("git status");
  });

  it.each<[string, string]>([
    ["PATH", "/elsewhere"],
    ["LD_PRELOAD", "/w/evil.so"],
    ["BASH_ENV", "/w/evil"],
    ["PAGER", "rm -rf ."],
    ["SHELL", "/w/evil"],
    ["MAVEN_OPTS", "-javaagent:/w/evil.jar"],
    ["TERM", "$(evil)"],
    ["GIT_SSH_COMMAND", "evil"],
    ["LC_ALL", "/w/evil; x"],
    ...Object.getOwnPropertyNames(Object.prototype).map((name): [string, string] => [name, "1"]),
  ])("holds a variable that can change what runs: %s=%s", (name, value) => {
    expect(withVariable(name, value)).toMatch(new RegExp(`^${name}='?.+'? git status$`));
  });

  it.each([
    ["TERM", "xterm-256color"],
    ["NO_COLOR", "1"],
    ["PAGER", "cat"],
    ["SHELL", "/bin/bash"],
    ["LC_ALL", "C.UTF-8"],
    ["MAVEN_OPTS", "-Dstyle.color=always"],
  ])("leaves out what changes only how output looks: %s=%s", (name, value) => {
    expect(withVariable(name, value)).toBe("git status");
  });

  it("says another directory than the session's", () => {
    expect(shown({ command: "./build.sh" }, "/w/evil dir")).toBe("cd '/w/evil dir' && ./build.sh");
  });

  it("sets a variable for the whole of a line that is more than words", () => {
    const env = [{ name: "PATH", value: "./evil" }];
    expect(shown({ command: "true; build.sh", env })).toBe("export PATH=./evil; true; build.sh");
  });
});

describe("what is run", () => {
  it("is a shell's line if it has characters of one, whatever files are there", () => {
    const order = readCommand({ command: "cat src/index.ts" });
    if (typeof order === "string") expect.fail(order);
    expect(commandLine(order)).toMatchObject({ file: "/bin/sh" });
  });

  it.each([
    ["no command", { command: "" }],
    ["blanks for a command", { command: "  " }],
    ["a NUL in its directory", { command: "ls", cwd: "/w\0" }],
    ["a directory of megabytes", { command: "ls", cwd: "/".repeat(2_000_000) }],
  ])("P10: is nothing for %s", (_what, params) => {
    expect(readCommand(params)).toEqual(expect.any(String));
  });
});
