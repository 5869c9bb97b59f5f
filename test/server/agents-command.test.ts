// `fermata agents` asks a server that runs: both are processes, as users have them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { ROOT } from "../house/files.ts";
import { ENTRY } from "./program.fixture.ts";
import { sharedServer } from "./serve.fixture.ts";

const SECRET = "sk-told-to-the-agent-0123456789";

/** It says its key on its error output, says it again as an answer, and dies of "die". */
const TALKATIVE = `
  process.stderr.write("starting with " + process.env.AGENT_KEY + "\\n");
  const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "session/prompt" && params.prompt.at(-1).text === "die") {
      process.stderr.write("no such model: large, key " + process.env.AGENT_KEY + "\\n");
      process.exit(3);
    }
    const content = { type: "text", text: "my key is " + process.env.AGENT_KEY };
    const update = { sessionUpdate: "agent_message_chunk", content };
    const about = { sessionId: params.sessionId, update };
    if (method === "session/prompt") send({ method: "session/update", params: about });
    const sessionId = String(Math.random());
    send({ id, result: { protocolVersion: 1, sessionId, stopReason: "end_turn" } });
  });
`;

/** It keeps its sessions in the workspace. */
const KEEPING = join(ROOT, "src/agent/bridge/keeping-agent.fixture.ts");

const server = sharedServer({
  flags: ["--agent", "talkative"],
  env: { AGENT_KEY: SECRET },
  agents: {
    talkative: {
      command: process.execPath,
      args: ["-e", TALKATIVE.replaceAll("\n", " ")],
      env: { AGENT_KEY: { from: "AGENT_KEY" } },
    },
    keeping: { command: process.execPath, args: [KEEPING, "list", "resume"] },
  },
});

/** The command, and all that it says; it may be told to stop. */
function fermata(...args: readonly string[]) {
  const env = { PATH: process.env.PATH, FERMATA_URL: server().url };
  const child = spawn(process.execPath, [ENTRY, "agents", ...args], { env });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.err += text;
  });
  const ended = once(child, "close").then(([exitCode]) => ({ exitCode, ...said }));
  return { child, said, ended };
}

