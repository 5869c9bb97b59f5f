import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { buildIsFresh } from "../scripts/freshness.js";
import { OPTION_NAMES } from "../src/cli/serve/options.ts";
import { ROOT, readText } from "./house/files.ts";
import { runNode } from "./house/run.ts";

const VERSION: string = JSON.parse(readText("package.json")).version;

// What is tested here is the built command, so it has to be built from the sources of this moment.
beforeAll(async () => {
  if (buildIsFresh(ROOT)) return;
  expect(await runNode(["scripts/build.js"])).toMatchObject({ exitCode: 0 });
});

function fermata(...args: string[]) {
  return runNode(["bin/fermata.js", ...args]);
}

describe("the fermata command", () => {
  it.each(["--version", "-V"])("prints its version for %s", async (option) => {
    expect(await fermata(option)).toEqual({ exitCode: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it.each(["--help", "-h"])("explains its options for %s", async (option) => {
    const { exitCode, stdout, stderr } = await fermata(option);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: fermata/);
    expect(stdout).toContain("--version");
    expect(stdout).toMatch(/^ {2}agents /m);
  });

  it.each([
    ["nonsense", /^fermata: there is no command "nonsense"; see "fermata --help"\.\n$/],
    ["-x", /^fermata: The server cannot start with this command line: there is no option -x/],
    ["--nonsense", /^fermata: The server cannot start with this command line: .*--nonsense/],
    ["--help=yes", /^fermata: The server cannot start with this command line: .*--help/],
    ["--port=no", /^fermata: The server cannot start with this --port: .*\n.*serve --help/],
  ])("refuses %s and says what to do", async (argument, sentence) => {
    const { exitCode, stdout, stderr } = await fermata(argument);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(sentence);
  });

  it("ends quietly when its reader leaves early", async () => {
    const command = `"${process.execPath}" bin/fermata.js --help | true; echo "\${PIPESTATUS[0]}"`;
    const run = await promisify(execFile)("bash", ["-c", command], { cwd: ROOT });
    expect(run).toEqual({ stdout: "0\n", stderr: "" });
  });

  it("says on an old Node which one it needs, which one runs, and how to get it", async () => {
    const pretend = 'Object.defineProperty(process, "version", { value: "v20.20.2" });';
    const preload = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`];
    const { exitCode, stdout, stderr } = await runNode([...preload, "bin/fermata.js"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(
      /^Fermata needs Node 22\.14 or newer, and this is Node 20\.20\.2: .*\n$/,
    );
  });

  it("says in a clone without a build how to make one", async () => {
    const clone = mkdtempSync(join(tmpdir(), "fermata-clone-"));
    try {
      cpSync(join(ROOT, "bin"), join(clone, "bin"), { recursive: true });
      writeFileSync(join(clone, "package.json"), '{ "type": "module" }');
      const { exitCode, stdout, stderr } = await runNode([join(clone, "bin/fermata.js")]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
      expect(stderr).toMatch(/^fermata: not built yet; run `npm start` or .*\n$/);
    } finally {
      rmSync(clone, { recursive: true });
    }
  });
});

describe("fermata agents", () => {
  it("lists what can be hosted, and says how to get what is missing", async () => {
    const { exitCode, stdout, stderr } = await fermata("agents");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^ {2}echo +installed +/m);
    expect(stdout).toMatch(/^ {2}claude +(?:installed|missing) +\S/m);
  });

  it("tries an agent out, and leaves nothing of it", async () => {
    const { exitCode, stdout, stderr } = await fermata("agents", "echo");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^Echo .* answered in \d+ ms\.\n {2}offers: +load, resume/);
  });

  it.each([
    [["nobody"], 1, /^fermata: There is no agent "nobody"; known are: .*echo.*\n$/],
    [["no-such-program --acp"], 1, /^fermata: The command "no-such-program" .* was not found.*\n$/],
    [["sh -c 'echo hello'"], 1, /does not speak ACP.* It said: hello\n$/],
    [["'unbalanced"], 1, /^fermata: .*\n$/],
    [
      ["--nonsense"],
      2,
      /^fermata: agents: there is no option --nonsense; see "fermata agents --help"\.\n$/,
    ],
    [["one", "two"], 2, /^fermata: agents: expected one name/],
  ])("says of %j in one sentence what is wrong", async (args, expected, words) => {
    const { exitCode, stdout, stderr } = await fermata("agents", ...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: "" });
    expect(stderr).toMatch(words);
  });

  it("reads the user's own agents, and says where they are wrong", async () => {
    const home = mkdtempSync(join(tmpdir(), "fermata-home-"));
    const run = () => runNode(["bin/fermata.js", "agents"], { FERMATA_HOME: home });
    try {
      const mine = { mine: { command: "my-agent", args: ["--acp"] } };
      writeFileSync(join(home, "agents.json"), JSON.stringify(mine));
      expect((await run()).stdout).toMatch(/^ {2}mine +missing +no program "my-agent"$/m);
      writeFileSync(join(home, "agents.json"), JSON.stringify({ mine: { comand: "x" } }));
      expect(await run()).toMatchObject({
        exitCode: 1,
        stderr: expect.stringMatching(/"mine" is not valid at .*comand/),
      });
      writeFileSync(join(home, "agents.json"), "{");
      expect((await run()).stderr).toMatch(/agents\.json/);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe("fermata serve", () => {
  it("explains every option, within 100 columns", async () => {
    const { exitCode, stdout } = await fermata("serve", "--help");
    expect(exitCode).toBe(0);
    for (const name of OPTION_NAMES) expect(stdout).toContain(` --${name}`);
    expect(stdout.split("\n").filter((line) => line.length > 100)).toEqual([]);
  });

  it.each([
    [["--hostname", "0.0.0.0"], 2, /--hostname: .*needs a token; or bind to 127\.0\.0\.1/],
    [
      ["--hostname", "0.0.0.0", "--token", "phone"],
      2,
      /--token: .*fewer than 16 characters; choose a longer one, as "openssl rand -hex 16"/,
    ],
    [["--allow-origin", "*"], 2, /--allow-origin: .*it needs a token/],
    [["--enable-session-shell"], 2, /--enable-session-shell: .*it needs a token/],
    [["--require-auth"], 2, /--require-auth: there is no token to require/],
    [["--workspace", "/nowhere"], 2, /--workspace: there is no directory "\/nowhere"/],
    [["--agent", "nobody"], 1, /There is no agent "nobody"; known are/],
    [["--agent", "echo", "--agent-command", "x"], 2, /--agent or --agent-command, not both/],
    [["--tls-cert", "x"], 2, /give both, or neither/],
    [["--initialize-timeout-ms", "0"], 2, /--initialize-timeout-ms: .*from 1/],
    [["--data", "/dev/null/x"], 2, /--data: \/dev\/null: a file is in its place/],
  ])("does not start with %j, and says why", async (args, expected, sentence) => {
    const home = mkdtempSync(join(tmpdir(), "fermata-home-"));
    const command = ["bin/fermata.js", "serve", "--port", "0", ...args];
    const { exitCode, stdout, stderr } = await runNode(command, { FERMATA_HOME: home });
    rmSync(home, { recursive: true });
    expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: "" });
    expect(stderr).toMatch(sentence);
  });
});

describe("the published package", () => {
  it("offers fermata/core by its name", async () => {
    const script = `
      const core = await import("fermata/core");
      console.log(typeof core.applySessionTransition);
    `;
    const run = await runNode(["--input-type=module", "--eval", script]);
    expect(run).toEqual({ exitCode: 0, stdout: "function\n", stderr: "" });
  });

  it("keeps its other files to itself", async () => {
    const script = 'await import("fermata/dist/cli/main.js")';
    const { exitCode, stderr } = await runNode(["--input-type=module", "--eval", script]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  it("has types beside its code, and no tests", () => {
    const built = readdirSync(join(ROOT, "dist"), { recursive: true, encoding: "utf8" });
    expect(built).toContain(join("core", "index.d.ts"));
    expect(built.filter((path) => path.includes(".test."))).toEqual([]);
  });
});
