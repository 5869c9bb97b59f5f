import { describe, expect, it } from "vitest";
import { expectedWord, oneOf, readCommandLine } from "./command-line.ts";

const OPTIONS = {
  port: { type: "string", short: "p" },
  workspace: { type: "string", multiple: true },
  "workspace-root": { type: "string" },
  "require-auth": { type: "boolean" },
} as const;

function read(...args: readonly string[]) {
  return readCommandLine({ args: [...args], options: OPTIONS, allowNegative: true });
}

describe("a command line", () => {
  it("gives its values by the names of the options", () => {
    const { values } = read("-p", "1", "--no-require-auth", "--workspace", "/a b", "--workspace=ü");
    expect(values).toEqual({ port: "1", "require-auth": false, workspace: ["/a b", "ü"] });
  });

  it.each([
    [["--prot", "0"], "there is no option --prot (did you mean --port?)"],
    [
      ["--no-require-auht"],
      "there is no option --no-require-auht (did you mean --no-require-auth?)",
    ],
    [["--verbose"], "there is no option --verbose"],
    [["-w", "x"], "there is no option -w (did you mean --workspace?)"],
    [["-P", "1"], "there is no option -P (did you mean --port?)"],
    [["-x"], "there is no option -x"],
    [["--port"], "--port needs a value"],
    [["-p"], "-p needs a value"],
    [
      ["--port", "--workspace", "x"],
      "--port needs a value; one that begins with a dash is written --port=--workspace",
    ],
    [
      ["--require-auth=yes"],
      "--require-auth takes no value; write --require-auth or --no-require-auth",
    ],
    [["--no-port"], "--no-port is not possible, because --port is no switch"],
    [["now"], 'the word "now" is one too many'],
  ])("%j is refused with what to type instead", (args, clause) => {
    expect(() => read(...args)).toThrow(new Error(clause));
  });
});

describe("the word of a command", () => {
  const EXPECTED = "list, rotate ID or delete NAME";

  it.each([
    [undefined, `expected ${EXPECTED}`],
    ["delete", `expected ${EXPECTED}`],
    ["delet", `there is no "delet" (did you mean "delete"?); expected ${EXPECTED}`],
    ["xyz", `there is no "xyz"; expected ${EXPECTED}`],
  ])("%s is answered with those that there are", (word, clause) => {
    expect(expectedWord(word, EXPECTED)).toBe(clause);
  });

  it("of a choice is answered with the nearest", () => {
    expect(oneOf("ful", ["full", "relaxed"])).toBe('one of full, relaxed (did you mean "full"?)');
  });
});
