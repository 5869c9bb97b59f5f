import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fail, ok } from "../../core/result.ts";
import { type CommandRow, DATA_OPTIONS } from "../table/row.ts";
import { type CommandOutput, type DataCommand, runCommand, wrong } from "./data-command.ts";
import { runIn } from "./data-folder.fixture.ts";

const ROW = {
  name: "look",
  group: "Care of the data",
  line: "Say where it is at work.",
  usage: ["[--data DIR]"],
  about: "",
  options: DATA_OPTIONS,
} as const satisfies CommandRow;

/** A command that takes no words, and says where it was at work. */
const LOOK: DataCommand<typeof ROW> = {
  row: ROW,
  read: (_, [word]) =>
    word === undefined
      ? ok(async (data) => ok({ shown: data }))
      : wrong(`unexpected argument "${word}"`),
};

const look = (args: readonly string[]) => runCommand(LOOK, args);

/** A command that comes to this. */
const comingTo = (output: CommandOutput) => (args: readonly string[]) =>
  runCommand({ ...LOOK, read: () => ok(async () => ok(output)) }, args);

describe("a command about a data directory", () => {
  it("is at work where --data says", async () => {
    const done = { exitCode: 0, shown: "/there\n", stderr: "" };
    expect(await runIn("/there", look)).toEqual(done);
  });

  it("is at work where FERMATA_DATA says without it, and in the home without that", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("FERMATA_HOME", "/home/of/ada");
    vi.stubEnv("FERMATA_DATA", "/set");
    const withoutData = () => runIn("/dropped", (args) => look(args.slice(0, -2)));
    expect((await withoutData()).shown).toBe("/set\n");
    vi.stubEnv("FERMATA_DATA", undefined);
    expect((await withoutData()).shown).toBe("/home/of/ada\n");
    vi.stubEnv("FERMATA_DATA", "/set");
    expect((await runIn("/there", look)).shown).toBe("/there\n");
  });

  it.each([
    [["twice"], 'unexpected argument "twice"'],
    [["--nonsense"], "there is no option --nonsense"],
  ])("ends with 2 for %j, and says why and where to read more", async (args, why) => {
    const stderr = `fermata: look: ${why}; see "fermata look --help".`;
    expect(await runIn("/there", look, ...args)).toEqual({ exitCode: 2, shown: "", stderr });
  });

  it("ends with 1 where it fails, and says why", async () => {
    const reason = "There is nothing here.";
    const failing = { ...LOOK, read: () => ok(async () => fail("invalid_request", { reason })) };
    const stderr = "fermata: There is nothing here.";
    const done = await runIn("/there", (args) => runCommand(failing, args));
    expect(done).toEqual({ exitCode: 1, shown: "", stderr });
  });

  it("shows nothing more where all was shown already", async () => {
    expect(await runIn("/there", comingTo({}))).toEqual({ exitCode: 0, shown: "", stderr: "" });
  });

  it("tells people what programs are not to read, and ends as it says", async () => {
    const outcome = { shown: "half", notices: ["the other half is lost."], exitCode: 1 };
    const told = { exitCode: 1, shown: "half\n", stderr: "fermata: the other half is lost." };
    expect(await runIn("/there", comingTo(outcome))).toEqual(told);
  });
});
