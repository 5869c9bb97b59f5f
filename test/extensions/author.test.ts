// What an author sees: a new extension, and what is wrong with one, by the real command.

import { readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Operator } from "./operator.fixture.ts";

const SLOT = { slotVersion: "2.0.0", driftPolicy: "migrate", schema: { type: "integer" } };

/** The faults of an extension, as a program reads them. */
async function faultsOf(operator: Operator, change: object, code: string, args: string[] = []) {
  const folder = operator.put("work", "notes", change, code);
  const { exitCode, out } = await operator.fermata(
    "extensions",
    "check",
    folder,
    "--json",
    ...args,
  );
  const { faults, fits, notices } = JSON.parse(out);
  expect({ exitCode, fits }).toEqual(faults.length === 0 ? FIT : UNFIT);
  return { faults, notices };
}

const FIT = { exitCode: 0, fits: true };
const UNFIT = { exitCode: 1, fits: false };

const EMPTY = "export default () => ({});";

/** A module with this hook. */
const hooked = (body: string) =>
  `export default ({ slots }) => ({ hooks: { after_turn() { ${body} } } });`;

describe("fermata extensions check", () => {
  it("finds nothing wrong with what works, and leaves nothing behind", async () => {
    const operator = new Operator();
    const folder = operator.put("work", "notes");
    expect(await operator.fermata("extensions", "check", folder)).toEqual({
      exitCode: 0,
      out: "notes 1.0.0: it comes up, its hooks answer, and it goes down",
      err: "",
    });
    expect(readdirSync(operator.home)).toEqual([]);
  });

  it("names all faults of a manifest, with file, field and what to do", async () => {
    const change = { version: "new", hook: [], hooks: ["before_all"], main: undefined };
    const { faults } = await faultsOf(new Operator(), change, EMPTY);
    expect(faults).toEqual([
      expect.objectContaining({
        field: "main",
        reason: "it is missing, a string",
        remedy: "add it",
      }),
      expect.objectContaining({ field: "hooks.0" }),
      {
        file: "extension.json",
        field: "hook",
        reason: 'there is no such field (did you mean "hooks"?)',
        remedy: "correct its name, or take it out",
      },
    ]);
    const wrong = { version: "new", configSchema: { pattern: "x" }, dependsOn: { notes: "*" } };
    const more = await faultsOf(new Operator(), wrong, EMPTY);
    expect(more.faults.map(({ field }: { field: string }) => field)).toEqual([
      ...["version", "dependsOn.notes", "configSchema.pattern"],
    ]);
  });

  it.each<[string, object, string, object]>([
    ["does not parse", {}, "export default (", { field: "make" }],
    [
      "has no default export",
      {},
      "export const notes = 1;",
      { field: "make", reason: "it has no default export that is a function" },
    ],
    [
      "imports what is not in its folder",
      {},
      'import "../other.js"; export default () => ({});',
      { field: "make", reason: expect.stringContaining("other.js") },
    ],
    [
      "throws when it comes up",
      {},
      'export default () => ({ init() { throw new Error("no key"); } });',
      { field: "init", reason: "no key" },
    ],
    [
      "throws when it goes down",
      {},
      'export default () => ({ dispose() { throw new Error("stuck"); } });',
      { field: "deactivate, dispose", reason: expect.stringContaining("stuck") },
    ],
    [
      "has no function for its hook",
      { hooks: ["before_turn"] },
      EMPTY,
      {
        field: "make",
        reason: "its manifest has the hook before_turn, and its module has no such function",
      },
    ],
    [
      "answers what is no verdict",
      { hooks: ["before_turn"] },
      "export default () => ({ hooks: { before_turn: () => true } });",
      { field: "hooks.before_turn", reason: expect.stringContaining("is no verdict") },
    ],
    [
      "keeps what its schema does not take",
      { hooks: ["after_turn"], stateSlot: SLOT },
      hooked("slots.set('one')"),
      { field: "hooks.after_turn", reason: expect.stringContaining("of the type integer") },
    ],
    [
      "keeps what JSON does not carry",
      { hooks: ["after_turn"], stateSlot: SLOT },
      hooked("slots.set(NaN)"),
      { field: "hooks.after_turn", reason: expect.stringContaining("it is NaN") },
    ],
    [
      "needs a configuration",
      { configSchema: { type: "object", required: ["paths"] } },
      EMPTY,
      { file: "extension.json", field: "configSchema: its root", reason: 'it must have "paths"' },
    ],
  ])("says of one that %s where that is", async (_, change, code, fault) => {
    const { faults } = await faultsOf(new Operator(), change, code);
    expect(faults).toEqual([
      { file: "index.js", remedy: expect.any(String), reason: expect.any(String), ...fault },
    ]);
  });

  it("tells of hooks that are never asked, of mistyped events and of what it logs", async () => {
    const code = `export default ({ log }) => {
      log("hello");
      return { hooks: { before_ask() {} } };
    };`;
    const { notices } = await faultsOf(new Operator(), { events: ["turn_completed"] }, code);
    expect(notices).toEqual([
      'extension.json: events: "turn_completed" is no event of Fermata; "turn_complete" is',
      "it says: hello",
      "it says: its hook before_ask is never asked: its manifest has it not",
    ]);
  });

  it("tries the migration with an older slot", async () => {
    const operator = new Operator();
    const slot = ["--slot", operator.write("old.json", '{"version": "1.0.0", "value": "2"}')];
    const migrates = (body: string) =>
      `export default () => ({ migrate: ({ value }) => ${body} });`;
    const check = (body: string, args: string[]) =>
      faultsOf(operator, { stateSlot: SLOT }, migrates(body), args);
    const good = '({ version: "2.0.0", value: Number(value) })';
    expect((await check(good, slot)).faults).toEqual([]);
    expect((await check(good, [])).notices).toEqual([
      "its migration was not tried: name a file with an older slot by --slot",
    ]);
    const { faults } = await check('({ version: "1.5.0", value: 2 })', slot);
    expect(faults).toMatchObject([{ file: "index.js", field: "migrate" }]);
    expect(faults[0].reason).toContain("the migration answered version 1.5.0, not 2.0.0");
  });

  it.each<[string, (operator: Operator) => string, string]>([
    ["there is nothing", () => "gone", "there is no such file; check its path, or make it"],
    ["there is no manifest", (operator) => operator.workspace, "extension.json: there is no such"],
    [
      "the manifest is half-written",
      (operator) => {
        operator.write("work/half/extension.json", '{"id": "half",');
        return join(operator.folder, "work/half");
      },
      "extension.json: it is not JSON: line 1, column 15",
    ],
    [
      "a file is a link",
      (operator) => {
        const folder = operator.put("work", "notes");
        symlinkSync("/etc/passwd", join(folder, "more.js"));
        return folder;
      },
      "more.js: it is a link or no regular file",
    ],
  ])("says so where %s", async (_, folderIn, reason) => {
    const operator = new Operator();
    const { exitCode, out } = await operator.fermata("extensions", "check", folderIn(operator));
    expect(exitCode).toBe(1);
    expect(out).toContain(reason);
    expect(out).toContain("What to do: ");
  });

  it.each([
    [["check"], "expected check PATH"],
    [["check", ".", "--typescript"], '--typescript is not for "check"'],
    [["chekc", "."], 'did you mean "check"'],
    [["new"], "expected new NAME"],
    [["new", "Bad Name"], "a name has small letters, digits and dashes, at most 64"],
    [["check", ".", "--config", "{paths}"], "--config: it is not JSON"],
    [["check", ".", "--slot", "gone.json"], "gone.json: there is no such file"],
  ])("refuses %j", async (args, reason) => {
    const { exitCode, err } = await new Operator().fermata("extensions", ...args);
    expect(exitCode).not.toBe(0);
    expect(err).toContain(reason);
  });
});

