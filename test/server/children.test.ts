// Child sessions on a real server: `echo` delegates by the relay, as the models of other agents do.

import { describe, expect, it } from "vitest";
import { readText } from "../house/files.ts";
import { ECHO } from "./program.fixture.ts";
import { sharedServer } from "./serve.fixture.ts";
import { Talk } from "./talk.fixture.ts";

const DELEGATING = ["--max-children", "4"];

/** The script of docs/children.md. */
const EXAMPLE = /^mcp delegate .*$/m.exec(readText("docs/children.md"))?.[0] ?? "";

/** How many times this stands in what a log says. */
const times = (log: string, words: string) => log.split(words).length - 1;

const idsOf = (log: string) => [...log.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

describe("an agent that delegates", { timeout: 120_000 }, () => {
  const server = sharedServer({ flags: DELEGATING });

  it("does what docs/children.md shows", async () => {
    const talk = await Talk.begun(server());
    const log = await talk.prompt("turn_complete", EXAMPLE);
    expect(log).toContain('"type":"child_session_started"');
    expect(log).toMatch(/"type":"child_session_ended".*"state":"Closed","text":"found it"/);
    expect(log).toContain('\\"state\\":\\"Closed\\"');
    const { children } = await talk.call("GET", "/children");
    expect(children).toMatchObject([{ title: "look", agent: "echo", state: "Closed" }]);
  });

  it("P2: has its children end before its turn when that is cancelled", async () => {
    const talk = await Talk.begun(server());
    const begun = await talk.prompt("child_session_started", 'mcp delegate {"task":"hang"}');
    await talk.call("POST", "/cancel", {});
    const log = await talk.until("turn_complete", Number(/^id: (\d+)/m.exec(begun)?.[1] ?? 0) - 1);
    const order = ["child_session_ended", "prompt_cancelled", "turn_complete"];
    const places = order.map((type) => log.indexOf(`"type":"${type}"`));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(log).toContain('"code":"parent_cancelled"');
  });

  it("P3: has children that can be watched alone, over a kill -9, to their end", async () => {
    const talk = await Talk.begun(server());
    const task = JSON.stringify({ task: "say mine\nhang" });
    await talk.prompt("child_session_started", `mcp delegate ${task}`);
    const { children } = await talk.call("GET", "/children");
    const [, childId = ""] = /"childId":"([^"]+)"/.exec(JSON.stringify(children)) ?? [];
    const stream = `/children/${childId}/events`;
    const begun = await talk.until("agent_message_chunk", 0, stream);
    await server().kill("SIGKILL");
    await server().restart();
    const rest = await talk.until("SERVER_RESTART", idsOf(begun).at(-1) ?? 0, stream);
    const whole = await talk.whole(stream);
    expect(idsOf(whole)).toEqual([...idsOf(begun), ...idsOf(rest)]);
    expect(whole).toMatch(/child_session_started.*"mine".*child_session_ended/s);
    const log = await talk.until('"type":"turn_error"', 0);
    const events = whole.match(/^data: {"id":.*$/gm) ?? [];
    expect(events.filter((line) => !log.includes(line))).toEqual([]);
    expect(await talk.call("GET", "/children/none/events")).toMatchObject({
      code: "child_not_found",
    });
  });

  it("has the asks of a child answered by people", async () => {
    const talk = await Talk.begun(server());
    const log = await talk.answered(
      "allow_once",
      'mcp delegate {"task":"ask kind=execute command=ls"}',
    );
    expect(log).toContain('"state":"Closed"');
  });

  it("is refused by its child at the depth limit", async () => {
    const talk = await Talk.begun(server());
    const inner = JSON.stringify({ task: 'mcp delegate {"task":"say deeper"}' });
    const log = await talk.prompt("turn_complete", `mcp delegate ${inner}`);
    expect(log).toContain("A child session delegates nothing");
    expect(times(log, '"type":"child_session_started"')).toBe(1);
  });

  it("P5: leaves after a kill -9 an Aborted child, and then the verdict of its turn", async () => {
    const talk = await Talk.begun(server());
    await talk.prompt("child_session_started", 'mcp delegate {"task":"hang"}');
    await server().kill("SIGKILL");
    await server().restart();
    await talk.call("POST", "/load", {});
    const log = await talk.until('"type":"turn_error"', 0);
    const [before = ""] = log.split('"type":"turn_error"');
    expect(before).toMatch(/"type":"child_session_ended".*"state":"Aborted".*SERVER_RESTART/);
    expect(await talk.prompt("turn_complete", "say again")).toContain("again");
  });
});

describe("an agent that delegates where there is room for one process", { timeout: 60_000 }, () => {
  const lonely = {
    command: process.execPath,
    args: [ECHO],
    title: "Lonely",
    limits: { sessionsPerProcess: 1 },
  };
  const server = sharedServer({
    flags: [...DELEGATING, "--max-agents", "1"],
    agents: { lonely },
  });

  it("P10: is told so at once: a child never waits for the seat of its parent", async () => {
    const talk = await Talk.begun(server(), { agent: "lonely" });
    const log = await talk.prompt("turn_complete", 'mcp delegate {"task":"say hi"}');
    expect(log).toMatch(/"state":"Aborted".*"code":"agent_unavailable"/);
  });
});

describe("a server that lets no agent delegate", { timeout: 60_000 }, () => {
  const server = sharedServer();

  it("offers no such tool", async () => {
    const talk = await Talk.begun(server());
    expect(await talk.prompt("turn_complete", "whoami")).toContain("MCP servers: none");
  });
});