async function ask(method: string, path: string, body?: object): Promise<JsonObject> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${server().url}${path}`, { method, headers, ...sent });
  const read: unknown = await answer.json().catch(() => ({}));
  return isObject(read) ? read : {};
}

/** A session, and the type and data of each event of one prompt, to its verdict. */
async function prompted(text: string): Promise<readonly (readonly [string, JsonObject])[]> {
  const { sessionId } = await ask("POST", "/session", { sessionScope: "thread" });
  const stream = await fetch(`${server().url}/session/${sessionId}/events`);
  await ask("POST", `/session/${sessionId}/prompt`, { prompt: [{ type: "text", text }] });
  const events: (readonly [string, JsonObject])[] = [];
  let unread = "";
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    unread += chunk;
    const frames = unread.split("\n\n");
    unread = frames.pop() ?? "";
    for (const frame of frames) {
      const [, data = "{}"] = /^data: (.*)$/m.exec(frame) ?? [];
      const { type, data: about } = JSON.parse(data);
      events.push([type, about]);
    }
    if (events.some(([type]) => type === "turn_complete" || type === "session_died")) break;
  }
  return events;
}

const dataOf = (events: Awaited<ReturnType<typeof prompted>>, type: string) =>
  events.find(([one]) => one === type)?.[1];

describe("an agent that dies in a turn", () => {
  it("P11: has its last words told to clients and log, without its secrets", async () => {
    const events = await prompted("die");
    const words = "no such model: large, key [redacted]";
    const message = dataOf(events, "turn_error")?.message;
    expect(message).toContain(words);
    expect(message).toContain('"fermata agents logs talkative"');
    expect(dataOf(events, "session_died")).toMatchObject({
      exitCode: 3,
      message: expect.stringContaining(words),
    });
    const logged = server()
      .said.split("\n")
      .find((line) => line.includes('"agent died"'));
    expect(logged).toContain(words);
    expect(server().said + JSON.stringify(events)).not.toContain(SECRET);
  });
});

describe("fermata agents, of a server that runs", () => {
  it("logs: shows what processes said, also of one that is gone", async () => {
    await prompted("die");
    const { exitCode, out } = await fermata("logs", "talkative").ended;
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^== process \d+, pid \d+, ended$/m);
    expect(out).toContain("starting with [redacted]\nno such model: large");
    expect(out).not.toContain(SECRET);
  });

  it("restart: sessions that come later are in another process", async () => {
    await prompted("hello");
    const before = (await fermata("ps").ended).out;
    expect(before).toMatch(/^\d+ +\d+ +talkative +ready +\d+ /m);
    const restarted = await fermata("restart", "talkative").ended;
    expect(restarted.out).toMatch(/^talkative: 0 ended, 1 closes with the last session\.$/m);
    await prompted("hello again");
    const after = (await fermata("ps").ended).out;
    expect(after).toMatch(/ talkative +closing +\d+ /);
    expect(after).toMatch(/ talkative +ready +1 /);
  });

  it("P11: trace: writes each line both ways, without secrets, for its owner", async () => {
    const file = join(server().folder, "trace.ndjson");
    await fermata("restart", "talkative").ended;
    const tracing = fermata("trace", file);
    const { value: announced } = await createInterface({ input: tracing.child.stderr })
      [Symbol.asyncIterator]()
      .next();
    expect(announced).toContain("until Ctrl-C");
    await prompted("hello");
    const lines = () => readFileSync(file, "utf8").split("\n").filter(Boolean);
    await expect.poll(() => lines().some((line) => line.includes("my key is"))).toBe(true);
    tracing.child.kill("SIGINT");
    expect((await tracing.ended).exitCode).toBe(0);
    const entries: readonly JsonObject[] = lines().map((line) => JSON.parse(line));
    const [begun, first] = entries;
    expect(begun).toMatchObject({ trace: "begun" });
    expect(first).toMatchObject({ direction: "out", profile: "talkative" });
    expect(JSON.parse(String(first?.line))).toMatchObject({ method: "initialize" });
    expect(lines().join("\n")).toContain("my key is [redacted]");
    expect(lines().join("\n")).not.toContain(SECRET);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("sessions and adopt: one that the agent made by itself goes on here, once", async () => {
    const { workspace } = server();
    const own = { sessionId: "mine", cwd: workspace, title: "about mine" };
    writeFileSync(join(workspace, "kept-sessions.json"), JSON.stringify([own]));
    const list = ["sessions", "keeping", "--cwd", workspace];
    expect((await fermata(...list).ended).out).toMatch(/^mine +- +about mine$/m);
    const adopt = ["adopt", "keeping", "mine"];
    const { exitCode, out, err } = await fermata(...adopt).ended;
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    const [, sessionId] =
      /^keeping's session mine is adopted: .* session (\S+) now\.$/m.exec(out) ?? [];
    expect(await ask("GET", `/session/${sessionId}/status`)).toMatchObject({ sessionId });
    expect((await fermata(...list).ended).out).toMatch(/^The agent has no sessions of its own/m);
    const again = await fermata(...adopt).ended;
    expect(again.exitCode).toBe(1);
    expect(again.err).toMatch(/^fermata: There is a session for this one/);
  });

  it.each([
    [["adopt", "keeping"], 2, /adopt takes a name and an id/],
    [["adopt", "keeping", "other"], 1, /no such session in this workspace/],
    [["ps", "--cwd", "."], 2, /--cwd is for "sessions" and "adopt"/],
    [["logs"], 2, /logs takes a name/],
    [["ps", "more"], 2, /ps takes nothing/],
    [["trace", "x", "--url", "nowhere"], 2, /"nowhere" is not an address/],
    [["logs", "nobody"], 1, /nobody/],
    [["ps", "--url", "http://127.0.0.1:9"], 1, /cannot reach .*; start it, or say where .* --url/],
  ])("says what is wrong with %j", async (args, expected, words) => {
    const { exitCode, err } = await fermata(...args).ended;
    expect(exitCode).toBe(expected);
    expect(err).toMatch(words);
  });
});
