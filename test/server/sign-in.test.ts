// Agents that want a sign-in, behind a real server, and the command that signs in to them.

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { KNOWN_PROFILES } from "../../src/agent/profile/known.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { ROOT } from "../house/files.ts";
import { sharedServer } from "./serve.fixture.ts";

const PROGRAM = join(ROOT, "src/agent/bridge/sign-in-agent.fixture.ts");

const PAGE_PROGRAM = join(ROOT, "src/agent/bridge/keeping-agent.fixture.ts");

/** What a server may have in its environment: the keys of all agents, and of much else. */
const SECRETS: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...KNOWN_PROFILES.flatMap(({ inherit }) => inherit).filter((name) => /KEY|TOKEN/.test(name)),
    ...["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL"],
    ...["FERMATA_TOKEN", "PGPASSWORD", "ECHO_KEY", "OTHER_KEY"],
  ].map((name) => [name, `value-of-${name}-4711`]),
);

const server = sharedServer({
  flags: [
    // From the folder of the shell, which is not the workspace.
    ...["--agent-command", `${process.execPath} ${relative(process.cwd(), PROGRAM)} in-a-turn`],
    ...["--agent-name", "mine", "--agent-env", "ECHO_KEY"],
  ],
  env: SECRETS,
  agents: {
    page: {
      ...{ command: process.execPath, args: [PAGE_PROGRAM, "sign-in"] },
      auth: [{ method: "page", ifSet: [] }],
    },
    ways: { command: process.execPath, args: [PROGRAM, "ways"], signIn: "Ask Ann" },
    terminal: {
      ...{ command: process.execPath, args: [PROGRAM, "terminal"], home: "ECHO_HOME" },
      inherit: ["OTHER_KEY"],
    },
  },
});

async function ask(method: string, path: string, body?: object): Promise<JsonObject> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const token = `Bearer ${SECRETS.FERMATA_TOKEN}`;
  const headers = { "content-type": "application/json", authorization: token };
  const answer = await fetch(`${server().url}${path}`, { method, headers, ...sent });
  const read: unknown = await answer.json().catch(() => ({}));
  return { status: answer.status, ...(isObject(read) ? read : {}) };
}

/** The command, as an operator types it beside the server. */
function fermata(...args: readonly string[]) {
  return fermataIn(server().workspace, () => {}, ...args);
}

/** The same in another folder; what it says is also told at once. */
function fermataIn(cwd: string, hear: (out: string) => void, ...args: readonly string[]) {
  const entry = join(import.meta.dirname, "entry.fixture.ts");
  const { PATH } = process.env;
  const env = { PATH, ...SECRETS, FERMATA_HOME: server().home };
  return new Promise<{ exitCode: number; out: string; err: string }>((resolve) => {
    const words = [entry, "agents", ...args];
    const child = execFile(process.execPath, words, { env, cwd }, (_, out, err) => {
      resolve({ exitCode: child.exitCode ?? -1, out, err });
    });
    child.stdout?.on("data", hear);
  });
}

describe("an agent that wants a sign-in, at a server", () => {
  it("a session is refused with its own words, its methods, and what to do", async () => {
    const refused = await ask("POST", "/session", { agent: "ways", sessionScope: "thread" });
    expect(refused).toMatchObject({ status: 502, code: "agent_auth_required" });
    expect(refused.error).toMatch(/It says: Please run `agent login`.* Ask Ann\. It offers: First/);
    expect(refused.signIns).toMatchObject({ first: { name: "First key" } });
  });

  it("P2: in mid-turn it is the verdict, and after a log-in the session goes on", async () => {
    const { sessionId } = await ask("POST", "/session", { sessionScope: "thread" });
    const path = `/session/${sessionId}`;
    const prompted = async (text: string, state: string) => {
      const prompt = [{ type: "text", text }];
      const { promptId } = await ask("POST", `${path}/prompt`, { prompt });
      const turn = () => ask("GET", `${path}/turns/${promptId}`);
      await expect.poll(async () => (await turn()).state, { timeout: 10_000 }).toBe(state);
      return JSON.stringify(await turn());
    };
    for (const text of ["one", "two"]) {
      const failed = await prompted(text, "error");
      expect(failed).toContain('"agent_auth_required"');
      expect(failed).toContain("It says: Please run `agent login` from your terminal.");
    }
    writeFileSync(join(server().workspace, "logged-in"), "");
    expect(await prompted("three", "completed")).toContain("end_turn");
  });

  it("P11: it has no secret of the server that its profile does not name", () => {
    const had: JsonObject = JSON.parse(
      readFileSync(join(server().workspace, "environment"), "utf8"),
    );
    const got = Object.entries(SECRETS).filter(([, value]) => JSON.stringify(had).includes(value));
    expect(got.map(([name]) => name)).toEqual(["ECHO_KEY"]);
  });
});

describe("fermata agents NAME", () => {
  it("makes a session, and says what is missing", async () => {
    const { exitCode, out, err } = await fermata("ways");
    expect(exitCode).toBe(1);
    expect(out).toMatch(/a session: +cannot be made, see below/);
    expect(err).toMatch(/asks for a sign-in\. It says: Please run .* Ask Ann\./);
    expect((await fermata("echo")).out).toMatch(/a session: +can be made/);
  });

  it("--sign-in runs the agent's command with its environment and the user's home", async () => {
    const homes = ["--agent-homes", server().folder, "--tenant", "acme", "--user", "ada"];
    const { exitCode, out } = await fermata("terminal", "--sign-in", "--method", "login", ...homes);
    const [said = ""] = out.split("\n");
    expect(JSON.parse(said)).toEqual({
      ...{ action: "login", FROM_METHOD: "yes", ECHO_KEY: "", OTHER_KEY: SECRETS.OTHER_KEY },
      ECHO_HOME: join(server().folder, "acme", "ada", "terminal"),
    });
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: expect.stringContaining("Signed in.") });
    expect(out).toMatch(/fermata agents terminal --agent-homes=\S+ --tenant=acme --user=ada/);
  });

  it("--sign-in shows the page that the agent wants opened, and waits for the person", async () => {
    const folder = join(server().folder, "elsewhere");
    mkdirSync(folder);
    const open = (out: string) => {
      if (out.includes("https://login.example/device"))
        writeFileSync(join(folder, "signed-in"), "");
    };
    const { exitCode, out, err } = await fermataIn(folder, open, "page", "--sign-in");
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out.split("\n")).toEqual([
      "Enter the code ABCD.",
      "Open https://login.example/device and sign in; this command waits for it.",
      "Signed in. To see whether a session can be made: fermata agents page",
      "",
    ]);
  });

  it.each([
    [["terminal", "--sign-in", "--user", "ada"], 2, /need --agent-homes DIR with --sign-in/],
    [["page"], 1, /sign in at a page.*with --sign-in, or make a session with it at a server/],
    [["terminal", "--sign-in"], 1, /--method ID: Log in \(login\).*Older \(older\)/],
    [
      ["terminal", "--sign-in", "--method", "older"],
      1,
      /names the command "\/opt\/my agent" for that, which was not found\.$/m,
    ],
    [
      ["ways", "--sign-in"],
      1,
      /offers no sign-in in a terminal or at a page\. Ask Ann\. It offers: First key/,
    ],
    [[`${process.execPath} ${PROGRAM} terminal-fails`, "--sign-in"], 1, /with exit code 3\.$/m],
  ])("says what is wrong with %j", async (args, expected, words) => {
    const { exitCode, err } = await fermata(...args);
    expect({ exitCode, err }).toEqual({ exitCode: expected, err: expect.stringMatching(words) });
  });
});
