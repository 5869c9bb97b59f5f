import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServeProcess } from "./serve.fixture.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

async function open(url: string, path = "/"): Promise<string> {
  return (await fetch(`${url}${path}`, { headers: BROWSER })).text();
}

/** The blocks of commands of a page, as a person copies them. */
function commandsIn(page: string): readonly string[] {
  const blocks = page.matchAll(/<pre>(.*?)<\/pre>/gs);
  return [...blocks].map(([, block = ""]) =>
    block.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
  );
}

/** Runs commands of which the last one does not end, until it has printed this. */
async function printed(commands: string, wanted: RegExp): Promise<string> {
  const shell = spawn("sh", ["-c", commands], { detached: true });
  const end = () => {
    if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, "SIGKILL");
  };
  onTestFinished(end);
  let said = "";
  for await (const chunk of shell.stdout.setEncoding("utf8")) {
    said += chunk;
    if (wanted.test(said)) break;
  }
  return said;
}

describe("the page of a server without tokens", () => {
  it("has commands that work as they stand", async () => {
    const server = await ServeProcess.start();
    onTestFinished(() => server.end());
    const [attach = "", watch = ""] = commandsIn(await open(server.url));
    expect(attach).toContain(`URL=${server.url}\n`);
    expect(await printed(attach, /"turn_complete"/)).toContain("Hello");
    const all = await printed(`URL=${server.url}\n${watch}`, /"sessionId"/);
    expect(all).toContain("event: ");
    expect(await open(server.url)).toMatch(/<td class="count">1<\/td><td class="name">ready</);
  }, 60_000);
});

describe("the page of a server with a token", () => {
  it("has commands that work with that token", async () => {
    const token = "a-token-that-is-long-enough-for-all";
    const server = await ServeProcess.start({ env: { FERMATA_TOKEN: token } });
    onTestFinished(() => server.end());
    const page = await open(server.url);
    const [, attach = ""] = commandsIn(page);
    const mine = attach.replace("TOKEN=your-token", `TOKEN=${token}`);
    expect(await printed(mine, /"turn_complete"/)).toContain("Hello");
    // P8: what has happened meanwhile is not for those who have no token.
    expect(await open(server.url)).toBe(page);
  }, 60_000);
});

describe("a server with a web client", () => {
  it("serves it beside the API, and keeps agents out of it", async () => {
    const server = await ServeProcess.start({
      prepare: ({ workspace, home }) => {
        const client = join(workspace, "client");
        mkdirSync(client);
        writeFileSync(join(client, "index.html"), "<h1>The client</h1>");
        writeFileSync(join(home, "config.json"), JSON.stringify({ web: client, agent: "echo" }));
      },
    });
    onTestFinished(() => server.end());
    const { url, workspace } = server;
    const made = await fetch(`${url}/session`, { method: "POST" });
    const { sessionId } = Object(await made.json());
    for (const path of ["/", "/index.html", `/session/${sessionId}`, "/settings/skills"]) {
      expect(await open(url, path)).toBe("<h1>The client</h1>");
    }
    const asked = await fetch(`${url}/session/${sessionId}`);
    expect(await asked.json()).toMatchObject({ sessionId });
    expect(await open(url, "/capabilities")).toContain('"v":1');
    expect(await open(url, `/session/${sessionId}/status`)).toContain(sessionId);
    const index = join(workspace, "client", "index.html");
    for (const text of [`read ${index}`, `write ${index} changed`]) {
      const body = JSON.stringify({ prompt: [{ type: "text", text }] });
      const headers = { "content-type": "application/json" };
      await fetch(`${url}/session/${sessionId}/prompt`, { method: "POST", headers, body });
    }
    const events = `curl -sN ${url}/session/${sessionId}/events -H 'Last-Event-ID: 0'`;
    const heard = await printed(events, /"turn_complete".*"turn_complete"/s);
    expect(heard.match(/not inside the workspace/g)?.length).toBeGreaterThanOrEqual(2);
    expect(readFileSync(index, "utf8")).toBe("<h1>The client</h1>");
  }, 60_000);
});
