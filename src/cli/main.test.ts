import { describe, expect, it } from "vitest";
import { run } from "./commands/data-folder.fixture.ts";
import { main } from "./main.ts";
import { ROWS } from "./table/table.ts";

// What people type who do not know the command yet.

describe("fermata", () => {
  it.each([
    ["serv", 'there is no command "serv" (did you mean "serve"?); see "fermata --help".'],
    ["token", 'there is no command "token" (did you mean "tokens"?); see "fermata --help".'],
    ["dir", 'there is no command "dir"; see "fermata --help".'],
    [
      "/",
      'there is no command "/"; to serve that directory: fermata --workspace "/"; ' +
        'see "fermata --help".',
    ],
  ])("refuses %s with what to type instead", async (word, sentence) => {
    expect(await run(main, word)).toEqual({
      ...{ exitCode: 2, shown: "" },
      stderr: `fermata: ${sentence}`,
    });
  });

  it.each([
    ["tokens", "creat", /there is no "creat" \(did you mean "create"\?\); expected create, list/],
    ["members", "lst", /there is no "lst" \(did you mean "list"\?\); expected list, set USER/],
    ["policy", "rest", /there is no "rest" \(did you mean "reset"\?\); expected show/],
    ["credits", "grnt", /there is no "grnt" \(did you mean "grant"\?\); expected balance/],
    ["tenants", "delte", /there is no "delte" \(did you mean "delete"\?\); expected list/],
    ["prices", "chek", /there is no "chek" \(did you mean "check"\?\); see/],
  ])("%s refuses %s with what to type instead", async (command, word, sentence) => {
    const { stderr, exitCode } = await run(main, command, word);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(sentence);
  });

  it.each([
    ["agents", "restrat", /there is no "restrat" \(did you mean "restart"\?\)/],
    ["agents", "gemni", /There is no agent "gemni"; did you mean "gemini"\?/],
  ])("%s refuses %s with what to type instead", async (command, word, sentence) => {
    const { stderr, exitCode } = await run(main, command, word);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(sentence);
  });

  it.each(ROWS)("explains $name, whatever else it is given", async ({ name, usage }) => {
    const first = `${`Usage: fermata ${name} ${usage[0]}`.trimEnd()}\n`;
    for (const args of [
      [name, "--help"],
      [name, "-h", "--nonsense"],
      ["help", name],
    ]) {
      const { shown, exitCode } = await run(main, ...args);
      expect({ exitCode, first: shown.slice(0, first.length) }).toEqual({ exitCode: 0, first });
    }
  });

  it("explains a command to those who ask by a word", async () => {
    const { shown } = await run(main, "help", "tokens");
    expect(shown).toMatch(/^Usage: fermata tokens/);
    expect((await run(main, "help")).shown).toMatch(/^Usage: fermata \[COMMAND\]/);
    expect((await run(main, "version")).shown).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(main, "serve", "-V")).shown).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
