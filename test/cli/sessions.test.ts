// Sessions from the shell, through the real command, against one server that a command has started.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT } from "../../src/cli/table/exit-codes.ts";
import { built, type Ran, Shell, shell } from "./command.fixture.ts";

let person: Shell;

beforeAll(async () => {
  await built();
  person = new Shell();
});

afterAll(() => person.end());

const run = (...args: readonly string[]) => person.run(args);

/** A session with a name. */
async function made(name: string): Promise<string> {
  const { stdout, exitCode, stderr } = await run("new", name);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout.trim();
}

const jsonOf = ({ stdout }: Ran) => JSON.parse(stdout);

describe("fermata new", () => {
  it("starts a server where none runs, and says how to stop it", async () => {
    const { exitCode, stdout, stderr } = await run("new", "first");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(stderr).toMatch(
      /^fermata: started a server \(pid \d+, log \S+\); stop it: fermata stop\n$/,
    );
    expect((await run("new", "second")).stderr).toBe("");
  });

  it("works in a folder that the server was not started in", async () => {
    const folder = join(person.home, "../other");
    mkdirSync(folder);
    const { exitCode, stderr } = await person.run(["new", "elsewhere"], "", folder);
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`the server trusts ${folder} now`);
    const [, back = ""] = stderr.match(/take the trust back: curl (.*)\n/) ?? [];
    expect(back).toContain(`-d '{"cwd":"${folder}","trusted":false}' http://`);
    const here = jsonOf(await person.run(["ls", "--here", "--json"], "", folder));
    expect(here).toMatchObject([{ name: "elsewhere", workspaceCwd: folder }]);
  });
});

describe("fermata run", () => {
  it("prints what the agent says to the output, and all else to the error output", async () => {
    const prompt = "say Hello\ntool title=Look\nsay Bye";
    const { exitCode, stdout, stderr } = await run("run", prompt);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "Hello\nBye\n" });
    expect(stderr).toMatch(/✓ other Look\nfermata: [0-9a-f]{8} completed in \d+ s; continue/);
  });

  it("goes on with a session, and names both where folder or mode differ", async () => {
    const id = await made("go-on");
    const more = await run("run", `--continue=${id.slice(0, 8)}`, "-q", "say again");
    expect(more).toEqual({ exitCode: 0, stdout: "again\n", stderr: "" });
    const newest = await run("run", "--continue", "--json", "say newest");
    const result = jsonOf({ ...newest, stdout: newest.stdout.trim().split("\n").at(-1) ?? "" });
    expect(result).toMatchObject({ type: "result", sessionId: id, exitCode: 0 });
    const verdict = { kind: "complete", stopReason: "end_turn", text: "newest" };
    expect(result.verdict).toEqual({ ...verdict, cost: { chargedMicro: 0 } });
    const folder = join(person.home, "../far");
    mkdirSync(folder);
    const far = await person.run(["run", `--continue=${id}`, "say no"], "", folder);
    expect(far).toMatchObject({ exitCode: 1, stdout: "" });
    expect(far.stderr).toContain(`go-on works in ${person.folder}, and this is ${folder}`);
    const yolo = await run("run", `--continue=${id}`, "--mode", "yolo", "say no");
    expect(yolo.stderr).toMatch(/go-on is in mode ask, and this is yolo/);
  });

  it("ends with one structured message where an ask has nobody to decide it", async () => {
    const { exitCode, stdout, stderr } = await run("run", "ask kind=execute title=Rm\nsay no");
    expect({ exitCode, stdout }).toEqual({ exitCode: EXIT.needsApproval, stdout: "" });
    const messages = stderr.split("\n").filter((line) => line.startsWith("{"));
    expect(messages.map((line) => JSON.parse(line))).toMatchObject([
      { type: "permission_required", kind: "permission", title: "Rm", tool: "execute" },
    ]);
    expect((await run("asks")).stderr).toBe("fermata: nothing waits for a person\n");
    const allowed = await run(
      "run",
      "--approve",
      "exec",
      "-q",
      "ask kind=execute title=Rm\nsay ok",
    );
    expect(allowed.exitCode).toBe(0);
    expect(allowed.stdout).toMatch(/ok\n$/);
  });

  it.each([
    [EXIT.failed, ["fail -32001 no luck"]],
    [EXIT.timeout, ["--timeout", "1s", "sleep 600000"]],
  ])("ends with %i for the prompt %j", async (exitCode, args) => {
    expect((await run("run", ...args)).exitCode).toBe(exitCode);
  });

  it("reads its prompt from a pipe, and refuses what is not UTF-8", async () => {
    expect((await person.run(["run", "-q"], "say piped")).stdout).toBe("piped\n");
    const both = await person.run(["run", "-q", "say first", "-"], "say second");
    expect(both.stdout).toBe("first\nsecond\n".replace("\n", ""));
    const { exitCode, stderr } = await person.run(["run", "-"], Buffer.from([0x66, 0xff, 0xfe]));
    expect(exitCode).toBe(EXIT.usage);
    expect(stderr).toMatch(/the input is not UTF-8; convert it/);
  });

  it("cancels its turn when it is interrupted", async () => {
    const child = person.start(["run", "say begun\nsleep 600000"]);
    child.stdin?.end();
    await once(child.stdout ?? child, "data");
    child.kill("SIGINT");
    const [exitCode] = await once(child, "exit");
    expect(exitCode).toBe(EXIT.cancelled);
    expect(jsonOf(await run("ls", "--status", "running,waiting", "--json"))).toEqual([]);
  });
});