describe("fermata extensions new", () => {
  it("writes over nothing", async () => {
    const operator = new Operator();
    operator.write("workspace/notes/mine.txt", "mine");
    const { exitCode, err } = await operator.fermata("extensions", "new", "notes");
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: expect.stringContaining("there is something in /workspace/notes"),
    });
    expect(readdirSync(join(operator.workspace, "notes"))).toEqual(["mine.txt"]);
  });
});

describe("fermata extensions list --json", () => {
  it("has what the table has, for programs", async () => {
    const operator = new Operator();
    operator.put("home/extensions", "notes");
    operator.configure({ todo: { critical: true }, notes: {} });
    const { out } = await operator.fermata("extensions", "list", "--json");
    expect(JSON.parse(out)).toEqual([
      expect.objectContaining({
        id: "guard-paths",
        from: "bundled",
        enabled: false,
        loaded: false,
      }),
      {
        ...{ id: "notes", version: "1.0.0", kind: "extension", from: "home" },
        ...{ folder: "/home/extensions/notes", code: "untrusted" },
        ...{ enabled: true, critical: false, loaded: false },
        fault: {
          code: "extension_untrusted",
          text: expect.stringContaining("run: fermata trust /home/extensions/notes"),
        },
      },
      expect.objectContaining({ id: "todo", code: "bundled", critical: true, loaded: true }),
    ]);
  });
});
