import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { isAlive } from "../../src/tool/workspace.fixture.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { judged, SessionCaller } from "./caller.fixture.ts";
import { dataOf, type Ear, ofType, typesOf, verdictOf } from "./ear.fixture.ts";
import { Files, mcpServer, toolSkill, write } from "./files.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "fermata-mcp-"));
const server = sharedServer({ flags: ["--mcp-config", join(folder, "servers.json")] });

function nameServers(mcpServers: object) {
  write(folder, "servers.json", JSON.stringify({ mcpServers }));
}

nameServers({ tester: mcpServer() });
afterAll(() => rmSync(folder, { recursive: true }));

const TOOLS = {
  sh: "shell",
  look: "read_file",
  put: "write_file",
  parrot: "tester:echo",
  broken: "tester:failing",
  who: "tester:pid",
};

/** A session with a skill for each tool. */
async function equipped(body: JsonObject = {}): Promise<SessionCaller> {
  const files = new Files(server());
  for (const [name, tool] of Object.entries(TOOLS)) files.skill(name, toolSkill(tool));
  return SessionCaller.create(server(), body);
}

/** Says a line whose tool has to be asked for, and votes. */
async function voted(session: SessionCaller, ear: Ear, line: string, optionId: string) {
  const { promptId, lastEventId } = await session.send(line);
  const isAsk = (event: JsonObject) =>
    event.type === "permission_request" && event.promptId === promptId;
  await session.vote(await ear.first(isAsk), optionId);
  return session.heard({ promptId, lastEventId });
}

async function toolMessages(session: SessionCaller): Promise<readonly JsonObject[]> {
  return (await session.messages()).filter(({ role }) => role === "tool");
}

const asks = (events: readonly JsonObject[]) => events.filter(ofType("permission_request"));