describe("a session's commands", () => {
  it("find it by its name, the beginning of its id, - and .", async () => {
    const id = await made("by-name");
    for (const word of ["by-name", id.slice(0, 6), id, "-", "."]) {
      expect(jsonOf(await run("show", word, "--json")).status.sessionId).toBe(id);
    }
    const unknown = await run("show", "no-such");
    expect(unknown).toMatchObject({ exitCode: EXIT.notFound, stdout: "" });
    expect(unknown.stderr).toMatch(/there is no session "no-such"\. All: fermata ls -a/);
    await run("rename", "-", "A title");
    await run("rename", await made("by-name-2"), "A title");
    const two = await run("show", "A title");
    expect(two.exitCode).toBe(EXIT.notFound);
    expect(two.stderr).toMatch(/"A title" fits 2 sessions; write more of the id:\n {2}by-name/);
    const taken = await run("new", "by-name");
    expect(taken).toMatchObject({ exitCode: 1, stdout: "" });
    expect(taken.stderr).toMatch(/by-name/);
  });

  it("send prompts, and answer what they ask", async () => {
    const id = await made("asker");
    const sent = await run("send", "asker", "ask kind=execute title=Deploy");
    expect(sent.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    await run("wait", "asker", "--for", "ask");
    const listed = await run("ls");
    expect(listed.stdout.split("\n")[1]).toMatch(/^asker +\S+ +● waiting .*asks: Deploy → /);
    expect((await run("asks")).stdout).toMatch(new RegExp(`${id.slice(0, 8)} +permission +Deploy`));
    expect((await run("approve", "asker")).stderr).toBe("fermata: approved: Deploy\n");
    expect((await run("wait", "asker", "--timeout", "60s")).exitCode).toBe(0);
    const denied = run("send", "asker", "ask kind=execute title=Drop", "--wait");
    await run("wait", "asker", "--for", "ask");
    await run("deny", "asker");
    expect(await denied).toMatchObject({ exitCode: 0 });
    const told = await run("logs", "asker");
    expect(told.stdout).toMatch(
      /^\n> ask kind=execute title=Deploy\n(.*\n)+\n> ask .*title=Drop\n/,
    );
    const lines = (await run("logs", "asker", "--json")).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(lines.map((_, at) => at + 1));
  });

  it("show and cancel what is at work and what waits", async () => {
    await made("busy");
    await run("send", "busy", "sleep 600000");
    await run("send", "busy", "say later");
    await expect
      .poll(async () => jsonOf(await run("queue", "busy", "--json")).map(stateOf))
      .toEqual(["running", "queued"]);
    expect((await run("wait", "busy", "--timeout", "1s")).exitCode).toBe(EXIT.timeout);
    await run("cancel", "busy", "--all");
    expect((await run("wait", "busy")).exitCode).toBe(0);
    expect((await run("queue", "busy")).stderr).toMatch(/nothing is at work/);
  });

  it("rename, fork, export, close and delete it", async () => {
    const id = await made("whole");
    await run("send", "whole", "say kept", "--wait");
    await run("rename", "whole", "A", "better", "title");
    const fork = (await run("fork", id)).stdout.trim();
    expect(fork).not.toBe(id);
    expect((await run("export", id)).stdout).toMatch(/kept/);
    const file = join(person.folder, "whole.md");
    expect((await run("export", id, "-o", file)).stderr).toMatch(/wrote whole to/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run("export", id, "-o", file)).exitCode).toBe(EXIT.usage);
    expect((await run("close", id, fork)).exitCode).toBe(0);
    expect((await run("ls", "-q")).stdout).not.toContain(id);
    expect((await run("ls", "-a", "-q")).stdout).toContain(id);
    expect((await run("run", `--continue=${id}`, "-q", "say back")).stdout).toBe("back\n");
    expect((await run("rm", id, "--dry-run")).stderr).toMatch(/1 session would be deleted/);
    expect((await run("rm", id, fork)).exitCode).toBe(0);
    expect((await run("show", id)).exitCode).toBe(EXIT.notFound);
  });

  it("leave a closed pipe quietly", async () => {
    const shellLine = `"$0" bin/fermata.js ls -a --json | head -c 1; echo " \${PIPESTATUS[0]}"`;
    const env = { PATH: process.env.PATH, FERMATA_HOME: person.home };
    const bash = spawn("bash", ["-c", shellLine, process.execPath], { env });
    let said = "";
    bash.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
    bash.stderr.resume();
    await once(bash, "close");
    expect(said).toMatch(/^\[ 0\n$/);
  });

  it.each([
    [["ls", "--status", "asleep"], /--status must be one of inactive/],
    [["wait", "-", "--for", "ever"], /--for must be one of idle, ask/],
    [["run", "--mode", "yollo", "x"], /--mode must be .* \(did you mean "yolo"\?\)/],
    [["run", "--budget", "much", "x"], /--budget is credits, as in 2\.50/],
    [["send"], /expected a session and a prompt/],
    [["rm"], /expected a session/],
    [["approve", "one", "two"], /expected one ask/],
  ])("refuse %j before any server is asked", async (args, reason) => {
    const { exitCode, stderr } = await run(...args);
    expect(exitCode).toBe(EXIT.usage);
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(new RegExp(`see "fermata ${args[0]} --help"`));
  });
});

describe("sessions of another machine", () => {
  it("are listed and used by a context, with a token", async () => {
    const owner = shell();
    const made = await owner.run(["tokens", "create", "--user", "ada", "--role", "owner"]);
    await owner.run(["serve", "-d"]);
    const [name = ""] = readdirSync(join(owner.home, "run"));
    const { url } = JSON.parse(readFileSync(join(owner.home, "run", name), "utf8"));
    const ada = shell();
    await ada.run(["login", url, "--token-file", "-"], made.stdout);
    const ran = await ada.run(["run", "-q", "say from afar"]);
    expect(ran).toEqual({ exitCode: 0, stdout: "from afar\n", stderr: "" });
    expect(jsonOf(await ada.run(["ls", "--json"]))).toMatchObject([{ createdBy: "ada" }]);
    writeFileSync(join(ada.home, "token"), "fermata_wrong");
    const wrong = await ada.run(["ls", "--token-file", join(ada.home, "token")]);
    expect(wrong).toMatchObject({ exitCode: EXIT.unauthorized, stdout: "" });
  });
});

function stateOf({ state }: { readonly state: string }): string {
  return state;
}
