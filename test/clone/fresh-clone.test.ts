// What the first five minutes rest on: the README as people follow it who have just cloned the
// project, how a server ends that they started so, and the package that is made of the clone.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { OLDEST_NODE } from "../../bin/node-version.js";
import { itWhere } from "../../src/platform/machine.fixture.ts";
import { ROOT, readText } from "../house/files.ts";
import { examplesIn } from "../server/curl.fixture.ts";
import { FreshClone, PATIENCE_MS, type Started } from "./fresh-clone.fixture.ts";

const clone = new FreshClone();
afterAll(() => clone.remove(), PATIENCE_MS);

/** Of the last server that was started here. */
let server: Started | null = null;
let url = "";
let sessionId = "";

async function start(line: string): Promise<Started> {
  server = clone.run(line);
  url = await server.url();
  return server;
}

/** Runs a line to its end, and returns what it has said. */
async function ended(line: string, exitCodes: readonly number[] = [0]): Promise<string> {
  const run = clone.run(line, { env: { FERMATA_URL: url } });
  const exitCode = await run.ended;
  expect(exitCodes, `${line}\n${run.said}`).toContain(exitCode);
  return run.said;
}

async function post(path: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Sends a prompt, and reads on until these words come. */
async function prompt(text: string, words: string): Promise<void> {
  const sent = await post(`/session/${sessionId}/prompt`, { prompt: [{ type: "text", text }] });
  const { lastEventId } = JSON.parse(await sent.text());
  await eventsAfter(lastEventId, words);
}

/** What the session's log has from this event on, until these words come. */
async function eventsAfter(eventId: number, words: string): Promise<string> {
  const headers = { "last-event-id": `${eventId}` };
  const response = await fetch(`${url}/session/${sessionId}/events`, { headers });
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes(words)) break;
  }
  return text;
}

const readme = readText("README.md");
const [starting = [], talking = []] = examplesIn(readme).map(({ commands }) => {
  const lines = commands.replaceAll("\\\n", "").trim().split("\n");
  return lines.map((line) =>
    line
      .replace(/\s+#.*$/, "")
      .replace(/\s+/g, " ")
      .trim(),
  );
});
const firstServer = starting.indexOf("npm start") + 1;

describe("the README, from a fresh clone", { timeout: PATIENCE_MS }, () => {
  const isServer = (line: string) => /^npm start( --( .*)?)?$/.test(line);
  // The fixture has made the clone; and the last is what runs this test.
  const others = ["git clone <this repository> fermata && cd fermata", "npm test"];

  const follow = async (line: string) => {
    if (others.includes(line)) return;
    if (!isServer(line)) {
      await ended(line.replace("<sessionId>", sessionId));
      return;
    }
    if (server !== null) {
      server.child.kill("SIGINT");
      await server.gone();
    }
    await start(line);
  };

  it("has commands to start with, and commands to talk with", () => {
    expect(starting.filter((line) => !others.includes(line) && !line.startsWith("npm"))).toEqual(
      [],
    );
    expect(talking.filter((line) => !/^(curl|URL=)/.test(line))).toEqual([]);
    expect(firstServer).toBeGreaterThan(0);
  });

  it.each(starting.slice(0, firstServer))("%s", follow);

  it("shows a page to a browser, if it says so", async () => {
    if (!/in (?:a|your) browser/i.test(readme)) return;
    const page = await fetch(url, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toMatch(/^text\/html\b/);
    expect(await page.text()).toContain("Fermata");
  });

  it.each(talking)("%s", async (line) => {
    const typed = line.replace("$URL", url).replace("<sessionId>", sessionId);
    if (line.startsWith("URL=")) return;
    if (line.includes("/events")) {
      // The stream goes on for as long as its reader.
      expect(await ended(typed.replace("-sN", "-sN -m 1"), [28])).toContain(sessionId);
      return;
    }
    const said = await ended(typed);
    sessionId ||= /"sessionId":"([^"]+)"/.exec(said)?.[1] ?? "";
    expect(said).toContain(line.includes("/prompt") ? "promptId" : sessionId);
  });

  it("P3: goes on after kill -9 where it was, with nothing missing and nothing twice", async () => {
    const numbered = (frames: string) => frames.match(/^id: .*\n.*\n.*/gm) ?? [];
    const before = numbered(await eventsAfter(0, "SessionPersisted"));
    expect(readme).toContain("kill -9");
    process.kill(server?.family.at(-1) ?? 0, "SIGKILL");
    await server?.endAll();
    await start("npm start");
    const after = numbered(await eventsAfter(0, "replay_complete"));
    expect(after.slice(0, before.length)).toEqual(before);
    const ids = after.map((frame) => Number(/\d+/.exec(frame)?.[0]));
    expect(ids).toEqual(ids.map((_, at) => at + 1));
  });

  it.each(starting.slice(firstServer))("%s", follow);
});

