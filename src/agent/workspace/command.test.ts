import { describe, expect, it } from "vitest";
import { readOrder, shownLine } from "./command.ts";

function shown(params: Record<string, unknown>): string {
  const order = readOrder(params);
  return typeof order === "string" ? expect.fail(order) : shownLine(order, "/w");
}

const withVariable = (name: string, value: string) =>
  shown({ command: "git", args: ["status"], env: [{ name, value }] });

describe("the line that people are asked about", () => {
  it("is the command with its arguments, without the shell around it", () => {
    expect(shown({ command: "git", args: ["status"] })).toBe("git status");
    expect(shown({ command: "/bin/bash -lc 'git status'" })).toBe("git status");
    expect(shown({ command: "sh", args: ["-c", "cd /w && git status"] })).toBe("git status");
  });

  it.each([
    ["PATH", "/elsewhere"],
    ["LD_PRELOAD", "/w/evil.so"],
    ["BASH_ENV", "/w/evil"],
    ["PAGER", "rm -rf ."],
    ["SHELL", "/w/evil"],
    ["MAVEN_OPTS", "-javaagent:/w/evil.jar"],
    ["TERM", "$(evil)"],
    ["GIT_SSH_COMMAND", "evil"],
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
});
