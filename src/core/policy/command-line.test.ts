import { describe, expect, it, vi } from "vitest";
import { commandLineOf } from "./approval-key.ts";

const line = (command: unknown, args?: unknown) => commandLineOf(command, args, "/work space");

/** How often patterns match while something is done, and how many characters of it in all. */
function matchedChars(act: () => void) {
  const exec = vi.spyOn(RegExp.prototype, "exec");
  try {
    act();
    const found = exec.mock.results.map(({ value }) => value?.[0]?.length ?? 0);
    return { matches: found.length, chars: found.reduce((sum, length) => sum + length, 0) };
  } finally {
    exec.mockRestore();
  }
}

describe("a command line", () => {
  it.each<[string, unknown, unknown, string]>([
    ["a line as it is, spaces included", " ls  -a ", undefined, " ls  -a "],
    ["words with their arguments", "git", ["push", "--force"], "git push --force"],
    ["words in a list", ["git", "status"], undefined, "git status"],
    ["words that hold spaces, quoted", "rm", ["a b"], "rm 'a b'"],
    ["words that hold quotes, quoted", "echo", ["it's"], String.raw`echo 'it'\''s'`],
    ["what a shell is given as words", "/bin/bash", ["-lc", "npm test"], "npm test"],
    ["what a shell is given in a list", ["sh", "-c", "a; b"], null, "a; b"],
    ["what a shell is given in a line", "/bin/bash -lc 'npm test'", [], "npm test"],
    ["what a shell is given in double quotes", 'zsh -c "npm test"', [], "npm test"],
    ["what a shell is given as a bare word", "bash -c ls", [], "ls"],
    ["what it runs where it is anyway", "cd '/work space' && npm test", [], "npm test"],
    [
      "all of it at once",
      "/bin/sh",
      ["-c", String.raw`cd /work\ space && bash -c 'echo "x y"'`],
      'echo "x y"',
    ],
  ])("is %s", (_what, command, args, expected) => {
    expect(line(command, args)).toBe(expected);
  });

  it.each<[string, unknown, unknown]>([
    ["a shell that is given more", "bash", ["-c", "ls", "x"]],
    ["a shell that runs a file", "bash run.sh", []],
    ["a shell whose line is expanded first", 'bash -c "rm $X"', []],
    ["a shell beside something else", "bash -c ls; rm x", []],
    ["another directory", "cd /elsewhere && ls", []],
    ["a directory that is expanded first", "cd $HOME && ls", []],
    ["a directory of which only the beginning is the same", "cd '/work space'/.. && ls", []],
    ["another way to go on", "cd '/work space'; ls", []],
    ["a blank that is none to a shell", "cd\u00a0/work\\ space && ls", []],
    ["a blank that is none between the words of a shell", "bash\u00a0-c ls", []],
    ["a line that ends before its words do", "bash\n-c\nls", []],
  ])("does not look through %s", (_what, command, args) => {
    const shown = line(command, args);
    expect(shown).not.toMatch(/^(?:ls|rm x|rm \$X|run\.sh)$/);
    expect(shown).toMatch(/^(?:bash|cd)[\s\u00a0]/);
  });

  it.each(["./sh -c ls", "sub/bash -c ls", "/tmp/sh -c ls", "../bin/sh -c ls"])(
    "does not look through a program that only has the name of a shell: %s",
    (command) => {
      expect(line(command)).toBe(command);
      expect(line(command.split(" "))).toBe(command);
    },
  );

  it("has one spelling for a change of directory", () => {
    expect(line('cd "/w" && ls')).toBe("cd /w && ls");
    expect(line("cd /a\\ b && ls")).toBe("cd '/a b' && ls");
  });

  it.each<[string, unknown, unknown]>([
    ["no text", { line: "rm" }, []],
    ["null", null, []],
    ["a list of no words", [], []],
    ["a list with a word that is no text", ["rm", {}], []],
    ["followed by arguments that are no texts", "git", { force: true }],
  ])("is none if the command is %s", (_what, command, args) => {
    expect(line(command, args)).toBeNull();
  });

  it.each(["'", '"', "\\", "bash -c ", "cd '/work space' && ", "a\\ ", "((", "x "])(
    "P10: is found by matches that grow with its length and no faster, of many %j",
    (piece) => {
      const matched = (chars: number) => {
        const many = piece.repeat(Math.floor(chars / piece.length));
        return matchedChars(() => {
          expect(line(many)).not.toBeNull();
          expect(line(`bash -c ${many}`)).not.toBeNull();
        });
      };
      const [few, many] = [matched(12_000), matched(120_000)];
      expect(many.matches).toBeLessThanOrEqual(11 * few.matches);
      expect(many.chars).toBeLessThanOrEqual(11 * few.chars);
      // Four shells within each other are looked through, each by three patterns, in two lines.
      expect(many.chars).toBeLessThanOrEqual(120_000 * 4 * 3 * 2);
    },
  );

  it("P10: is none if it is too long to be read", () => {
    expect(line("x".repeat(131_073))).toBeNull();
  });
});
