import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DaemonEvent, DaemonSessionClient } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { outputShown } from "../../src/core/terminal-output.ts";
import { ECHO } from "../server/program.fixture.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { clientOf, Listener, script, updateOf } from "./session.fixture.ts";

const SECRET = "hush-4711-do-not-tell";

const server = sharedServer({
  flags: ["--agent", "keyed"],
  env: { KEY_OF_THE_SERVER: SECRET },
  agents: {
    keyed: { command: process.execPath, args: [ECHO], env: { KEY: { from: "KEY_OF_THE_SERVER" } } },
  },
});

/** A session in which commands may run. */
async function trusted(): Promise<DaemonSessionClient> {
  const answer = await fetch(`${server().url}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sessionScope: "thread", mode: "yolo" }),
  });
  const { sessionId } = Object(await answer.json());
  return DaemonSessionClient.resume(clientOf(server()), sessionId);
}

const ofCall = (events: readonly DaemonEvent[], toolCallId: string): readonly JsonObject[] =>
  events.map(updateOf).filter((update) => update.toolCallId === toolCallId);

/** What was told of a call while it ran. */
function pieces(updates: readonly JsonObject[]): string {
  return updates.map(({ _meta }) => Object(_meta).terminal_output?.data ?? "").join("");
}

/** What the content of a call shows. */
function shown({ content }: JsonObject) {
  return Array.isArray(content) ? content.flatMap((entry) => outputShown(entry) ?? []) : [];
}

async function loaded({ sessionId }: DaemonSessionClient) {
  const late = await DaemonSessionClient.load(clientOf(server()), sessionId);
  return late.replaySnapshot;
}

async function exported({ sessionId }: DaemonSessionClient, format: string): Promise<string> {
  const answer = await fetch(`${server().url}/session/${sessionId}/export?format=${format}`);
  expect(answer.status).toBe(200);
  return answer.text();
}

const LINES = "one\ntwo\nthree\n";
const WRITES = `sh -c "echo one; echo two; echo three; exit 3"`;
const ENDED = { exitCode: 3, signal: null };

describe("what a command wrote", { timeout: 60_000 }, () => {
  it("is heard with its call while it runs, and is the call's text in the end", async () => {
    const ada = await trusted();
    const listener = await Listener.caughtUp(ada);
    await ada.prompt(script(`run tool=c ${WRITES}`));
    await listener.heard("turn_complete");
    const updates = ofCall(listener.events, "c");
    expect(pieces(updates)).toBe(LINES);
    expect(updates.at(-1)?.status).toBe("completed");
    expect(shown(updates.at(-1) ?? {})).toEqual([
      { terminalId: expect.any(String), text: LINES, exit: ENDED },
    ]);
  });

  it("is heard too if no call of the agent names its terminal", async () => {
    const ada = await trusted();
    const listener = await Listener.caughtUp(ada);
    await ada.prompt(script(`run ${WRITES}`));
    await listener.heard("turn_complete");
    const own = listener.events.map(updateOf).filter(({ toolCallId }) => toolCallId !== undefined);
    expect(own[0]).toMatchObject({ sessionUpdate: "tool_call", kind: "execute" });
    expect(own.at(-1)).toMatchObject({ status: "failed" });
    expect(shown(own.at(-1) ?? {})).toMatchObject([{ text: LINES, exit: ENDED }]);
  });

  it("P3: is there for who comes in the middle of it, as far as it came", async () => {
    const ada = await trusted();
    const listener = await Listener.caughtUp(ada);
    const { promptId } = await ada.submitPrompt(
      script('run tool=c sh -c "echo one; sleep 0.5; echo two; sleep 1000"'),
    );
    await listener.heard((event) => pieces([updateOf(event)]).includes("two"));
    const { liveJournal } = await loaded(ada);
    expect(pieces(ofCall(liveJournal, "c"))).toBe("one\ntwo\n");
    await ada.cancel();
    await listener.verdict(promptId);
    const [call = {}] = ofCall((await loaded(ada)).compactedReplay, "c");
    expect(shown(call)).toMatchObject([{ text: "one\ntwo\n", exit: { exitCode: null } }]);
  });

  it("P6: is whole for who comes later, and in every export, with how it ended", async () => {
    const ada = await trusted();
    await ada.prompt(script(`run tool=c ${WRITES}`, "run tool=d sh -c \"echo '```'\""));
    const { compactedReplay } = await loaded(ada);
    const [call = {}] = ofCall(compactedReplay, "c");
    expect(shown(call)).toMatchObject([{ text: LINES, exit: ENDED }]);
    expect(JSON.stringify(call)).not.toContain("terminal_output");

    const md = await exported(ada, "md");
    expect(md).toContain("+ **output** exit code 3\n\n```\none\ntwo\nthree\n```\n");
    expect(md).toContain("````\n```\n````");
    const html = await exported(ada, "html");
    expect(html).toContain(`Output, exit code 3</p>\n<pre>\n${LINES}</pre>`);
    const text = { type: "text", text: LINES };
    const json: unknown = JSON.parse(await exported(ada, "json"));
    expect(json).toMatchObject({
      messages: [
        { role: "user" },
        { role: "tool", toolCallId: "c", result: { content: [{ content: text }] } },
        { role: "tool" },
      ],
    });
    const lines = (await exported(ada, "jsonl")).trim().split("\n");
    const calls = lines.map((line) => Object(JSON.parse(line)).data?.update).filter(isObject);
    const ended = calls.find(({ toolCallId }) => toolCallId === "c") ?? {};
    expect(shown(ended)).toMatchObject([{ text: LINES, exit: ENDED }]);
  });

  it("P1: is kept as far as it was told when the server is killed", async () => {
    const ada = await trusted();
    const listener = await Listener.caughtUp(ada);
    await ada.submitPrompt(script('run tool=c sh -c "echo one; echo two; sleep 1000"'));
    await listener.heard((event) => pieces([updateOf(event)]).includes("two"));
    await server().kill("SIGKILL");
    await server().restart();
    expect(pieces(ofCall((await loaded(ada)).liveJournal, "c"))).toBe("one\ntwo\n");
    expect(await exported(ada, "md")).toContain("```\none\ntwo\n```");
    await ada.prompt(script("say next"));
    const [call = {}] = ofCall((await loaded(ada)).compactedReplay, "c");
    expect(shown(call)).toMatchObject([{ text: "one\ntwo\n" }]);
  });

  it("is whole if the agent ran it and told it in pieces, as codex does", async () => {
    const ada = await trusted();
    const listener = await Listener.caughtUp(ada);
    const update = (more: object) => {
      const said = { sessionUpdate: "tool_call_update", toolCallId: "x", ...more };
      return `update ${JSON.stringify(said)}`;
    };
    const delta = (data: string) =>
      update({ _meta: { terminal_output_delta: { terminal_id: "x", data } } });
    const terminal_exit = { terminal_id: "x", exit_code: 0, signal: null };
    await ada.prompt(
      script(
        update({ title: "ls", kind: "execute", content: [{ type: "terminal", terminalId: "x" }] }),
        ...["one\n", "two\n", "three\n"].map(delta),
        update({ status: "completed", _meta: { terminal_exit } }),
      ),
    );
    await listener.heard("turn_complete");
    expect(shown(ofCall(listener.events, "x").at(-1) ?? {})).toMatchObject([{ text: LINES }]);
    const [call = {}] = ofCall((await loaded(ada)).compactedReplay, "x");
    expect(shown(call)).toMatchObject([{ text: LINES, exit: { exitCode: 0 } }]);
    expect(await exported(ada, "md")).toContain("```\none\ntwo\nthree\n```");
  });

  it("P10: is bounded, and a flood stops neither the turn nor the next one", async () => {
    const ada = await trusted();
    const flood = 'sh -c "yes | head -c 100000000; echo the end"';
    await ada.prompt(script(`run tool=c ${flood}`, "say still here"));
    const { compactedReplay } = await loaded(ada);
    const [output] = shown(ofCall(compactedReplay, "c")[0] ?? {});
    expect(output?.text).toMatch(/^y\ny\n.*\n… \d+ bytes left out …\n.*the end\n$/s);
    expect(output?.text.length).toBeLessThan(80_000);
    expect(await ada.prompt(script("say next"))).toMatchObject({ stopReason: "end_turn" });
  });

  it("P11: has no secret in it that the server gave to its agent", async () => {
    const ada = await trusted();
    await ada.prompt(script(`run tool=c echo ${SECRET}`, `run echo ${SECRET}`));
    expect(await exported(ada, "jsonl")).toContain("[redacted]");
    await server().kill("SIGTERM");
    const files = readdirSync(server().data, { recursive: true, withFileTypes: true });
    const holding = files.filter((file) => {
      return file.isFile() && readFileSync(join(file.parentPath, file.name)).includes(SECRET);
    });
    expect(holding).toEqual([]);
    await server().restart();
  });
});