describe("a server behind npm start", { timeout: PATIENCE_MS }, () => {
  const TOP = 0;
  const MIDDLE = 1;

  it.each([
    ["SIGTERM", "npm", TOP],
    ["SIGINT", "npm", TOP],
    ["SIGHUP", "npm", TOP],
    ["SIGKILL", "npm", TOP],
    ["SIGTERM", "the process between", MIDDLE],
    ["SIGKILL", "the process between", MIDDLE],
  ] as const)(
    "P5: ends with all of it after %s to %s, and keeps its sessions",
    async (signal, _, at) => {
      if (server !== null) await server.endAll();
      const running = await start("exec npm start");
      // npm, the process between, and the server; below that only agents.
      expect(running.family.length).toBe(3);
      expect((await fetch(`${url}/session/${sessionId}/status`)).status).toBe(200);
      process.kill(running.family[at] ?? 0, signal);
      await running.gone();
      server = null;
    },
  );

  it.each([
    ["where npm was called", "npm start --prefix", clone.beside("my work"), null],
    ["in a scratch folder, called in the clone", "npm start -C", clone.folder, "home/scratch"],
  ])("works %s, and says so if it is not plain", async (_, command, cwd, scratch) => {
    if (server !== null) await server.endAll();
    server = clone.run(`exec ${command} "${clone.folder}"`, { cwd });
    url = await server.url();
    const { workspaceCwd } = JSON.parse(await (await post("/session", {})).text());
    expect(workspaceCwd).toBe(scratch === null ? cwd : clone.beside(scratch));
    const isSaid = /agents work in .*scratch; for another folder use --workspace/.test(server.said);
    expect(isSaid).toBe(scratch !== null);
    await server.endAll();
    server = null;
  });

  it("ends at once while it is still being made ready", async () => {
    const stamp = join(clone.folder, "node_modules/.fermata-setup");
    const content = readFileSync(stamp);
    writeFileSync(stamp, "");
    const running = clone.run("exec npm start");
    await running.says(/updating dependencies/);
    running.look();
    running.child.kill("SIGTERM");
    await running.gone();
    writeFileSync(stamp, content);
  });

  // A terminal of our own, whose keys reach all that runs in it.
  const hasTerminals = readdirSync("/usr/bin").includes("script") && process.platform === "linux";
  const inTerminal = { shell: ["script", "-qe", "/dev/null", "-c"], env: { SHELL: "/bin/sh" } };
  const CTRL_C = "\x03";

  const busyTerminal = async (turn: string) => {
    const running = clone.run("npm start", inTerminal);
    server = running;
    url = await running.url();
    await prompt(turn, '"to":"running"');
    return running;
  };

  itWhere(
    hasTerminals ? null : "there is no program `script`",
    "waits after one Ctrl-C for a turn, and says so",
    async () => {
      const running = await busyTerminal("sleep 1500");
      running.child.stdin?.write(CTRL_C);
      await running.gone();
      expect(running.said).toContain(
        `stopping, but first waiting up to 10 s for 1 turn (session ${sessionId.slice(0, 8)})`,
      );
      expect(running.said).not.toContain("cut off 1 turn");
      expect(running.said).toMatch(
        /stopped; \d+ sessions? (?:is|are) kept in .*home; start the server/,
      );
    },
    PATIENCE_MS,
  );

  itWhere(
    hasTerminals ? null : "there is no program `script`",
    "ends at once after another Ctrl-C, and says what it cut off",
    async () => {
      const running = await busyTerminal("hang");
      const press = () => running.child.stdin?.write(CTRL_C);
      press();
      await running.says(/press Ctrl-C again/);
      const pressing = setInterval(press, 200);
      await running.gone().finally(() => clearInterval(pressing));
      expect(running.said).toContain(`cut off 1 turn (session ${sessionId.slice(0, 8)})`);
    },
    PATIENCE_MS,
  );
});

describe("the package made of a clone", { timeout: PATIENCE_MS }, () => {
  const app = clone.beside("app");
  const inApp = (line: string) => ended(`cd "${app}" && ${line}`);

  it("is packed, and installs with what it uses and nothing else", async () => {
    const tarball = `${clone.beside("packed")}/fermata.tgz`;
    await ended(`npm pack --silent && mv fermata-*.tgz "${tarball}"`);
    // The oldest Node that may run it comes with it, as no part of it.
    await inApp(`npm init -y && npm install "${tarball}" node@${OLDEST_NODE} --no-audit --no-fund`);
    const installed = readdirSync(join(app, "node_modules")).filter(
      (name) => !/^(\.|node)/.test(name),
    );
    const used = ["better-sqlite3", "eventsource-parser", "fermata", "marked", "zod"];
    expect(installed).toEqual(used);
  });

  it("has types that another program compiles with", async () => {
    const { exports } = JSON.parse(readText("package.json"));
    const names = Object.keys(exports).filter((name) => name !== "./package.json");
    const lines = names.map((name, at) => `export * as m${at} from "fermata${name.slice(1)}";`);
    writeFileSync(join(app, "all.mts"), lines.join("\n"));
    const typeRoots = [join(ROOT, "node_modules/@types")];
    const compilerOptions = { module: "nodenext", target: "es2024", strict: true, noEmit: true };
    const config = { compilerOptions: { ...compilerOptions, typeRoots, types: ["node"] } };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ ...config, include: ["all.mts"] }));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    execFileSync(process.execPath, [compiler, "-p", app], { encoding: "utf8" });
    writeFileSync(join(app, "all.mjs"), lines.join("\n"));
  });

  it.each([
    [OLDEST_NODE, "node_modules/.bin/node"],
    ["24", process.execPath],
  ])("runs on Node %s: version, imports, server, session, prompt, stop", async (version, node) => {
    expect(await inApp(`"${node}" --version`)).toContain(`v${version}.`);
    expect(await inApp(`"${node}" node_modules/.bin/fermata --version`)).toMatch(
      /^\d+\.\d+\.\d+\n/,
    );
    await inApp(`"${node}" all.mjs`);
    const data = clone.beside(`data-${version}`);
    const running = await start(
      `cd "${app}" && exec "${node}" node_modules/.bin/fermata serve --data "${data}"`,
    );
    ({ sessionId } = JSON.parse(await (await post("/session", {})).text()));
    await prompt("Hello", "turn_complete");
    running.child.kill("SIGTERM");
    expect(await running.ended).toBe(0);
    expect(running.said).toContain(`stopped; 1 session is kept in ${data}; start`);
  });
});