describe("a skill that dispatches to a tool", { timeout: 60_000 }, () => {
  it("asks people, runs when they allow it, and has its result beside the call", async () => {
    const session = await equipped();
    const ear = await session.listen();
    const said = await voted(session, ear, "/skill sh echo one; echo two", "allow");
    expect(said.result).toMatchObject({ status: "ok", code: "tool_ok", data: { tool: "shell" } });
    expect(said.text).toBe("one\ntwo");
    expect(said.verdict).toMatchObject({ stopReason: "end_turn", turnId: expect.any(String) });
    const [ask] = asks(said.events).map(dataOf);
    expect(ask).toMatchObject({ kind: "permission", toolCall: { kind: "execute" } });
    expect(await session.messages()).toMatchObject([
      { role: "user" },
      { role: "tool", status: "completed", result: { rawOutput: "one\ntwo" } },
      { role: "assistant" },
    ]);
    expect((await session.say("recall")).text).toContain("I remember 0 turns");
  });

  it("does nothing when they reject it", async () => {
    const session = await equipped();
    const ear = await session.listen();
    const said = await voted(session, ear, "/skill put kept.txt no", "reject");
    expect(said.result).toMatchObject({ status: "error", code: "skill_capability_denied" });
    expect(said.verdict).toMatchObject({ stopReason: "end_turn" });
    expect(existsSync(join(server().workspace, "kept.txt"))).toBe(false);
    expect(await toolMessages(session)).toMatchObject([{ status: "failed" }]);
  });

  it("does not ask again for what was allowed for the session", async () => {
    const session = await equipped();
    const ear = await session.listen();
    await voted(session, ear, "/skill sh echo one", "allow_always");
    const again = await session.say("/skill sh echo one");
    expect(again.result).toMatchObject({ code: "tool_ok" });
    expect(asks(again.events)).toEqual([]);
    const other = await voted(session, ear, "/skill put other.txt text", "reject");
    expect(other.result).toMatchObject({ code: "skill_capability_denied" });
  });

  it("asks nobody in a session whose mode is yolo", async () => {
    const session = await equipped({ mode: "yolo" });
    const lines = [
      "/skill put notes/a.txt some  text",
      "/skill look notes/a.txt",
      '/skill look {"path":"notes/a.txt","line":1,"limit":1}',
      "/skill sh cat notes/a.txt",
      "/skill parrot polly",
      '/skill parrot {"text":"ab","times":2}',
    ];
    const texts: string[] = [];
    for (const line of lines) {
      const said = await session.say(line);
      expect([line, said.result.code, asks(said.events)]).toEqual([line, "tool_ok", []]);
      texts.push(said.text.trim());
    }
    expect(texts.slice(1)).toEqual(["some  text", "some  text", "some  text", "polly", "abab"]);
    expect(readFileSync(join(server().workspace, "notes/a.txt"), "utf8")).toBe("some  text");
  });

  it("fails with a code of its own for each reason, and the session goes on", async () => {
    const session = await equipped({ mode: "yolo" });
    const failures = [
      ["/skill sh exit 3", "tool_failed"],
      ["/skill look nowhere.txt", "tool_failed"],
      ["/skill look ../agents.json", "tool_failed"],
      ["/skill broken", "tool_failed"],
      ["/skill put lonely.txt", "tool_input_invalid"],
      ["/skill look", "tool_input_invalid"],
      ["/skill sh", "tool_input_invalid"],
      ['/skill parrot {"times":1}', "tool_input_invalid"],
    ];
    for (const [line = "", code] of failures) {
      const said = await session.say(line);
      expect([line, said.result.code, said.result.status]).toEqual([line, code, "error"]);
      expect(said.verdict).toMatchObject({ stopReason: "end_turn" });
    }
    expect((await session.say("say still here")).text).toBe("still here");
  });

  it("is executor_unbound when its tool is gone since the skills were read", async () => {
    const session = await equipped({ mode: "yolo" });
    nameServers({});
    await server().kill("SIGKILL");
    await server().restart();
    const said = await session.say("/skill parrot polly");
    expect(said.result).toMatchObject({ code: "executor_unbound", data: { skill: "parrot" } });
    nameServers({ tester: mcpServer() });
    await server().kill("SIGKILL");
    await server().restart();
    expect((await session.say("/skill parrot polly")).text).toBe("polly");
  });

  it("P5: is ended by a cancel, with the process that it started", async () => {
    const session = await equipped({ mode: "yolo" });
    const ear = await session.listen();
    const { promptId } = await session.send(`/skill sh ${sleeping("there")}`);
    const running = await untilWritten(join(server().workspace, "there"));
    expect(await isAlive(running)).toBe(true);
    await session.ask("POST", "/cancel", {});
    const said = await judged(ear, String(promptId));
    expect(said.verdict).toMatchObject({ stopReason: "cancelled" });
    expect(said.result).toEqual({});
    expect(await isAlive(running)).toBe(false);
    expect(await toolMessages(session)).toMatchObject([{ status: "cancelled" }]);
  });

  it("P5: is ended with its server, and has its verdict when that is back", async () => {
    const session = await equipped({ mode: "yolo" });
    const { promptId } = await session.send(`/skill sh ${sleeping("here")}`);
    const running = await untilWritten(join(server().workspace, "here"));
    await server().kill("SIGKILL");
    await server().restart();
    expect(await isAlive(running)).toBe(false);
    const said = await session.heard({ promptId, lastEventId: 0 });
    expect(said.verdict).toMatchObject({ code: "SERVER_RESTART" });
    expect((await session.say("/skill sh echo back")).text).toBe("back");
  });

  it("is withdrawn by a cancel while people are being asked", async () => {
    const session = await equipped();
    const ear = await session.listen();
    const { promptId } = await session.send("/skill put never.txt no");
    await ear.first(ofType("permission_request"));
    await session.ask("POST", "/cancel", {});
    expect((await judged(ear, String(promptId))).verdict).toMatchObject({
      stopReason: "cancelled",
    });
    expect(typesOf(ear.events)).toContain("permission_resolved");
    expect(existsSync(join(server().workspace, "never.txt"))).toBe(false);
    expect(await toolMessages(session)).toMatchObject([{ status: "cancelled" }]);
  });

  it("waits for the agent's turn like any prompt", async () => {
    const session = await equipped({ mode: "yolo" });
    const ear = await session.listen();
    const turn = await session.send("hang");
    const tool = await session.send("/skill sh echo late");
    await ear.first((event) => event.type === "session_status" && dataOf(event).to === "running");
    expect(ear.events.some(ofType("skill_invoked"))).toBe(false);
    await session.ask("POST", "/cancel", {});
    const said = await judged(ear, String(tool.promptId));
    expect(said.text).toBe("late");
    expect(ear.events.findIndex(verdictOf(turn.promptId))).toBeLessThan(
      ear.events.findIndex(ofType("skill_invoked")),
    );
  });
});

/** A command that tells its number by a file, and then does not end. */
function sleeping(file: string): string {
  return `echo $$ > ${file}.part; mv ${file}.part ${file}; sleep 1000`;
}

/** The number in a file, when the command has written it there. */
async function untilWritten(file: string): Promise<number> {
  while (!existsSync(file)) await new Promise((resolve) => setImmediate(resolve));
  return Number(readFileSync(file, "utf8"));
}
