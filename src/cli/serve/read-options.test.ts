import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { OPTION_NAMES, OPTIONS, variableOf } from "./options.ts";
import { mistypedVariables, readServeOptions } from "./read-options.ts";

/** A home of its own, with this in its file. */
function home(config?: unknown): NodeJS.ProcessEnv {
  const folder = mkdtempSync(join(tmpdir(), "fermata-home-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (config !== undefined) writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return { FERMATA_HOME: folder };
}

async function chosen(args: readonly string[], env: NodeJS.ProcessEnv) {
  const read = await readServeOptions(args, env);
  return read.ok ? read.value : expect.fail(JSON.stringify(read.refusal));
}

async function refusalOf(args: readonly string[], env: NodeJS.ProcessEnv) {
  const read = await readServeOptions(args, env);
  return read.ok ? expect.fail("it was taken") : read.refusal;
}

describe("an option of the server", () => {
  it("is as usual where nothing was chosen", async () => {
    const usual = OPTION_NAMES.map((name) => [name, OPTIONS[name].default]);
    expect(await chosen([], home())).toEqual(Object.fromEntries(usual));
  });

  it("by flag counts before the environment, and that before the file", async () => {
    const env = { ...home({ port: 1, "max-sessions": 1, data: "/c" }), FERMATA_PORT: "2" };
    expect(await chosen(["--port", "3"], env)).toMatchObject({ port: 3, "max-sessions": 1 });
    expect(await chosen([], env)).toMatchObject({ port: 2, data: "/c" });
  });

  it("may be repeated where it is a list, in the environment with commas", async () => {
    const flags = ["--workspace", "/a", "--workspace", "/b"];
    expect(await chosen(flags, home())).toMatchObject({ workspace: ["/a", "/b"] });
    const env = { ...home(), FERMATA_WORKSPACE: "/a,/b" };
    expect(await chosen([], env)).toMatchObject({ workspace: ["/a", "/b"] });
    expect(await chosen([], home({ workspace: ["/c"] }))).toMatchObject({ workspace: ["/c"] });
  });

  it("that is a switch is on by being there, and off by its negation", async () => {
    expect(await chosen(["--require-auth"], home())).toMatchObject({ "require-auth": true });
    const env = { ...home(), FERMATA_REQUIRE_AUTH: "true" };
    expect(await chosen([], env)).toMatchObject({ "require-auth": true });
    expect(await chosen(["--no-require-auth"], env)).toMatchObject({ "require-auth": false });
  });

  it("is also read from the variables that clients of the wire know", async () => {
    const env = { ...home(), QWEN_SERVER_TOKEN: " secret-token " };
    expect(await chosen([], env)).toMatchObject({ token: "secret-token" });
    expect(await chosen([], { ...env, FERMATA_TOKEN: "ours" })).toMatchObject({ token: "ours" });
  });

  it.each([
    ["a flag that there is not", ["--prot", "1"], {}, "command line", /--prot/],
    ["a word too many", ["now"], {}, "command line", /"now" is no option/],
    ["a port that is none", ["--port", "70000"], {}, "--port", /from 0 to 65535/],
    ["a number that is none", ["--max-sessions", "many"], {}, "--max-sessions", /whole number/],
    ["a negative time", [], { FERMATA_PROMPT_DEADLINE_MS: "-1" }, "FERMATA_PROMPT_", /whole/],
    ["a word of its own", ["--permission-policy", "dice"], {}, "--permission-policy", /consensus/],
    ["a mistyped word", ["--session-scope", "singel"], {}, "--session-scope", /mean "single"\?/],
    ["an option that is gone", ["--verdict-lead-ms", "5"], {}, "--verdict-lead-ms", /remove it/],
    ["one that is gone", [], { FERMATA_VERDICT_LEAD_MS: "5" }, "FERMATA_VERDICT_", /is gone/],
    ["a switch of its own", [], { FERMATA_RATE_LIMIT: "maybe" }, "FERMATA_RATE_LIMIT", /true or/],
  ])("refuses %s and says where it stands", async (_, args, env, path, reason) => {
    const { code, details } = await refusalOf(args, { ...home(), ...env });
    expect(code).toBe("invalid_server_config");
    expect(details.path).toMatch(path);
    expect(details.reason).toMatch(reason);
  });

  it.each([
    [
      "that is half-written",
      '{"port": 41',
      /^it is not JSON: line 1, column 12: .*, found the end$/,
    ],
    ["that is empty", "", /^it is empty; write \{\} into it$/],
    ["that holds a list", "[]", /^it holds no object, such as \{"port": 4170\}$/],
    ["with a mistyped name", '{"prot": 1}', /^"prot" is no option \(did you mean "port"\?\); see/],
    [
      "with a name of its own",
      '{"colour": 1}',
      /^"colour" is no option; see fermata serve --help$/,
    ],
    ["with an option that is gone", '{"verdict-lead-ms": 5}', /"verdict-lead-ms": .*remove it/],
  ])("refuses a config file %s", async (_, text, reason) => {
    const env = home();
    writeFileSync(join(env.FERMATA_HOME ?? "", "config.json"), text);
    const { details } = await refusalOf([], env);
    expect(details.path).toBe(`config file ${env.FERMATA_HOME}/config.json`);
    expect(details.reason).toMatch(reason);
  });

  it("refuses a config file that cannot be read, and a value in it by its name", async () => {
    const missing = await refusalOf(["--config", "/nowhere/ä b.json"], home());
    expect(missing.details.path).toBe("config file /nowhere/ä b.json");
    expect(missing.details.reason).toMatch(/no such file; check its path/);
    const folder = await refusalOf(["--config", "/"], home());
    expect(folder.details.reason).toMatch(/is a directory; name a file/);
    expect((await refusalOf([], home({ port: "x" }))).details.path).toMatch(/^port in /);
  });

  it("reads a config file with spaces and Unicode in its path", async () => {
    const folder = join(home().FERMATA_HOME ?? "", "zwei Wörter 日本");
    mkdirSync(folder);
    writeFileSync(join(folder, "config.json"), '{"data": "/a b/日本", "port": 7}');
    const env = { FERMATA_HOME: folder };
    expect(await chosen([], env)).toMatchObject({ data: "/a b/日本", port: 7 });
  });

  it("has short forms of two, and names the long one for other letters", async () => {
    const short = await chosen(["-p", "7", "-a", "qwen"], home());
    expect(short).toMatchObject({ port: 7, agent: "qwen" });
    expect((await refusalOf(["-d", "x"], home())).details.reason).toMatch(/did you mean --data\?/);
    expect((await refusalOf(["-t", "x"], home())).details.reason).toMatch(/did you mean --token\?/);
  });

  it("says where a word of the command line belongs", async () => {
    expect((await refusalOf(["--port", "0", "serve"], home())).details.reason).toBe(
      '"serve" is no option; a command comes first, and a directory is given as --workspace DIR',
    );
  });
});

describe("a variable of the environment", () => {
  it("that is nearly one of ours is found, and all others are let be", () => {
    const env = {
      ...{ FERMATA_PROT: "1", FERMATA_MAX_SESSION: "2", FERMATA_HOEM: "/x" },
      ...{ FERMATA_PORT: "1", FERMATA_SERVICE_HOST: "10.0.0.1", FERMATA_SEED: "3", PROT: "4" },
    };
    expect(mistypedVariables(env)).toEqual([
      ["FERMATA_PROT", "FERMATA_PORT"],
      ["FERMATA_MAX_SESSION", "FERMATA_MAX_SESSIONS"],
      ["FERMATA_HOEM", "FERMATA_HOME"],
    ]);
  });
});

describe("the options", () => {
  it("have the names of the wire, section 12, and one variable each", () => {
    const wire = [
      ...["port", "hostname", "token", "require-auth", "workspace", "session-scope"],
      ...["max-sessions", "max-pending-prompts-per-session", "max-connections"],
      ...["event-ring-size", "compacted-replay-max-bytes", "max-journal-events"],
      ...["max-journal-bytes", "allow-origin", "enable-session-shell", "prompt-deadline-ms"],
      ...["writer-idle-timeout-ms", "initialize-timeout-ms", "session-restore-timeout-ms"],
      ...["permission-response-timeout-ms", "channel-idle-timeout-ms"],
      ...["session-reap-interval-ms", "session-idle-timeout-ms", "agent", "agent-command"],
      ...["store", "data", "permission-policy"],
    ];
    expect(OPTION_NAMES).toEqual(expect.arrayContaining(wire));
    expect(new Set(OPTION_NAMES.map(variableOf)).size).toBe(OPTION_NAMES.length);
  });
});
