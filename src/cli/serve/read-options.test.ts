import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { OPTION_NAMES, OPTIONS, variableOf } from "./options.ts";
import { readServeOptions } from "./read-options.ts";

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
    ["a word too many", ["now"], {}, "command line", /now/],
    ["a port that is none", ["--port", "70000"], {}, "--port", /from 0 to 65535/],
    ["a number that is none", ["--max-sessions", "many"], {}, "--max-sessions", /whole number/],
    ["a negative time", [], { FERMATA_PROMPT_DEADLINE_MS: "-1" }, "FERMATA_PROMPT_", /whole/],
    ["a word of its own", ["--permission-policy", "dice"], {}, "--permission-policy", /consensus/],
    ["an option that is gone", ["--verdict-lead-ms", "5"], {}, "--verdict-lead-ms", /remove it/],
    ["one that is gone", [], { FERMATA_VERDICT_LEAD_MS: "5" }, "FERMATA_VERDICT_", /is gone/],
    ["a switch of its own", [], { FERMATA_RATE_LIMIT: "maybe" }, "FERMATA_RATE_LIMIT", /true or/],
  ])("refuses %s and says where it stands", async (_, args, env, path, reason) => {
    const { code, details } = await refusalOf(args, { ...home(), ...env });
    expect(code).toBe("invalid_server_config");
    expect(details.path).toMatch(path);
    expect(details.reason).toMatch(reason);
  });

  it("refuses a file that cannot be read, is none, or has names of its own", async () => {
    const missing = await refusalOf(["--config", "/nowhere/config.json"], home());
    expect(missing.details.reason).toMatch(/there is no such file/);
    expect((await refusalOf([], home([]))).details.reason).toMatch(/no object/);
    expect((await refusalOf([], home({ prot: 1 }))).details.reason).toMatch(
      /"prot" is no option (did you mean "port"?)/,
    );
    const gone = await refusalOf([], home({ "verdict-lead-ms": 5 }));
    expect(gone.details.reason).toMatch(/"verdict-lead-ms": the option is gone.*remove it/);
    expect((await refusalOf([], home({ port: "x" }))).details.path).toMatch(/^port in /);
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
